// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/place/fewest_slices.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;

namespace {

// Steps of one, two, four ... slices, with gaps as short as that; less than 0: no order.
struct tries {
  std::vector<double> seconds;
  double gap = 0;
  isize most = 64;
  int best = 0;
  std::size_t tried = 0;
};
int best_of(const tries& of, std::size_t& tried) {
  return fewest_slices(of.most, [&](int slices, filled_score& found) {
    found.seconds = of.seconds[tried++];
    found.short_gap = of.gap;
    return found.seconds < 0 ? -1.0 : 16.0 / slices;
  });
}

}  // namespace

TEST_CASE("the fewest with which the step is shortest, until slices are shorter than the gaps") {
  const tries all[] = {
      {{10, 9, 8, 8}, 2, 64, 4, 4},       // eight fit into the gaps: no more are tried
      {{10, 9, 8, 7}, 4, 64, 4, 3},       // four do already
      {{10, 9.999, 9.998}, 4, 64, 1, 3},  // more gain nothing worth it
      {{10, 11, 8}, 4, 64, 4, 3},         // one longer try does not end the search
      {{10}, 100, 64, 1, 1},              // whole ones fit
      {{10, 9}, 0, 3, 2, 2},              // four are more than there may be
      {{-1}, 0, 64, 1, 1},                // there is no order
      {{10, 9, -1}, 0, 64, 2, 3},         // nor one with more
  };
  for (const tries& each : all) {
    CAPTURE(each.seconds.size());
    CAPTURE(each.gap);
    std::size_t tried = 0;
    CHECK(best_of(each, tried) == each.best);
    CHECK(tried == each.tried);
  }
}
