// SPDX-License-Identifier: Apache-2.0
// expect: motet: a trainer's nets have stages (Net::stage), as motet::tower and what is made of it have
#include <motet/nn/towers/text.hpp>
#include <motet/runtime/stage/net_table.hpp>

using caption = motet::text_tower<motet::text_config{.width = 64, .layers = 1, .heads = 1, .embedding = 32}>;

#ifdef MOTET_BREAK
struct net {
  using input = motet::tokens;
  static constexpr motet::isize embedding = 32, parameter_size = caption::parameter_size;
};
#else
using net = caption;
#endif

static_assert(motet::outline_of_net<net>.embedding == 32);
