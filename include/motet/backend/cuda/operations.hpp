// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything that nn/core/operations.hpp asks of a backend.
#include <motet/backend/cuda/attention/attention.hpp>
#include <motet/backend/cuda/attention/heads_exchange.hpp>
#include <motet/backend/cuda/attention/ring_attention.hpp>
#include <motet/backend/cuda/attention/rotary.hpp>
#include <motet/backend/cuda/attention/rotary_part.hpp>
#include <motet/backend/cuda/device/staging.hpp>
#include <motet/backend/cuda/device/told_numbers.hpp>
#include <motet/backend/cuda/exchange/rows_exchange.hpp>
#include <motet/backend/cuda/exchange/tensor_rows.hpp>
#include <motet/backend/cuda/experts/expert_rows.hpp>
#include <motet/backend/cuda/experts/grouped.hpp>
#include <motet/backend/cuda/experts/router.hpp>
#include <motet/backend/cuda/kernels/transfer.hpp>
#include <motet/backend/cuda/losses/cross_entropy.hpp>
#include <motet/backend/cuda/losses/info_nce.hpp>
#include <motet/backend/cuda/losses/info_nce_part.hpp>
#include <motet/backend/cuda/losses/sigmoid.hpp>
#include <motet/backend/cuda/losses/token_losses.hpp>
#include <motet/backend/cuda/parameters/average.hpp>
#include <motet/backend/cuda/parameters/normal_draws.hpp>
#include <motet/backend/cuda/parameters/optimizer.hpp>
#include <motet/backend/cuda/products/linear.hpp>
#include <motet/backend/cuda/products/weight_copies.hpp>
#include <motet/backend/cuda/rows/activation.hpp>
#include <motet/backend/cuda/rows/dropout.hpp>
#include <motet/backend/cuda/rows/elementwise.hpp>
#include <motet/backend/cuda/rows/embedding.hpp>
#include <motet/backend/cuda/rows/norm.hpp>
#include <motet/backend/cuda/rows/normalize.hpp>
#include <motet/backend/cuda/rows/patches.hpp>
#include <motet/backend/cuda/rows/pool.hpp>
#include <motet/backend/cuda/rows/position.hpp>
#include <motet/backend/cuda/rows/sine_position.hpp>
#include <motet/backend/cuda/rows/swiglu.hpp>
