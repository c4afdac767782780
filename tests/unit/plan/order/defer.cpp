// SPDX-License-Identifier: Apache-2.0
#include <motet/data/permutation.hpp>
#include <motet/plan/order/defer.hpp>
#include <motet/plan/order/step_order.hpp>
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace motet;

namespace {

list<double> drawn(std::int32_t samples, double sigma, std::uint64_t seed) {
  const random_stream chance(seed, "costs of samples");
  list<double> costs;
  for (std::int32_t k = 0; k < samples; ++k)
    costs.push(std::exp(sigma * chance.normal(static_cast<std::uint64_t>(k))));
  return costs;
}
// What a step takes whose samples are dealt largest first.
auto dealt_to(const list<double>& costs, std::int32_t replicas) {
  return [&costs, replicas](const list<std::int32_t>& samples) {
    list<double> own;
    for (const std::int32_t each : samples) own.push(costs[each]);
    const list<double> loads = loads_of(deal_largest_first(own, replicas), own);
    return *std::max_element(loads.begin(), loads.end());
  };
}
template <class Takes>
double seconds_of(const hands& steps, const Takes& takes) {
  double sum = 0;
  for (const list<std::int32_t>& each : steps) sum += takes(each);
  return sum;
}
hands as_listed(std::int32_t steps, std::int32_t samples) {
  hands out(steps);
  for (std::int32_t k = 0; k < steps * samples; ++k) out[k / samples].push(k);
  return out;
}

}  // namespace

TEST_CASE("two giants wait for each other") {
  const list<double> costs{8, 1, 1, 1, 1, 1, 8, 1};
  const auto takes = dealt_to(costs, 2);
  const hands found = defer_heavy(costs, {.samples = 4, .together = 2}, takes);
  CHECK(found == hands{{1, 2, 3, 4}, {0, 5, 6, 7}});
  CHECK(seconds_of(as_listed(2, 4), takes) == 2 * 9);
  CHECK(seconds_of(found, takes) == 2 + 9);
  // Where that is not worth it, and where there is no later step, none waits.
  CHECK(defer_heavy(costs, {.samples = 4, .together = 2, .worth = 0.5}, takes) == as_listed(2, 4));
  CHECK(defer_heavy(costs, {.samples = 8, .together = 2}, takes) == as_listed(1, 8));
  const list<double> even(8, 1.0);
  CHECK(defer_heavy(even, {.samples = 4, .together = 2}, dealt_to(even, 2)) == as_listed(2, 4));
}

TEST_CASE(
    "only heavy samples wait, for the last step; lighter ones come in their place; all steps take less") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto steps = static_cast<std::int32_t>(1 + seed % 5),
               replicas = static_cast<std::int32_t>(1 + seed % 4);
    const std::int32_t samples = replicas * static_cast<std::int32_t>(1 + seed % 3);
    const list<double> costs = drawn(steps * samples, 0.9, seed);
    const auto takes = dealt_to(costs, replicas);
    const hands found = defer_heavy(costs, {.samples = samples, .together = replicas}, takes);
    CAPTURE(seed);
    REQUIRE(found.size() == steps);
    std::vector<int> times(static_cast<std::size_t>(costs.size()), 0);
    double lightest_waiting = HUGE_VAL, heaviest_early = 0;
    for (std::int32_t s = 0; s < steps; ++s) {
      CHECK(found[s].size() == samples);
      CHECK(std::is_sorted(found[s].begin(), found[s].end()));
      for (const std::int32_t k : found[s]) {
        ++times[static_cast<std::size_t>(k)];
        const std::int32_t own = k / samples;
        if (own < s) lightest_waiting = std::min(lightest_waiting, costs[k]);
        if (own > s) heaviest_early = std::max(heaviest_early, costs[k]);
        if (own != s) CHECK(std::max(own, s) == steps - 1);
      }
    }
    CHECK(std::all_of(times.begin(), times.end(), [](int each) { return each == 1; }));
    CHECK(heaviest_early <= lightest_waiting);
    CHECK(seconds_of(found, takes) <= seconds_of(as_listed(steps, samples), takes));
  }
}

TEST_CASE("a step of many samples for each replica is not looked at for each of them") {
  const list<double> costs = drawn(2 * 300, 0.9, 1);
  int looks = 0;
  const auto takes = [&](const list<std::int32_t>& samples) {
    ++looks;
    return dealt_to(costs, 1)(samples);
  };
  defer_heavy(costs, {.samples = 300}, takes);
  CHECK(looks <= 2 + 2 * 64);
}

