// SPDX-License-Identifier: Apache-2.0
#include <motet/tensor/share.hpp>

#include <doctest/doctest.h>

using motet::intersection;
using motet::interval;
using motet::owner;
using motet::share;

static_assert(share(25, 4, 0).size() == 7 && share(25, 4, 1).size() == 6 && share(25, 4, 3).size() == 6);
static_assert(share(2, 4, 3).size() == 0);

TEST_CASE("shares cover everything once, in order, and differ by one at most") {
  for (motet::isize whole = 0; whole < 40; ++whole) {
    for (motet::isize parts = 1; parts < 12; ++parts) {
      motet::isize at = 0;
      for (motet::isize p = 0; p < parts; ++p) {
        const interval own = share(whole, parts, p);
        CHECK_EQ(own.begin, at);
        CHECK_GE(own.size(), whole / parts);
        CHECK_LE(own.size(), whole / parts + 1);
        if (p > 0) CHECK_LE(own.size(), share(whole, parts, p - 1).size());
        for (motet::isize i = own.begin; i < own.end; ++i) CHECK_EQ(owner(whole, parts, i), p);
        at = own.end;
      }
      CHECK_EQ(at, whole);
    }
  }
}

TEST_CASE("an intersection is what both hold") {
  for (motet::isize a = 0; a < 6; ++a)
    for (motet::isize b = a; b < 7; ++b)
      for (motet::isize c = 0; c < 6; ++c)
        for (motet::isize d = c; d < 7; ++d) {
          const interval both = intersection(interval{a, b}, interval{c, d});
          motet::isize count = 0;
          for (motet::isize i = 0; i < 8; ++i) {
            const bool in = i >= a && i < b && i >= c && i < d;
            CHECK_EQ(in, i >= both.begin && i < both.end);
            count += in ? 1 : 0;
          }
          CHECK_EQ(both.size(), count);
        }
}
