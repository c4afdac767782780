// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/long_rows_of_step.hpp>
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <vector>

using namespace motet;

namespace {

// Turns of one or two cells, samples of any length, and room for some rows more than even parts have, or for
// any.
struct drawn_step {
  row_costs costs;
  seated_rows of;
  explicit drawn_step(std::uint64_t seed) {
    const random_stream draw(seed, "seated rows");
    std::uint64_t at = 0;
    const auto below = [&](isize count) {
      return static_cast<isize>(draw.below(at++, static_cast<std::uint32_t>(count)));
    };
    // Whole numbers of twelfths, so that sums are exact in any order.
    costs = {.row = static_cast<double>(12 * (1 + below(3))),
             .pair = static_cast<double>(12 * below(2)),
             .exchanged = static_cast<double>(below(40)),
             .piece = static_cast<double>(below(300)),
             .round = static_cast<double>(below(900))};
    of.cut = {.parts = 1 + below(4), .balanced = below(2) == 0};
    const isize turns = 1 + below(3), cells = 1 + below(2);
    for (isize k = below(9); k > 0; --k) {
      const auto turn = static_cast<std::int32_t>(below(turns));
      of.samples.push({below(4) == 0 ? 30 + below(40) : below(10), turn,
                       static_cast<std::int32_t>(turn * cells + below(cells)),
                       static_cast<std::int32_t>(below(of.cut.parts))});
    }
    if (below(2) == 0) return;
    of.room.resize(turns * cells * of.cut.parts, below(25));
    for (const auto& each : of.samples)
      for (isize p = 0; p < of.cut.parts; ++p)
        of.room[each.cell * of.cut.parts + p] += of.cut.rows_of(each.rows, p);
  }
};

// The longest ranks of all turns, where this is long: as the words say it; below 0 where there is no room.
double seconds_of(const drawn_step& step, isize long_rows) {
  row_parts cut = step.of.cut;
  cut.long_rows = long_rows;
  std::map<std::int32_t, std::vector<double>> turns;
  std::map<std::int32_t, bool> any;
  std::vector<isize> rows(static_cast<std::size_t>(step.of.room.size()), 0);
  for (const auto& each : step.of.samples) {
    auto& ranks = turns[each.turn];
    ranks.resize(static_cast<std::size_t>(cut.parts), 0);
    cut.home = each.home;
    const bool whole = each.rows < long_rows;
    any[each.turn] = any[each.turn] || (!whole && each.rows > 0);
    for (isize p = 0; p < cut.parts; ++p) {
      if (!rows.empty())
        rows[static_cast<std::size_t>(each.cell * cut.parts + p)] += cut.rows_of(each.rows, p);
      ranks[static_cast<std::size_t>(p)] +=
          whole ? (p == each.home ? step.costs.whole(each.rows) : 0) : step.costs.cut(each.rows, cut.parts);
    }
  }
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (rows[k] > step.of.room[static_cast<isize>(k)]) return -1;
  double sum = 0;
  for (const auto& [turn, ranks] : turns)
    sum += *std::max_element(ranks.begin(), ranks.end()) + (any[turn] ? step.costs.round : 0);
  return sum;
}

}  // namespace

TEST_CASE("no other number of rows makes the longest ranks of a step shorter") {
  int mixed = 0, tight = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const drawn_step step(seed);
    const isize found = find_long_rows(step.costs, step.of);
    const double seconds = seconds_of(step, found);
    REQUIRE(seconds >= 0);
    double least = seconds_of(step, 0);
    for (isize from = 0; from <= 72; ++from)
      if (const double takes = seconds_of(step, from); takes < 0) ++tight;
      else least = std::min(least, takes);
    CHECK(seconds == doctest::Approx(least).epsilon(1e-12));
    bool cut = false, whole = false;
    for (const auto& each : step.of.samples) (each.rows >= found ? cut : whole) = each.rows > 0;
    mixed += cut && whole ? 1 : 0;
  }
  CHECK(mixed > 40);
  CHECK(tight > 1000);
}

TEST_CASE("of equal numbers that which cuts least is found") {
  CHECK(find_long_rows({.row = 1}, {{.parts = 2}, {{6, 0, 0, 0}, {6, 0, 0, 1}}}) == 7);
  // One rank would have both.
  CHECK(find_long_rows({.row = 1}, {{.parts = 2}, {{6, 0, 0, 0}, {6, 0, 0, 0}}}) == 0);
  CHECK(find_long_rows({.row = 1}, {{.parts = 2}, {{6, 0, 0, 0}, {6, 1, 1, 0}}}) == 0);
  CHECK(find_long_rows({.row = 1}, {{.parts = 2}, {}}) == 0);
  CHECK(find_long_rows({.row = 1}, {{.parts = 2}, {{0, 0, 0, 1}}}) == 1);
}
