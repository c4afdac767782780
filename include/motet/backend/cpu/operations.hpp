// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything that nn/operations.hpp asks of a backend.
#include <motet/backend/cpu/activation.hpp>
#if __has_include(<motet/backend/cpu/attention.hpp>)
#include <motet/backend/cpu/attention.hpp>
#endif
#include <motet/backend/cpu/compiled.hpp>
#include <motet/backend/cpu/cross_entropy.hpp>
#include <motet/backend/cpu/dropout.hpp>
#include <motet/backend/cpu/elementwise.hpp>
#include <motet/backend/cpu/embedding.hpp>
#include <motet/backend/cpu/expert_rows.hpp>
#include <motet/backend/cpu/grouped.hpp>
#if __has_include(<motet/backend/cpu/info_nce.hpp>)
#include <motet/backend/cpu/info_nce.hpp>
#include <motet/backend/cpu/info_nce_part.hpp>
#endif
#include <motet/backend/cpu/heads_exchange.hpp>
#include <motet/backend/cpu/linear.hpp>
#include <motet/backend/cpu/norm.hpp>
#include <motet/backend/cpu/normal_draws.hpp>
#include <motet/backend/cpu/normalize.hpp>
#include <motet/backend/cpu/optimizer.hpp>
#include <motet/backend/cpu/patches.hpp>
#include <motet/backend/cpu/pool.hpp>
#include <motet/backend/cpu/position.hpp>
#include <motet/backend/cpu/ring_attention.hpp>
#include <motet/backend/cpu/rotary.hpp>
#include <motet/backend/cpu/rotary_part.hpp>
#include <motet/backend/cpu/router.hpp>
#include <motet/backend/cpu/rows_exchange.hpp>
#if __has_include(<motet/backend/cpu/sigmoid.hpp>)
#include <motet/backend/cpu/sigmoid.hpp>
#endif
#include <motet/backend/cpu/sine_position.hpp>
#include <motet/backend/cpu/swiglu.hpp>
#include <motet/backend/cpu/tensor_rows.hpp>
#include <motet/backend/cpu/transfer.hpp>
