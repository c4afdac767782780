// SPDX-License-Identifier: Apache-2.0
#include "deviation.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <sstream>

#include "grid.hpp"

// A failing comparison prints what it found, and none is lost.

namespace motet {
namespace {

std::string printed(const auto& of) {
  std::ostringstream out;
  out << of;
  return out.str();
}

TEST_CASE("single numbers tell both") {
  CHECK(laws::off_by(2, 2) == 0);
  CHECK(printed(laws::off_by(2, 2)) == "0");
  CHECK(laws::off_by(1.5, 1.25f) == 0.25);
  CHECK(printed(laws::off_by(1.5, 1.25f)) == "0.25 (got 1.5, wanted 1.25)");
}

TEST_CASE("lists tell the worst element, and how many differ") {
  const std::vector<float> wanted{1, 2, 3, 4};
  CHECK(laws::off_by(wanted, wanted) == 0);
  const auto found = laws::off_by(std::vector<int>{1, 3, 3, 9}, wanted);
  CHECK(found == 5);
  CHECK(printed(found) == "5 (got 9, wanted 4, at element 3 of 4; 2 of 4 differ)");
  CHECK(laws::off_by(std::vector<int>{1, 3, 3, 9}, wanted, true) == 1);
  CHECK(std::isinf(laws::off_by(std::vector<int>{1}, wanted)));
  CHECK(printed(laws::off_by(std::vector<int>{1}, wanted)) ==
        "inf (got 1, wanted 4, at the number of elements)");
}

TEST_CASE("what is no number is never near, wherever it stands") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t at = 0; at < 3; ++at) {
    std::vector<double> got(3, 1.0);
    got[at] = nan;
    CHECK_FALSE(laws::off_by(got, std::vector<double>(3, 1.0)) <= 1e300);
    CHECK_FALSE(laws::off_by(got, got) == 0);
  }
  CHECK_FALSE(laws::off_by(nan, 1.0) <= 1e300);
  laws::deviation all;
  all.add(laws::off_by(nan, 1.0), "first");
  all.add(laws::off_by(3.0, 1.0), "second");
  CHECK(std::isinf(all));
  CHECK(all.place == "first");
  CHECK(std::isinf(laws::deviation{}.measured(nan)));
  all.fail("a stripe was written");
  CHECK(printed(all) == "inf (got 0, wanted 0, at a stripe was written; 2 of 2 differ)");
}

TEST_CASE("matrices tell row and column") {
  auto got = laws::grid<float>(3, 5, 2).fill(1), wanted = got;
  CHECK(laws::distance(got, wanted) == 0);
  got.at(2, 4) = 3, got.at(0, 1) = 1.5f;
  CHECK(laws::distance(got, wanted) == 1);
  CHECK(printed(laws::distance(got, wanted)) == "1 (got 3, wanted 1, at row 2, column 4; 2 of 15 differ)");
  CHECK(printed(laws::distance(got, laws::grid<float>(3, 4))) == "inf (got 5, wanted 4, at the width)");
  CHECK(got.gaps_intact());
  CHECK(printed(got.gaps_intact()) == "intact");
  got.data[6] = 9;
  CHECK_FALSE(got.gaps_intact());
  CHECK(printed(laws::all_intact({wanted.gaps_intact(), got.gaps_intact()})) ==
        "9.000000 at 6, outside of 3 rows of 5 that begin 7 apart");
}

}  // namespace
}  // namespace motet
