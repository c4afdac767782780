// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything that nn/core/operations.hpp asks of a backend.
#include <motet/backend/cpu/attention/attention.hpp>
#include <motet/backend/cpu/attention/heads_exchange.hpp>
#include <motet/backend/cpu/attention/ring_attention.hpp>
#include <motet/backend/cpu/attention/rotary.hpp>
#include <motet/backend/cpu/attention/rotary_part.hpp>
#include <motet/backend/cpu/compiled.hpp>
#include <motet/backend/cpu/exchange/rows_exchange.hpp>
#include <motet/backend/cpu/exchange/tensor_rows.hpp>
#include <motet/backend/cpu/experts/expert_rows.hpp>
#include <motet/backend/cpu/experts/grouped.hpp>
#include <motet/backend/cpu/experts/router.hpp>
#include <motet/backend/cpu/kernels/transfer.hpp>
#include <motet/backend/cpu/losses/cross_entropy.hpp>
#include <motet/backend/cpu/losses/info_nce.hpp>
#include <motet/backend/cpu/losses/info_nce_part.hpp>
#include <motet/backend/cpu/losses/sigmoid.hpp>
#include <motet/backend/cpu/losses/token_losses.hpp>
#include <motet/backend/cpu/parameters/average.hpp>
#include <motet/backend/cpu/parameters/muon.hpp>
#include <motet/backend/cpu/parameters/normal_draws.hpp>
#include <motet/backend/cpu/parameters/optimizer.hpp>
#include <motet/backend/cpu/products/linear.hpp>
#include <motet/backend/cpu/rows/activation.hpp>
#include <motet/backend/cpu/rows/dropout.hpp>
#include <motet/backend/cpu/rows/elementwise.hpp>
#include <motet/backend/cpu/rows/embedding.hpp>
#include <motet/backend/cpu/rows/norm.hpp>
#include <motet/backend/cpu/rows/normalize.hpp>
#include <motet/backend/cpu/rows/patches.hpp>
#include <motet/backend/cpu/rows/pool.hpp>
#include <motet/backend/cpu/rows/position.hpp>
#include <motet/backend/cpu/rows/sine_position.hpp>
#include <motet/backend/cpu/rows/swiglu.hpp>
#include <motet/backend/cpu/rows/windows.hpp>
