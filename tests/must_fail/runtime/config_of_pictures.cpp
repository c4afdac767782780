// SPDX-License-Identifier: Apache-2.0
// expect: motet: a net that reads pictures needs config.channels and config.image, their side [MT-N12]
#include <motet/nn/towers/vit.hpp>
#include <motet/runtime/stage/input_traits.hpp>

using whole = motet::vit<motet::vit_config{
    .image = 8, .patch = 4, .width = 16, .layers = 1, .heads = 2, .embedding = 8}>;

#ifdef MOTET_BREAK
struct net {
  using input = motet::pictures;
};
#else
using net = whole;
#endif

static_assert(motet::input_traits<net>::pixels == 3 * 8 * 8);
