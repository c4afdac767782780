// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/tower_rows.hpp>
#include <motet/plan/order/deal.hpp>
#include <motet/plan/order/long_short.hpp>
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace motet;

namespace {

constexpr row_rates plain{1, 1, 0};
constexpr tower_outline reader{
    .name = "text", .layers = 3, .width = 64, .heads = 4, .key_heads = 2, .tokens = 100};

// The encoder of the notes of MegaScale-Omni on the eight GPUs of a node.
constexpr tower_outline eye{
    .name = "picture", .layers = 48, .width = 1664, .heads = 16, .tokens = 1024, .patch = 588};
constexpr row_rates node{.flops = 6e14, .bytes = 4.5e11, .round = 1e-5};

// Lengths of samples, by chance: around 900, and a share of them, the tail, around 24,000.
list<motet::isize> drawn_lengths(int count, double tail, std::uint64_t seed) {
  const random_stream draw(seed, "lengths");
  list<motet::isize> out;
  for (std::uint64_t k = 0; k < static_cast<std::uint64_t>(count); ++k) {
    const bool is_long = static_cast<double>(draw.below(2 * k, 1000)) < 1000 * tail;
    out.push(1 + static_cast<motet::isize>((is_long ? 24e3 : 900) * std::exp(.8 * draw.normal(2 * k + 1))));
  }
  return out;
}
// How many times as long others take than the best threshold, on average: all samples whole and as they come,
// whole and dealt, and all cut.
struct times_as_long {
  double listed = 0, dealt = 0, cut = 0;
};
times_as_long mean_of_draws(const row_costs& costs, int count, double tail) {
  times_as_long out;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const list<motet::isize> rows = drawn_lengths(count, tail, seed);
    const double best = find_long_short(costs, rows, 8).seconds;
    list<double> all, listed(8, 0.0);
    double cut = costs.round;
    for (motet::isize s = 0; s < rows.size(); ++s) {
      all.push(costs.whole(rows[s]));
      listed[owner(rows.size(), 8, s)] += all.back();
      cut += costs.cut(rows[s], 8);
    }
    const list<double> dealt = loads_of(deal_largest_first(all, 8, hand_sizes::any), all);
    out.listed += *std::max_element(listed.begin(), listed.end()) / best / 60;
    out.dealt += *std::max_element(dealt.begin(), dealt.end()) / best / 60;
    out.cut += cut / best / 60;
  }
  return out;
}

}  // namespace

TEST_CASE("rows and pairs of a tower are told apart, and make up its work at any length") {
  for (tower_outline of : {reader, eye}) {
    const row_costs costs = row_costs_of(of, 4, plain, 2);
    double before = 0, rows_before = 0;
    for (const motet::isize tokens : {50, 777, 5000}) {
      of.tokens = tokens;
      const part_work all = work_of_layers(of, 0, of.layers);
      const double work = all.forward_flops + all.backward_flops();
      if (before > 0)
        CHECK(costs.whole(tokens) - rows_before == doctest::Approx(work - before).epsilon(1e-9));
      before = work;
      rows_before = costs.whole(tokens);
    }
  }
  // Attention of 64 columns: 4 FLOPs for each pair and column forward, 10 back.
  CHECK(row_costs_of(reader, 4, plain, 2).pair == doctest::Approx(3 * 14 * 64));
}

TEST_CASE("what samples that are cut cost besides is what blocks and ends exchange") {
  // Queries and keys of 64 + 32 columns, there and back, forward and backward; rows of both ends twice.
  const double heads = 3 * 2 * 2.0 * (64 + 32) + 2 * 2 * 64;
  for (const int parts : {2, 4})
    CHECK(row_costs_of(reader, parts, plain, 2).exchanged ==
          doctest::Approx(heads / parts * 2 * (1 - 1.0 / parts)));
  tower_outline round = reader;
  round.ring = true;
  // Keys go to all others, and with their gradients once more.
  const double keys = 3 * 3 * 2.0 * 32 * 4 + 2 * 2 * 64;
  CHECK(row_costs_of(round, 4, plain, 2).exchanged == doctest::Approx(keys / 4 * 2 * (1 - 1.0 / 4)));
  CHECK(row_costs_of(round, 4, {1, 1, 1}, 2).round == 3 * 3 * 2);
  CHECK(row_costs_of(reader, 1, {1, 1, 1}, 2).exchanged == 0);
  CHECK(row_costs_of(reader, 1, {1, 1, 1}, 2).round == 0);
}

// The notes have these rows, and say neither the spread of lengths nor the rates. What they tell holds with
// those here: whole samples are uneven where there are few of them or some are long, and cutting all of them
// costs more than it brings where there are many short ones. They have 1.80, 1.51 and 1.01 for the first row,
// 1.71, 1.01 and 1.27 for the second, 4.10, 3.81 and 1.06 for the third, 2.91, 2.36 and 1.09 for the fourth.
TEST_CASE("samples whole, whole and dealt, and all cut, against the best threshold of each draw") {
  const row_costs costs = row_costs_of(eye, 8, node, 2);
  struct expected {
    int count;
    double tail, listed, dealt, cut;
  };
  for (const auto& [count, tail, listed, dealt, cut] : {expected{16, 0, 1.91, 1.59, 1.02},
                                                        {64, 0, 1.70, 1.11, 1.12},
                                                        {64, .02, 3.53, 3.01, 1.07},
                                                        {256, .02, 3.52, 2.90, 1.05}}) {
    CAPTURE(count);
    CAPTURE(tail);
    const times_as_long found = mean_of_draws(costs, count, tail);
    CHECK(found.listed == doctest::Approx(listed).epsilon(.01));
    CHECK(found.dealt == doctest::Approx(dealt).epsilon(.01));
    CHECK(found.cut == doctest::Approx(cut).epsilon(.01));
  }
}

TEST_CASE("the best threshold is another for each mix, so that no number does for all") {
  const row_costs costs = row_costs_of(eye, 8, node, 2);
  const auto median = [&](int count, double tail) {
    std::vector<motet::isize> all;
    for (std::uint64_t seed = 0; seed < 31; ++seed)
      all.push_back(find_long_short(costs, drawn_lengths(count, tail, seed), 8).long_rows);
    std::nth_element(all.begin(), all.begin() + 15, all.end());
    return all[15];
  };
  // The notes have 5 K to 110 K.
  CHECK(median(64, 0) == doctest::Approx(4814).epsilon(.01));
  CHECK(median(256, .1) == doctest::Approx(33848).epsilon(.01));
  CHECK(median(256, .3) == doctest::Approx(107895).epsilon(.01));
}
