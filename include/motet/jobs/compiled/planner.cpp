// SPDX-License-Identifier: Apache-2.0
// Policies of jobs search for plans, so one file has both. Some of what searches need, files for trainers
// have as well (front/compiled/). A program may link both, so bodies stay inline and are kept all the same.
#undef MOTET_COMPILED_PLANNER
#define MOTET_BODY [[gnu::used]] inline
#include <motet/jobs/watch/live_cluster.hpp>
#include <motet/plan/cells/search_cells.hpp>
#include <motet/plan/distmm/search_distmm.hpp>
#include <motet/plan/distmm/search_megatron.hpp>
#include <motet/plan/disttrain/orchestrate.hpp>
#include <motet/plan/disttrain/search_chain.hpp>
#include <motet/plan/optimus/search_filled.hpp>
#include <motet/plan/quotas/search_quotas.hpp>
#include <motet/plan/search/search.hpp>
