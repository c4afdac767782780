// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything that nn/operations.hpp asks of a backend.
#include <motet/backend/cpu/activation.hpp>
#if __has_include(<motet/backend/cpu/attention.hpp>)
#include <motet/backend/cpu/attention.hpp>
#endif
#include <motet/backend/cpu/dropout.hpp>
#include <motet/backend/cpu/elementwise.hpp>
#include <motet/backend/cpu/embedding.hpp>
#if __has_include(<motet/backend/cpu/info_nce.hpp>)
#include <motet/backend/cpu/info_nce.hpp>
#endif
#include <motet/backend/cpu/linear.hpp>
#include <motet/backend/cpu/norm.hpp>
#include <motet/backend/cpu/normalize.hpp>
#include <motet/backend/cpu/optimizer.hpp>
#include <motet/backend/cpu/patches.hpp>
#include <motet/backend/cpu/pool.hpp>
#include <motet/backend/cpu/position.hpp>
#include <motet/backend/cpu/rotary.hpp>
#if __has_include(<motet/backend/cpu/sigmoid.hpp>)
#include <motet/backend/cpu/sigmoid.hpp>
#endif
#include <motet/backend/cpu/sine_position.hpp>
#include <motet/backend/cpu/swiglu.hpp>
