// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/core/voice.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace motet;

TEST_CASE("a label keeps fifteen characters") {
  CHECK(label("picture").view() == "picture");
  CHECK(label().view().empty());
  CHECK(label(std::string("fifteen letters")).view() == "fifteen letters");
  CHECK(label("sixteen letters!").view() == "sixteen letters");
  CHECK(label("a") == label("a"));
  CHECK_FALSE(label("a") == label("b"));
}

TEST_CASE("every (stage, microbatch) has a cell of its own") {
  voice of;
  of.stages = 3;
  of.microbatches = 5;
  of.first_cell = 11;
  std::set<int> cells;
  for (int s = 0; s < 3; ++s)
    for (int m = 0; m < 5; ++m) cells.insert(of.cell(s, m));
  CHECK(cells.size() == 15);
  CHECK(*cells.begin() == 11);
  CHECK(*cells.rbegin() == 25);
}

TEST_CASE("groups of microbatches") {
  voice of;
  of.microbatches = 12;
  CHECK(of.joins() == 12);
  of.group = 4;
  CHECK(of.joins() == 3);
}

// Positions and numbers of cells must fit 32 bits, also threefold, for three kinds of messages.
static_assert(3 * most_cells < isize{1} << 31);
