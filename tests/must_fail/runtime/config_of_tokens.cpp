// SPDX-License-Identifier: Apache-2.0
// expect: motet: a net that reads tokens needs config.context, the most of a sample [MT-N12]
#include <motet/nn/towers/text.hpp>
#include <motet/runtime/stage/input_traits.hpp>

using whole = motet::text_tower<motet::text_config{
    .vocabulary = 9, .context = 7, .width = 16, .layers = 1, .heads = 2, .embedding = 8}>;

#ifdef MOTET_BREAK
struct net {
  using input = motet::tokens;
};
#else
using net = whole;
#endif

motet::isize most() { return motet::input_traits<net>::longest(); }
