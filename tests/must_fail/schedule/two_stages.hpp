// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/check/proven.hpp>

// The verdict on a score of two stages and two microbatches whose first rank plays what a test says.
template <class First>
constexpr motet::verdict prove_two_stages(First first) {
  using motet::op;
  motet::score out;
  const int tower = motet::add_voice(out, {.stages = 2, .microbatches = 2});
  out.rank();
  first(out, tower);
  out.rank();
  for (int m = 0; m < 2; ++m) {
    out.play(op::forward, tower, 1, m);
    out.play(op::backward, tower, 1, m);
  }
  return motet::prove(out);
}
// Both forwards, then both backwards, are legal.
constexpr auto in_order = [](motet::score& out, int tower) {
  for (const motet::op what : {motet::op::forward, motet::op::backward})
    for (int m = 0; m < 2; ++m) out.play(what, tower, 0, m);
};
