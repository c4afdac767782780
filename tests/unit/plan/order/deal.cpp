// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/deal.hpp>
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace motet;

namespace {

list<double> skewed(motet::isize count, double sigma, std::uint64_t seed) {
  const random_stream chance(seed, "costs of samples");
  list<double> costs;
  for (motet::isize i = 0; i < count; ++i)
    costs.push(std::exp(sigma * chance.normal(static_cast<std::uint64_t>(i))));
  return costs;
}
double largest(const list<double>& of) { return *std::max_element(of.begin(), of.end()); }
double over_mean(const hands& dealt, const list<double>& costs) {
  const list<double> loads = loads_of(dealt, costs);
  return largest(loads) * static_cast<double>(loads.size()) /
         std::accumulate(loads.begin(), loads.end(), 0.0);
}
bool holds_each_once(const hands& dealt, motet::isize count) {
  list<std::int32_t> seen(count, 0);
  for (const auto& hand : dealt)
    for (const std::int32_t sample : hand) ++seen[sample];
  return std::all_of(seen.begin(), seen.end(), [](std::int32_t times) { return times == 1; });
}
bool is_even(const hands& dealt) {
  const auto [least, most] = std::minmax_element(
      dealt.begin(), dealt.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return most->size() - least->size() <= 1;
}
// The least largest load of all deals.
double best(const list<double>& costs, list<double>& loads, motet::isize sample) {
  if (sample == costs.size()) return largest(loads);
  double found = HUGE_VAL;
  for (double& load : loads) {
    const double before = load;
    load += costs[sample];
    found = std::min(found, best(costs, loads, sample + 1));
    load = before;
    if (load == 0) break;  // empty replicas are alike
  }
  return found;
}

}  // namespace

TEST_CASE("each sample is dealt once, in hands of equal size where they are asked for") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const random_stream chance(seed, "sizes");
    const motet::isize count = chance.below(0, 60);
    const auto replicas = static_cast<std::int32_t>(1 + chance.below(1, 12));
    const list<double> costs = skewed(count, 0.9, seed);
    for (const hand_sizes sizes : {hand_sizes::equal, hand_sizes::any}) {
      CAPTURE(seed);
      const hands by_size = deal_largest_first(costs, replicas, sizes),
                  by_difference = deal_by_differences(costs, replicas);
      CHECK(by_size.size() == replicas);
      CHECK(by_difference.size() == replicas);
      CHECK(holds_each_once(by_size, count));
      CHECK(holds_each_once(by_difference, count));
      if (sizes == hand_sizes::equal) CHECK(is_even(by_size));
    }
  }
}

TEST_CASE("the largest first stays within Graham's bound of the best deal") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto replicas = static_cast<std::int32_t>(2 + seed % 3);
    const list<double> costs = skewed(9, 0.8, seed);
    list<double> loads(replicas);
    const double least = best(costs, loads, 0);
    CHECK(largest(loads_of(deal_largest_first(costs, replicas, hand_sizes::any), costs)) <=
          (4.0 / 3 - 1.0 / (3 * replicas)) * least + 1e-12);
    CHECK(largest(loads_of(deal_by_differences(costs, replicas), costs)) >= least - 1e-12);
  }
}

TEST_CASE("equal costs go to the replicas in turn") {
  const hands dealt = deal_largest_first(list<double>(5, 1.0), 2);
  CHECK(dealt[0] == list<std::int32_t>{0, 2, 4});
  CHECK(dealt[1] == list<std::int32_t>{1, 3});
}

TEST_CASE("loads over 200 draws are as even as DistTrain's notes say") {
  struct row {
    std::int32_t replicas, each;
    double sigma, any, equal, differences;
  };
  for (const row& at : {row{4, 8, 0.6, 1.012, 1.017, 1.002}, row{12, 10, 0.6, 1.012, 1.026, 1.002},
                        row{32, 60, 0.9, 1.001, 1.003, 1.000}}) {
    double any = 0, equal = 0, differences = 0;
    constexpr std::uint64_t draws = 200;
    for (std::uint64_t seed = 0; seed < draws; ++seed) {
      const list<double> costs = skewed(motet::isize{at.replicas} * at.each, at.sigma, seed);
      any += over_mean(deal_largest_first(costs, at.replicas, hand_sizes::any), costs) / draws;
      equal += over_mean(deal_largest_first(costs, at.replicas), costs) / draws;
      differences += over_mean(deal_by_differences(costs, at.replicas), costs) / draws;
    }
    CAPTURE(at.replicas);
    CHECK(std::abs(any - at.any) < 0.01);
    CHECK(std::abs(equal - at.equal) < 0.01);
    CHECK(std::abs(differences - at.differences) < 0.01);
  }
}
