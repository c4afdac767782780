// SPDX-License-Identifier: Apache-2.0
// expect: motet: only a vit or a text_tower tells what it costs
#include <motet/nn/towers/in_halves.hpp>
#include <motet/plan/describe/tower_of.hpp>

using eye = motet::vit<motet::vit_config{.image = 4, .patch = 2, .width = 8, .layers = 2, .heads = 2}>;

#ifdef MOTET_BREAK
using known = motet::in_halves<eye>;
#else
using known = eye;
#endif

static_assert(motet::outline_of<known>("eye").layers == 2);
