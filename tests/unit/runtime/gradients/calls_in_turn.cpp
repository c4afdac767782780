// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/gradients/calls_in_turn.hpp>

#include <doctest/doctest.h>

#include <set>

using namespace motet;

namespace {
// A group whose calls are done when the test says so.
struct slow_group {
  std::set<ticket> done;
  ticket next = 100;
  bool test(ticket which) const { return done.count(which) > 0; }
};
struct log {
  std::vector<motet::isize> started, ended;
};
}  // namespace

TEST_CASE("calls begin and end in their order, a few under way at a time") {
  slow_group group;
  calls_in_turn<slow_group> turns(&group, 2);
  log of;
  motet::isize allowed = 1;
  const auto move = [&] {
    return turns.move(
        5, [&](motet::isize turn) { return turn < allowed; },
        [&](motet::isize turn) {
          of.started.push_back(turn);
          return turn == 3 ? calls_in_turn<slow_group>::no_call : turns.group().next++;
        },
        [&](motet::isize turn) { of.ended.push_back(turn); });
  };
  using list = std::vector<motet::isize>;
  CHECK(!move());
  CHECK(of.started == list{0});
  CHECK(turns.under_way() == 1);
  allowed = 5;
  CHECK(!move());
  CHECK(of.started == list{0, 1});
  group.done.insert(101);  // the second one; the first is still under way
  CHECK(!move());
  CHECK(of.ended.empty());
  CHECK(of.started == list{0, 1});
  group.done.insert(100);
  CHECK(!move());
  CHECK(of.ended == list{0, 1});
  CHECK(of.started == list{0, 1, 2, 3});
  group.done.insert(102);
  CHECK(!move());
  CHECK(of.ended == list{0, 1, 2, 3});  // the fourth had nothing to call
  CHECK(turns.ended() == 4);
  group.done.insert(103);
  CHECK(move());
  CHECK(turns.under_way() == 0);
  CHECK(move());
  CHECK(of.started == list{0, 1, 2, 3, 4});
  turns.restart();
  CHECK(!move());
  CHECK(of.started.size() == 7);
}
