// SPDX-License-Identifier: Apache-2.0
#undef MOTET_COMPILED_RANKS
#define MOTET_BODY
#include <motet/front/plan_of.hpp>
#include <motet/front/ranks/launched_world.hpp>
