// SPDX-License-Identifier: Apache-2.0
// expect: motet: ranks of these numbers are not compiled elsewhere; include <motet/front/ranks/cpu_ranks.hpp>
#define MOTET_COMPILED_RANKS 1
#include <motet/front/trainer.hpp>
#include <motet/nn/towers/vit.hpp>

#ifdef MOTET_BREAK
using numbers = motet::fp64;
#else
using numbers = motet::fp32;
#endif
using eye = motet::vit<motet::vit_config{.image = 8, .patch = 4, .width = 16, .layers = 1, .heads = 2}>;
using pair =
    motet::model<motet::join<motet::info_nce, motet::module<"left", eye>, motet::module<"right", eye>>>;

constexpr auto size = sizeof(motet::trainer<pair, numbers>);
