// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/step_order.hpp>

#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace motet;

namespace {

// The first and the last of the stages take unlike times, the others one unit of the sample together.
sample_times drawn(std::int32_t stages, std::int32_t samples, std::uint64_t seed, double sigma = 0.6) {
  const random_stream draw(seed, "samples");
  sample_times out;
  out.stages = stages;
  out.samples = samples;
  for (std::int32_t s = 0; s < stages; ++s) {
    out.backward.push(2);
    for (std::int32_t k = 0; k < samples; ++k) {
      const auto at = static_cast<std::uint64_t>(s == 0 ? k : samples + k);
      out.forward.push(s == 0 || s + 1 == stages ? std::exp(sigma * draw.normal(at) - sigma * sigma / 2)
                                                 : 1.0 / (stages - 2));
    }
  }
  return out;
}
const auto clock_of = [](const microbatch_times& times, const microbatch_order& order) {
  return one_f_one_b_seconds(times, order);
};
// Each sample is there once, and every replica and microbatch has its number.
void check_whole(const step_order& order, const step_shape& shape, std::int32_t samples) {
  std::vector<int> times(static_cast<std::size_t>(samples), 0);
  REQUIRE_EQ(order.size(), shape.replicas);
  for (const hands& own : order) {
    REQUIRE_EQ(own.size(), shape.microbatches);
    for (const auto& each : own) {
      CHECK_EQ(each.size(), samples / shape.replicas / shape.microbatches);
      for (const std::int32_t k : each) ++times[static_cast<std::size_t>(k)];
    }
  }
  for (const int each : times) CHECK_EQ(each, 1);
}

}  // namespace

TEST_CASE("an order has every sample once, is never longer than as listed, and never below the bound") {
  for (const auto& [replicas, microbatches, each] :
       {std::tuple(1, 8, 1), std::tuple(4, 8, 1), std::tuple(3, 4, 2), std::tuple(2, 1, 3),
        std::tuple(5, 6, 4)})
    for (std::uint64_t seed = 1; seed <= 5; ++seed)
      for (const std::int32_t stages : {1, 2, 4}) {
        const step_shape shape{replicas, microbatches};
        const std::int32_t samples = replicas * microbatches * each;
        const sample_times of = stages > 2 ? drawn(stages, samples, seed) : [&] {
          sample_times flat = drawn(3, samples, seed);
          flat.stages = stages;
          return flat;
        }();
        const double listed = seconds_of_step(of, order_as_listed(in_turn(samples), shape), clock_of),
                     bound = least_step_seconds(of, replicas);
        for (const bool ranks : {true, false})
          for (const bool slots : {true, false}) {
            const step_order found = order_step(of, shape, clock_of, {.tries = 20}, {ranks, slots});
            check_whole(found, shape, samples);
            const double seconds = seconds_of_step(of, found, clock_of);
            CHECK(seconds <= listed * (1 + 1e-12));
            CHECK(seconds >= bound * (1 - 1e-12));
          }
        const step_order drawn_order = order_by_chance(samples, shape, seed);
        check_whole(drawn_order, shape, samples);
        CHECK(seconds_of_step(of, drawn_order, clock_of) >= bound * (1 - 1e-12));
      }
}

TEST_CASE(
    "with two replicas of three microbatches no deal and order is below the bound, and ours is near the "
    "best") {
  double lost = 0;
  constexpr int draws = 12;
  for (std::uint64_t seed = 1; seed <= draws; ++seed) {
    const sample_times of = drawn(3, 6, seed);
    list<std::int32_t> samples = in_turn(6);
    double best = std::numeric_limits<double>::infinity();
    do best = std::min(best, seconds_of_step(of, order_as_listed(samples, {2, 3}), clock_of));
    while (std::next_permutation(samples.begin(), samples.end()));
    CHECK(best >= least_step_seconds(of, 2) * (1 - 1e-12));
    lost += seconds_of_step(of, order_step(of, {2, 3}, clock_of), clock_of) / best - 1;
  }
  CHECK(lost / draws < 0.05);
}

// Where both the encoder's and the generator's work is skewed, hands with even sums may each be heavy on one
// stage.
TEST_CASE("dealing by stages is more even on the busiest stage than dealing by sums") {
  double by_stages = 0, by_sums = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const sample_times of = drawn(4, 96, seed);
    list<double> sums;
    for (std::int32_t k = 0; k < 96; ++k) sums.push(of.all_of(k));
    const auto busiest = [&](const hands& dealt) {
      double most = 0;
      for (const auto& each : dealt)
        for (std::int32_t s = 0; s < 4; ++s) {
          double load = 0;
          for (const std::int32_t k : each) load += of.forward_of(s, k);
          most = std::max(most, load);
        }
      return most;
    };
    by_stages += busiest(deal_by_stages(of, in_turn(96), 4));
    by_sums += busiest(deal_largest_first(sums, 4));
  }
  CHECK(by_stages < 0.95 * by_sums);
}

TEST_CASE("means of 20 draws over orders by chance") {
  double chosen = 0, alone = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const sample_times of = drawn(4, 96, seed);
    double random = 0;
    for (std::uint64_t k = 0; k < 10; ++k)
      random += seconds_of_step(of, order_by_chance(96, {4, 24}, 100 * seed + k), clock_of) / 10;
    chosen += seconds_of_step(of, order_step(of, {4, 24}, clock_of), clock_of) / random / 20;
    alone +=
        seconds_of_step(of, order_step(of, {4, 24}, clock_of, {}, {.ranks = false}), clock_of) / random / 20;
  }
  MESSAGE("dealt and ordered ", chosen, ", ordered alone ", alone);
  CHECK(chosen < alone);
  CHECK(chosen < 0.88);
}

TEST_CASE("times of some samples alone are theirs") {
  const sample_times of = drawn(3, 6, 1), some = times_of_samples(of, {4, 1});
  CHECK_EQ(some.samples, 2);
  CHECK_EQ(some.stages, 3);
  CHECK_EQ(some.all_of(0), of.all_of(4));
  CHECK_EQ(some.forward_of(2, 1), of.forward_of(2, 1));
  CHECK_EQ(times_of_samples(of, {}).samples, 0);
}

// A step ends with its slowest replica, so the others are swapped only where they would be slower.
TEST_CASE("a step takes what it would with every replica swapped to the end, by fewer looks") {
  const step_shape shape{40, 12};
  constexpr std::int32_t tries = 100;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const sample_times of = drawn(4, 480, seed);
    for (const bool ranks : {true, false}) {
      isize looks = 0;
      const auto counted = [&](const microbatch_times& times, const microbatch_order& order) {
        ++looks;
        return clock_of(times, order);
      };
      const step_order found = order_step(of, shape, counted, {.tries = tries}, {ranks, true});
      check_whole(found, shape, 480);
      // Replicas as they are dealt, each in its own best turn.
      double whole = 0;
      for (const hands& own : order_step(of, shape, clock_of, {}, {ranks, false})) {
        const microbatch_times times = times_of(of, own);
        const auto takes = [&](const microbatch_order& each) { return clock_of(times, each); };
        microbatch_order best = in_turn(times.microbatches), filled = fill_intervals(times);
        if (takes(filled) < takes(best)) best = filled;
        whole = std::max(whole, takes(improve_by_swaps(best, takes, {.tries = tries})));
      }
      CHECK(seconds_of_step(of, found, clock_of) == doctest::Approx(whole).epsilon(1e-12));
      CHECK(looks < 40 * tries / 4);
    }
  }
}
