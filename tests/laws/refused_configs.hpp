// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/rules.hpp>

#include <doctest/doctest.h>

// Configs of nets that check() refuses, and the numbers that it says of each. The compiler asks it of a net
// that is written down, a program of one that it reads, so a table of these is asked of both:
//   constexpr refused<vit_config> wrong[] = {{{.layers = 0}, reason::not_positive, 0, 1}};
//   static_assert(are_refused(wrong));
//   TEST_CASE("...") { check_refused(wrong); }
template <class Config>
struct refused {
  Config config;
  motet::broken_rule why;
  motet::isize got = 0, wanted = 0;

  constexpr bool holds() const {
    const motet::verdict found = check(config);
    return found.why == why && found.got == got && found.wanted == wanted;
  }
};
template <class Config, std::size_t Size>
constexpr bool are_refused(const refused<Config> (&rows)[Size]) {
  for (const refused<Config>& each : rows)
    if (!each.holds()) return false;
  return true;
}
template <class Config, std::size_t Size>
void check_refused(const refused<Config> (&rows)[Size]) {
  for (const refused<Config>& each : rows) {
    const motet::verdict found = check(each.config);
    CAPTURE(&each - rows);
    CHECK(found.why == each.why);
    CHECK(found.got == each.got);
    CHECK(found.wanted == each.wanted);
  }
}
