// SPDX-License-Identifier: Apache-2.0
#undef MOTET_COMPILED_RANKS
#define MOTET_BODY
#include <motet/front/launched_world.hpp>
#include <motet/front/plan_of.hpp>
