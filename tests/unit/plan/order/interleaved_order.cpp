// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/interleaved_order.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/interleaved.hpp>

#include <doctest/doctest.h>

#include "skewed_times.hpp"

using namespace motet;

TEST_CASE("the interleaved clock tells what simulate() tells") {
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (int chunks = 1; chunks <= 3; ++chunks)
      for (int groups = 1; groups <= 3; ++groups) {
        const std::int32_t count = ranks * groups;
        const microbatch_times times = skewed(ranks * chunks, count, 1.1, 0.7,
                                              static_cast<std::uint64_t>(100 * ranks + 10 * chunks + groups));
        const program of =
            compile(interleaved::write({.stages = ranks, .microbatches = count, .chunks = chunks}));
        for (const microbatch_order& order : {in_turn(count), fill_intervals(times, chunks)}) {
          CAPTURE(ranks);
          CAPTURE(chunks);
          CAPTURE(groups);
          CHECK(is_permutation_of_all(order, count));
          CHECK(interleaved_seconds(times, chunks, order) ==
                doctest::Approx(simulated_seconds(of, {}, times, order)).epsilon(1e-12));
        }
      }
}

TEST_CASE("one chunk is 1F1B") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const microbatch_times times = skewed(4, 11, 1, 0.6, seed);
    const microbatch_order order = fill_intervals(times);
    CHECK(fill_intervals(times, 1) == order);
    CHECK(interleaved_seconds(times, 1, order) ==
          doctest::Approx(one_f_one_b_seconds(times, order)).epsilon(1e-12));
    // Once the first rank is to go back, both clocks know how long it would wait.
    interleaved_clock any(times, 1);
    one_f_one_b_clock own(times);
    for (isize k = 0; k + 4 < order.size(); ++k) {
      any.append(order[k]);
      own.append(order[k]);
      if (k >= 3) CHECK(any.interval() == doctest::Approx(std::max(0.0, own.interval())).epsilon(1e-12));
    }
  }
  CHECK(interleaved_seconds({2, 0, {}, {2, 2}}, 2, {}) == 0);
}

// Solved by hand: two ranks of two chunks, all forwards take 1 and all backwards 2.
TEST_CASE("the interval is what the first rank would wait") {
  const microbatch_times times{4, 4, list<double>(16, 1.0), list<double>(4, 2.0)};
  interleaved_clock clock(times, 2);
  clock.append(0);
  CHECK(clock.interval() == 1);  // from 1, till the first microbatch is back at 2 for the second chunk
  clock.append(1);
  CHECK(clock.interval() == 2);  // from 4, till the first backward is back at 6
  clock.append(2);
  CHECK(clock.interval() == 1);  // from 8, till the second is back at 9
}

TEST_CASE(
    "of all orders of few microbatches, filled intervals of chunks come near the best, nearer than those of "
    "1F1B") {
  struct group {
    std::int32_t ranks, chunks, count;
    std::uint64_t cases;
  };
  double plain = 0, as_1f1b = 0, filled = 0, swapped = 0, cases = 0;
  for (const group& at : {group{2, 2, 4, 10}, {2, 2, 6, 10}, {3, 2, 6, 10}, {2, 2, 8, 1}, {4, 2, 8, 1}})
    for (std::uint64_t seed = 0; seed < at.cases; ++seed) {
      const microbatch_times times = skewed(at.ranks * at.chunks, at.count, 1, 0.6, seed);
      const auto judge = [&](const microbatch_order& order) {
        return interleaved_seconds(times, at.chunks, order);
      };
      double least = HUGE_VAL;
      microbatch_order order = in_turn(at.count);
      do least = std::min(least, judge(order));
      while (std::next_permutation(order.begin(), order.end()));
      const microbatch_order found = fill_intervals(times, at.chunks);
      const double better = judge(improve_by_swaps(found, judge));
      CHECK(judge(found) >= least - 1e-12);
      CHECK(better >= least - 1e-12);
      CHECK(least_seconds(times) <= least + 1e-12);
      plain += judge(in_turn(at.count)) / least;
      as_1f1b += judge(fill_intervals(times)) / least;
      filled += judge(found) / least;
      swapped += better / least;
      cases += 1;
    }
  MESSAGE("over the best: in turn ", plain / cases, ", as 1F1B ", as_1f1b / cases, ", filled ",
          filled / cases, ", swapped ", swapped / cases);
  CHECK(filled < as_1f1b);
  CHECK(filled < plain);
  CHECK(filled < 1.03 * cases);
  CHECK(swapped < 1.01 * cases);
}

// Where the ends of a pipeline are heavy, filled intervals are best; where all stages are, those by size.
TEST_CASE("times over those in turn, means of 50 draws, are shorter than those of intervals of 1F1B") {
  struct row {
    std::int32_t ranks, chunks, count;
    double mean;  // of the encoder; 0: all stages take what the encoder does
    double filled, as_1f1b;
  };
  constexpr row rows[] = {
      {2, 2, 16, 1, .958, .964},  {4, 2, 16, 1, .974, 1.013},   {4, 2, 32, 1, 1.001, 1.035},
      {4, 3, 24, 1, .998, 1.023}, {6, 2, 24, .9, 1.008, 1.041}, {8, 2, 32, 1, 1.013, 1.064},
      {4, 2, 16, 2, .974, .977},  {2, 2, 16, 0, .932, .933},    {4, 2, 16, 0, .892, .918},
      {4, 2, 32, 0, .847, .848},  {8, 2, 32, 0, .829, .867}};
  double swapped = 0, swapped_1f1b = 0;
  constexpr std::uint64_t draws = 50;
  for (const row& at : rows) {
    double filled = 0, as_1f1b = 0;
    for (std::uint64_t seed = 0; seed < draws; ++seed) {
      microbatch_times times = skewed(at.ranks * at.chunks, at.count, at.mean > 0 ? at.mean : 1, 0.6, seed);
      for (isize k = at.count; at.mean == 0 && k < times.forward.size(); ++k)
        times.forward[k] = times.forward[k - at.count];
      const auto judge = [&](const microbatch_order& order) {
        return interleaved_seconds(times, at.chunks, order);
      };
      const double plain = judge(in_turn(at.count)) * draws;
      const microbatch_order own = fill_intervals(times, at.chunks), other = fill_intervals(times);
      filled += judge(own) / plain;
      as_1f1b += judge(other) / plain;
      swapped += judge(improve_by_swaps(own, judge, {.tries = 50})) / plain;
      swapped_1f1b += judge(improve_by_swaps(other, judge, {.tries = 50})) / plain;
    }
    CAPTURE(at.ranks);
    CAPTURE(at.count);
    CHECK(std::abs(filled - at.filled) < 0.001);
    CHECK(std::abs(as_1f1b - at.as_1f1b) < 0.001);
    CHECK(filled < as_1f1b);
  }
  MESSAGE("after 50 swaps, means of all: ", swapped / 11, ", from those of 1F1B ", swapped_1f1b / 11);
  CHECK(swapped < 1.001 * swapped_1f1b);
}
