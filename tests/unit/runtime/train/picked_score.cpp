// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/picked_score.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;

TEST_CASE("ranks that picked one score by the same headers go on") {
  CHECK_NOTHROW(require_same_pick(std::vector<double>{}));
  CHECK_NOTHROW(require_same_pick(std::vector<double>{2, 7}));
  CHECK_NOTHROW(require_same_pick(std::vector<double>{2, 7, 2, 7, 2, 7}));
}

TEST_CASE("the sentence names two ranks that do not, and what each has") {
  CHECK_THROWS_WITH_AS(
      require_same_pick(std::vector<double>{0, 7, 0, 7, 1, 7}),
      doctest::Contains("rank 0 plays score 0, by headers with mark 7; rank 2 plays score 1, by "
                        "headers with mark 7"),
      error);
  // The same score by other headers: the ranks do not see the same data.
  CHECK_THROWS_WITH_AS(require_same_pick(std::vector<double>{1, 7, 1, 8}),
                       doctest::Contains("rank 1 plays score 1, by headers with mark 8. "), error);
  CHECK_THROWS_WITH_AS(require_same_pick(std::vector<double>{1, 7, 1, 8}), doctest::Contains("MT-R72"),
                       error);
}
