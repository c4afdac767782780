// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything that nn/operations.hpp asks of a backend.
#include <motet/backend/cuda/activation.hpp>
#include <motet/backend/cuda/attention.hpp>
#include <motet/backend/cuda/cross_entropy.hpp>
#include <motet/backend/cuda/dropout.hpp>
#include <motet/backend/cuda/elementwise.hpp>
#include <motet/backend/cuda/embedding.hpp>
#include <motet/backend/cuda/expert_rows.hpp>
#include <motet/backend/cuda/grouped.hpp>
#include <motet/backend/cuda/heads_exchange.hpp>
#include <motet/backend/cuda/info_nce.hpp>
#include <motet/backend/cuda/info_nce_part.hpp>
#include <motet/backend/cuda/linear.hpp>
#include <motet/backend/cuda/norm.hpp>
#include <motet/backend/cuda/normal_draws.hpp>
#include <motet/backend/cuda/normalize.hpp>
#include <motet/backend/cuda/optimizer.hpp>
#include <motet/backend/cuda/patches.hpp>
#include <motet/backend/cuda/pool.hpp>
#include <motet/backend/cuda/position.hpp>
#include <motet/backend/cuda/ring_attention.hpp>
#include <motet/backend/cuda/rotary.hpp>
#include <motet/backend/cuda/rotary_part.hpp>
#include <motet/backend/cuda/router.hpp>
#include <motet/backend/cuda/rows_exchange.hpp>
#include <motet/backend/cuda/sigmoid.hpp>
#include <motet/backend/cuda/sine_position.hpp>
#include <motet/backend/cuda/staging.hpp>
#include <motet/backend/cuda/swiglu.hpp>
#include <motet/backend/cuda/tensor_rows.hpp>
#include <motet/backend/cuda/told_numbers.hpp>
#include <motet/backend/cuda/transfer.hpp>
#include <motet/backend/cuda/weight_copies.hpp>
