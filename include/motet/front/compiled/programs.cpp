// SPDX-License-Identifier: Apache-2.0
#undef MOTET_COMPILED_RANKS
#define MOTET_BODY
#include <motet/plan/prove/require_plan.hpp>
#include <motet/runtime/gradients/program_ownership.hpp>
#include <motet/runtime/ranks/executor.hpp>
#include <motet/runtime/save/checkpoint.hpp>
#include <motet/runtime/stage/program_fit.hpp>
