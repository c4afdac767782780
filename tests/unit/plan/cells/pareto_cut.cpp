// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cells/pareto_cut.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

cell_candidate candidate(std::initializer_list<int> ends, double imbalance, double communication,
                         double computation = 0) {
  cell_candidate out;
  for (const int each : ends) out.ends[as_size(out.stages++)] = static_cast<std::uint8_t>(each);
  out.imbalance = imbalance;
  out.communication = communication;
  out.computation = computation;
  return out;
}

}  // namespace

TEST_CASE("who is beaten in balance and in communication goes") {
  std::vector<cell_candidate> all{candidate({1, 4}, 3, 5), candidate({2, 4}, 1, 6),
                                  candidate({3, 4}, 2, 6.5)};
  cut_to_pareto(all);
  CHECK(all.size() == 2);
  CHECK(all[0].imbalance == 1);
  CHECK(all[1].communication == 5);
}
TEST_CASE("where communication counts little, only who is far more even wins") {
  std::vector<cell_candidate> all{candidate({1, 4}, 1, 5, 100), candidate({2, 4}, 9, 6, 100),
                                  candidate({3, 4}, 11, 6, 100)};
  cut_to_pareto(all);
  CHECK(all.size() == 2);
  CHECK(all[1].imbalance == 9);
}
TEST_CASE("of too many the most alike are thinned out, the most even one stays") {
  CHECK(edit_distance(candidate({2, 4}, 0, 0), candidate({2, 4}, 0, 0)) == 0);
  CHECK(edit_distance(candidate({1, 4}, 0, 0), candidate({2, 4}, 0, 0)) == 1);
  CHECK(edit_distance(candidate({1, 2, 6}, 0, 0), candidate({4, 5, 6}, 0, 0)) == 4);
  std::vector<cell_candidate> all;
  for (int first = 1; first < 12; ++first)
    for (int second = first + 1; second < 13; ++second)
      all.push_back(candidate({first, second, 13}, 1 + 0.01 * static_cast<double>(all.size()),
                              100 - static_cast<double>(all.size())));
  cut_to_pareto(all, {.most = 8});
  CHECK(all.size() == 8);
  CHECK(all[0].imbalance == 1);
}
