// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/picked_score.hpp>

#include <doctest/doctest.h>

#include <algorithm>
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

namespace {

// Two ranks here, of four; what the others picked came with the sum.
struct ranks_with_others {
  std::vector<double> elsewhere;
  bool gone = false;
  int sums = 0;
  std::vector<std::int32_t> local_ranks() const { return {0, 1}; }
  void sum(double* numbers, isize count) {
    if (++sums > 1 && gone) throw std::runtime_error("a rank is gone");
    for (isize k = 0; k < count && count > 1; ++k) numbers[k] += elsewhere[as_size(k)];
  }
};

}  // namespace

TEST_CASE("each rank here tells what was picked here, and whoever leaves does so when all know") {
  score_picks picks(4);
  ranks_with_others same{{0, 0, 0, 0, 2, 7, 2, 7}};
  for (int step = 0; step < 2; ++step) CHECK_NOTHROW(picks.compare(same, {2, 7}));
  CHECK(same.sums == 2);
  // Marks are exact in a double.
  ranks_with_others marked{{0, 0, 0, 0, 2, 7, 2, 7}};
  CHECK_NOTHROW(picks.compare(marked, {2, exact_mark + 7}));
  for (const bool gone : {false, true}) {
    ranks_with_others other{{0, 0, 0, 0, 2, 7, 1, 7}, gone};
    CHECK_THROWS_WITH_AS(picks.compare(other, {2, 7}), doctest::Contains("rank 3 plays score 1"), error);
    CHECK(other.sums == 2);
  }
}
