// SPDX-License-Identifier: Apache-2.0
#pragma once

// Schedules and plans alone, without nets that compute: to write, prove, simulate, draw, read and write them, and
// to search for the best.
#include <motet/plan/cost/collective_cost.hpp>
#include <motet/plan/cost/efficiency_fit.hpp>
#include <motet/plan/cost/estimate_plan.hpp>
#include <motet/plan/cost/tower_times.hpp>
#include <motet/plan/describe/tower_of.hpp>
#include <motet/plan/distmm/search_distmm.hpp>
#include <motet/plan/distmm/search_megatron.hpp>
#include <motet/plan/disttrain/chain_forecast.hpp>
#include <motet/plan/disttrain/chain_model.hpp>
#include <motet/plan/disttrain/chain_plan.hpp>
#include <motet/plan/disttrain/search_chain.hpp>
#include <motet/plan/files/cluster_json.hpp>
#include <motet/plan/files/model_json.hpp>
#include <motet/plan/files/plan_header.hpp>
#include <motet/plan/files/plan_json.hpp>
#include <motet/plan/files/profile_json.hpp>
#include <motet/plan/optimus/search_filled.hpp>
#include <motet/plan/order/deal.hpp>
#include <motet/plan/order/fill_microbatches.hpp>
#include <motet/plan/order/microbatch_order.hpp>
#include <motet/plan/order/step_order.hpp>
#include <motet/plan/prove/plan_for.hpp>
#include <motet/plan/prove/require_plan.hpp>
#include <motet/plan/search/search.hpp>
#include <motet/schedule/check/buffers.hpp>
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/core/compose.hpp>
#include <motet/schedule/csv/csv_read.hpp>
#include <motet/schedule/csv/csv_write.hpp>
#include <motet/schedule/draw/draw_svg.hpp>
#include <motet/schedule/draw/draw_text.hpp>
#include <motet/schedule/draw/draw_trace.hpp>
#include <motet/schedule/place/deferral.hpp>
#include <motet/schedule/place/replicate.hpp>
#include <motet/schedule/simulate/analyse.hpp>
#include <motet/schedule/simulate/causes.hpp>
#include <motet/schedule/simulate/measured_costs.hpp>
#include <motet/schedule/write/schedules.hpp>
#include <motet/strategy/mesh.hpp>
#include <motet/strategy/resplit.hpp>
#include <motet/strategy/sample_split.hpp>
#include <motet/strategy/weighted_shares.hpp>
