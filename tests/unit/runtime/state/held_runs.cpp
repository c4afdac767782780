// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/state/held_runs.hpp>

#include <doctest/doctest.h>

#include <numeric>

using namespace motet;

namespace {
// Reads what is held of a tensor of 6 x 10, through its runs, from a whole one that counts.
std::vector<int> held(const parameter& of) {
  std::vector<int> whole(60), found(static_cast<std::size_t>(of.offset + of.held()), -1);
  std::iota(whole.begin(), whole.end(), 0);
  each_run(of, [&](motet::isize at, motet::isize element, motet::isize count) {
    for (motet::isize i = 0; i < count; ++i)
      found[static_cast<std::size_t>(at + i)] = whole[static_cast<std::size_t>(element + i)];
  });
  return found;
}
parameter tensor() {
  parameter made;
  made.rows = 6;
  made.width = 10;
  made.held_rows = {{0, 6}};
  made.held_columns = {{0, 10}};
  return made;
}
}  // namespace

TEST_CASE("a whole tensor is one run") {
  std::vector<int> wanted(60);
  std::iota(wanted.begin(), wanted.end(), 0);
  CHECK(held(tensor()) == wanted);
  int runs = 0;
  each_run(tensor(), [&](motet::isize, motet::isize, motet::isize) { ++runs; });
  CHECK(runs == 1);
}

TEST_CASE("rows in several stretches, and columns of every row") {
  parameter some = tensor();
  some.offset = 2;
  some.held_rows = {{1, 2}, {4, 6}};
  std::vector<int> wanted{-1, -1};
  for (const int row : {1, 4, 5})
    for (int c = 0; c < 10; ++c) wanted.push_back(10 * row + c);
  CHECK(held(some) == wanted);
  some = tensor();
  some.held_columns = {{3, 5}};
  wanted.clear();
  for (int row = 0; row < 6; ++row)
    for (int c = 3; c < 5; ++c) wanted.push_back(10 * row + c);
  CHECK(held(some) == wanted);
  some.held_rows = {};
  CHECK(held(some).empty());
}
