// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/layers_by_speed.hpp>

#include <doctest/doctest.h>

#include "schedule_laws.hpp"
#include "unit/plan/estimated_models.hpp"

using namespace motet;

namespace {

double slowest_of_all(motet::isize layers, const std::vector<double>& speeds, std::size_t s) {
  if (s + 1 == speeds.size()) return static_cast<double>(layers) / speeds[s];
  double best = 1e300;
  for (motet::isize own = 1; own <= layers - static_cast<motet::isize>(speeds.size() - s - 1); ++own)
    best = std::min(
        best, std::max(static_cast<double>(own) / speeds[s], slowest_of_all(layers - own, speeds, s + 1)));
  return best;
}

}  // namespace

TEST_CASE("no other way to cut layers has a faster slowest stage") {
  laws::dice roll(19);
  for (int round = 0; round < 200; ++round) {
    const int stages = roll.between(1, 5), layers = stages + roll.below(10);
    std::vector<double> speeds;
    for (int s = 0; s < stages; ++s) speeds.push_back(roll.between(1, 9));
    const auto seconds = [&](motet::isize s, motet::isize first, motet::isize last) {
      return static_cast<double>(last - first) / speeds[as_size(s)];
    };
    const list<motet::isize> found = detail::even_times(layers, stages, seconds);
    motet::isize sum = 0;
    double slowest = 0;
    for (motet::isize s = 0; s < stages; ++s) {
      REQUIRE(found[s] >= 1);
      slowest = std::max(slowest, seconds(s, sum, sum + found[s]));
      sum += found[s];
    }
    CHECK(sum == layers);
    CHECK(slowest == slowest_of_all(layers, speeds, 0));
  }
}

TEST_CASE("a stage on a device of half the speed gets half the layers, where nothing else is in it") {
  const cluster_facts on = with_slower_nodes(wired_cluster(1, 2), 1);
  model_shape model{"one", {tower_of_layers("picture", 12, 512, 256)}};
  plan of{.cluster = {.ranks = 4}, .modules = {}};
  of.modules.push(on_ranks("picture", 0, {.stages = 2, .data = 2}, 4));
  CHECK(cut_by_speed(of, model, on, {}));
  CHECK(of.modules[0].layers == list<motet::isize>{8, 4});
  // The same stages on devices of one kind stay as they are, and so do replicas on unlike ones.
  for (const auto& [first, split] :
       {std::pair{0, degrees{.stages = 2}}, {2, degrees{.stages = 2}}, {0, degrees{.data = 4}}}) {
    of.modules[0] = on_ranks("picture", first, split, 4);
    CHECK_FALSE(cut_by_speed(of, model, on, {}));
    CHECK(of.modules[0].layers.empty());
  }
}