// A run asks for a step by its number and a seed, and keeps nothing from one to the next.
TEST_CASE("every sample of an epoch is used once, less than a window late, wherever the run begins") {
  constexpr std::int32_t samples = 12, replicas = 4, steps_of_epoch = 10, epochs = 3, window = 4;
  constexpr isize count = samples * steps_of_epoch;
  const list<double> weights = drawn(count, 0.9, 7);
  const auto samples_of = [&](std::uint64_t seed, isize step) {
    const interval of = window_of_step(step, window, steps_of_epoch);
    const isize epoch = step / steps_of_epoch;
    const permutation drawn_for(count, seed, static_cast<std::uint64_t>(epoch));
    const isize first = (of.begin - epoch * steps_of_epoch) * samples;
    list<double> costs;
    for (isize k = 0; k < of.size() * samples; ++k) costs.push(weights[drawn_for(first + k)]);
    list<isize> out;
    const hands steps =
        defer_heavy(costs, {.samples = samples, .together = replicas}, dealt_to(costs, replicas));
    for (const std::int32_t k : steps[step - of.begin]) {
      const isize late = step - (of.begin + k / samples);
      CHECK((late > -window && late < window));
      out.push(drawn_for(first + k));
    }
    return out;
  };
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::vector<list<isize>> run;
    for (isize step = 0; step < epochs * steps_of_epoch; ++step) run.push_back(samples_of(seed, step));
    for (isize step = epochs * steps_of_epoch; step-- > 0;)
      CHECK(samples_of(seed, step) == run[static_cast<std::size_t>(step)]);
    for (isize epoch = 0; epoch < epochs; ++epoch) {
      list<isize> used;
      for (isize s = 0; s < steps_of_epoch; ++s)
        for (const isize each : run[static_cast<std::size_t>(epoch * steps_of_epoch + s)]) used.push(each);
      std::sort(used.begin(), used.end());
      REQUIRE(used.size() == count);
      for (isize k = 0; k < count; ++k) CHECK(used[k] == k);
    }
  }
  CHECK(window_of_step(9, window, steps_of_epoch).begin == 8);
  CHECK(window_of_step(9, window, steps_of_epoch).end == 10);
  CHECK(window_of_step(10, window, steps_of_epoch).begin == 10);
}

TEST_CASE("seconds over evenly divided work, means of draws") {
  struct row {
    std::int32_t replicas, each, window;
    double sigma, listed, waiting, waits;
    std::uint64_t draws = 20;
  };
  constexpr row rows[] = {{16, 4, 2, .9, 1.451, 1.207, .115}, {16, 4, 4, .9, 1.569, 1.173, .104},
                          {16, 4, 8, .9, 1.544, 1.084, .068}, {8, 2, 4, .6, 1.354, 1.141, .179},
                          {4, 8, 4, .6, 1.016, 1.009, .034},  {32, 60, 4, .9, 1.002, 1.002, 0, 2}};
  for (const row& at : rows) {
    double listed = 0, waiting = 0, waits = 0;
    const std::int32_t samples = at.replicas * at.each;
    for (std::uint64_t seed = 0; seed < at.draws; ++seed) {
      const list<double> costs = drawn(samples * at.window, at.sigma, seed);
      const auto takes = dealt_to(costs, at.replicas);
      const auto draws = static_cast<double>(at.draws);
      const double even = std::accumulate(costs.begin(), costs.end(), 0.0) / at.replicas * draws;
      const hands found = defer_heavy(costs, {.samples = samples, .together = at.replicas}, takes);
      listed += seconds_of(as_listed(at.window, samples), takes) / even;
      waiting += seconds_of(found, takes) / even;
      for (const std::int32_t k : found.back())
        waits += k / samples + 1 < at.window ? 1 / (samples * at.window * draws) : 0;
    }
    CAPTURE(at.window);
    CHECK(std::abs(listed - at.listed) < 0.001);
    CHECK(std::abs(waiting - at.waiting) < 0.001);
    CHECK(std::abs(waits - at.waits) < 0.001);
  }
}

// Which samples wait is judged by the deal and the order that their step will have.
TEST_CASE("waiting goes together with dealing and ordering") {
  double ordered = 0, waiting = 0;
  const step_shape shape{4, 6};
  constexpr std::int32_t steps = 4, samples = 24, all = steps * samples;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    sample_times of;
    of.stages = 4;
    of.samples = all;
    of.backward = list<double>(4, 2.0);
    const list<double> pictures = drawn(all, 0.9, seed);
    for (std::int32_t s = 0; s < 4; ++s)
      for (std::int32_t k = 0; k < all; ++k) of.forward.push(s == 0 ? pictures[k] : 1);
    const auto judge = [](const microbatch_times& times, const microbatch_order& order) {
      return one_f_one_b_seconds(times, order);
    };
    const auto takes = [&](const list<std::int32_t>& which) {
      const sample_times own = times_of_samples(of, which);
      return seconds_of_step(own, order_step(own, shape, judge, {.tries = 0}), judge);
    };
    list<double> costs;
    for (std::int32_t k = 0; k < all; ++k) costs.push(of.all_of(k));
    const double bound = least_step_seconds(of, shape.replicas);
    const double seconds = seconds_of(defer_heavy(costs, {.samples = samples, .together = 4}, takes), takes);
    CHECK(seconds >= bound * (1 - 1e-12));
    ordered += seconds_of(as_listed(steps, samples), takes) / bound / 10;
    waiting += seconds / bound / 10;
  }
  MESSAGE("over the bound: ", ordered, " ordered, ", waiting, " where heavy ones wait as well");
  CHECK(waiting < 0.99 * ordered);
}
