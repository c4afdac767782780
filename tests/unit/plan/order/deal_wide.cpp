// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/deal_wide.hpp>
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

using namespace motet;

namespace {

// What a vision tower of 48 layers of width 1664 computes for a sample of so many rows.
double flops_of(double rows) { return 48 * (24 * 1664.0 * 1664.0 * rows + 4 * 1664.0 * rows * rows); }
// Lengths are log-normal (sigma 0.55), around 900 rows, and in a tail around 24,000.
list<told_sample> drawn(std::int32_t ranks, std::int32_t each, double tail, std::uint64_t seed) {
  const random_stream draw(seed, "headers");
  list<told_sample> out;
  for (std::int32_t k = 0; k < ranks * each; ++k) {
    const auto at = static_cast<std::uint64_t>(2 * k);
    const double middle = static_cast<double>(draw.below(at, 1000)) < 1000 * tail ? 24000 : 900;
    out.push({k, k / each, flops_of(middle * std::exp(0.55 * draw.normal(at + 1)))});
  }
  return out;
}
double mean_uneven(const list<list<told_sample>>& draws, std::int32_t group, const width_rule& rule) {
  double sum = 0;
  for (const list<told_sample>& told : draws) sum += deal_in_groups(told, 512, group, rule).uneven();
  return sum / static_cast<double>(draws.size());
}
template <class T>
void shuffle(list<T>& all, std::uint64_t seed) {
  const random_stream draw(seed, "arrival");
  for (motet::isize k = all.size(); k > 1; --k)
    std::swap(all[k - 1], all[draw.below(as_size(k), static_cast<std::uint32_t>(k))]);
}

}  // namespace

TEST_CASE("every sample is dealt once, within its group, however its headers came, by its group's alone") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const random_stream draw(seed, "cases");
    const auto ranks = static_cast<std::int32_t>(1 + draw.below(0, 24)),
               group = static_cast<std::int32_t>(1 + draw.below(1, 12)),
               widest = std::int32_t{1} << draw.below(2, 5);
    list<told_sample> told = drawn(ranks, static_cast<std::int32_t>(1 + draw.below(3, 6)), 0.1, seed);
    // Samples of equal cost are told apart by who they are.
    for (motet::isize k = 0; k + 1 < told.size(); k += 5) told[k].cost = told[k + 1].cost;
    const grouped_deal found = deal_in_groups(told, ranks, group, {.widest = widest});
    REQUIRE_EQ(found.samples.size(), told.size());
    list<double> loads(ranks, 0.0);
    for (motet::isize k = 0; k < told.size(); ++k) {
      const dealt_sample& each = found.samples[k];
      CHECK_EQ(each.id, told[k].id);
      CHECK_EQ(each.first / group, told[k].rank / group);
      CHECK_EQ((each.first + each.ranks - 1) / group, told[k].rank / group);
      CHECK(each.ranks <= widest);
      CHECK_EQ(each.first % group % each.ranks, 0);
      for (std::int32_t r = each.first; r < each.first + each.ranks; ++r)
        loads[r] += told[k].cost / each.ranks;
    }
    for (std::int32_t r = 0; r < ranks; ++r) CHECK(loads[r] == doctest::Approx(found.loads[r]));
    list<told_sample> again = told;
    shuffle(again, seed);
    // What other groups have, or that they have nothing, changes nothing for the first.
    list<told_sample> others;
    for (const told_sample& each : again)
      if (each.rank < group) others.push(each);
    const grouped_deal shuffled = deal_in_groups(again, ranks, group, {.widest = widest}),
                       first = deal_in_groups(others, ranks, group, {.widest = widest});
    CHECK(shuffled.samples == found.samples);
    for (motet::isize k = 0; k < first.samples.size(); ++k) CHECK(first.samples[k] == found.samples[k]);
    // Who is alone keeps what it read.
    const grouped_deal alone = deal_in_groups(told, ranks, 1, {.widest = widest});
    for (motet::isize k = 0; k < told.size(); ++k)
      CHECK(alone.samples[k] == dealt_sample{told[k].id, told[k].rank, 1});
  }
}

TEST_CASE("a long sample is cut over as few ranks as make its parts short, and the short ones go around it") {
  constexpr width_rule rule{.widest = 64};
  static_assert(rule.width(1.3, 1) == 1 && rule.width(1.31, 1) == 2 && rule.width(5.3, 1) == 8);
  static_assert(rule.width(1e9, 1) == 64 && width_rule{}.width(1e9, 1) == 1);
  // The mean is 4: 10 are cut over two ranks, and the first of the short ones go to the others.
  const list<told_sample> told{{0, 0, 10}, {1, 1, 3}, {2, 2, 2}, {3, 3, 1}};
  const grouped_deal found = deal_in_groups(told, 4, 4, {.widest = 4});
  CHECK(found.samples == list<dealt_sample>{{0, 0, 2}, {1, 2, 1}, {2, 3, 1}, {3, 3, 1}});
  CHECK(found.loads == list<double>{5, 5, 3, 3});
  CHECK(found.uneven() == 1.25);
  CHECK(deal_in_groups(told, 4, 4).loads == list<double>{10, 3, 2, 1});
  CHECK(deal_in_groups({}, 3, 2).uneven() == 1);
}

TEST_CASE("groups of 32 to 64 ranks are about as even as all ranks, and a tail wants its samples cut") {
  constexpr std::int32_t groups[] = {1, 8, 16, 32, 64, 128, 512};
  struct row {
    double tail;
    width_rule rule;
    double uneven[7];  // docs/plan/order.md has these
  };
  const row rows[] = {{0, {}, {2.13, 1.30, 1.23, 1.20, 1.19, 1.19, 1.19}},
                      {0.02, {}, {34.1, 31.9, 31.9, 31.9, 31.9, 31.9, 31.9}},
                      {0.02, {.widest = 8}, {34.1, 8.01, 4.53, 3.99, 3.99, 3.99, 3.99}},
                      {0.02, {.widest = 512}, {34.1, 8.01, 5.50, 2.79, 2.05, 1.59, 1.28}},
                      {0.1, {.widest = 8}, {14.3, 3.58, 2.63, 1.97, 1.86, 1.76, 1.71}},
                      {0.1, {.widest = 512}, {14.3, 3.58, 2.63, 1.82, 1.71, 1.49, 1.30}}};
  for (const row& each : rows) {
    CAPTURE(&each - rows);
    list<list<told_sample>> draws;
    for (std::uint64_t seed = 0; seed < 3; ++seed) draws.push(drawn(512, 8, each.tail, seed));
    for (std::size_t g = 0; g < std::size(groups); ++g) {
      CAPTURE(groups[g]);
      CHECK(mean_uneven(draws, groups[g], each.rule) == doctest::Approx(each.uneven[g]).epsilon(0.005));
    }
  }
}
