// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/long_short.hpp>
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace motet;

namespace {

struct drawn_rows {
  row_costs costs;
  list<isize> rows;
  std::int32_t parts;
  explicit drawn_rows(std::uint64_t seed) {
    const random_stream draw(seed, "rows of samples");
    parts = static_cast<std::int32_t>(1 + draw.below(0, 4));
    // Whole numbers, so that sums are exact in any order.
    costs = {.row = static_cast<double>(60 * draw.below(1, 3)),
             .pair = static_cast<double>(60 * draw.below(2, 2)),
             .exchanged = static_cast<double>(draw.below(3, 90)),
             .piece = static_cast<double>(draw.below(4, 300)),
             .round = static_cast<double>(draw.below(5, 900))};
    const isize count = draw.below(6, 8);
    for (isize k = 0; k < count; ++k) {
      const auto at = static_cast<std::uint64_t>(7 + 2 * k);
      rows.push(draw.below(at, 4) == 0 ? 40 + draw.below(at + 1, 60) : draw.below(at + 1, 12));
    }
  }
};

// The longest rank, where samples from `long_rows` on are cut and others are at these homes.
double seconds_of(const drawn_rows& of, const std::vector<bool>& cut, const list<std::int32_t>& homes) {
  std::vector<double> ranks(static_cast<std::size_t>(of.parts), 0.0);
  bool any = false;
  for (isize s = 0; s < of.rows.size(); ++s) {
    const isize n = of.rows[s];
    if (!cut[static_cast<std::size_t>(s)]) ranks[static_cast<std::size_t>(homes[s])] += of.costs.whole(n);
    else if (n > 0)
      for (double& each : ranks) each += of.costs.cut(n, of.parts);
    any = any || (cut[static_cast<std::size_t>(s)] && n > 0);
  }
  return *std::max_element(ranks.begin(), ranks.end()) + (any ? of.costs.round : 0);
}
// The shortest of all homes of those that are not cut.
double best_homes(const drawn_rows& of, const std::vector<bool>& cut, list<std::int32_t>& homes,
                  isize sample) {
  if (sample == of.rows.size()) return seconds_of(of, cut, homes);
  double best = HUGE_VAL;
  for (homes[sample] = 0; homes[sample] < (cut[static_cast<std::size_t>(sample)] ? 1 : of.parts);
       ++homes[sample])
    best = std::min(best, best_homes(of, cut, homes, sample + 1));
  homes[sample] = 0;
  return best;
}
std::vector<bool> cut_from(const drawn_rows& of, isize long_rows) {
  std::vector<bool> cut;
  for (const isize n : of.rows) cut.push_back(n >= long_rows);
  return cut;
}
// Graham's rule by itself, for one threshold.
double dealt(const drawn_rows& of, isize long_rows) {
  const std::vector<bool> cut = cut_from(of, long_rows);
  std::vector<isize> order;
  for (isize s = 0; s < of.rows.size(); ++s)
    if (!cut[static_cast<std::size_t>(s)]) order.push_back(s);
  std::stable_sort(order.begin(), order.end(), [&](isize a, isize b) { return of.rows[a] > of.rows[b]; });
  list<std::int32_t> homes(of.rows.size(), 0);
  std::vector<double> loads(static_cast<std::size_t>(of.parts), 0.0);
  for (const isize s : order) {
    const auto least = std::min_element(loads.begin(), loads.end());
    homes[s] = static_cast<std::int32_t>(least - loads.begin());
    *least += of.costs.whole(of.rows[s]);
  }
  return seconds_of(of, cut, homes);
}

}  // namespace

TEST_CASE("no threshold is shorter, with homes by the same rule; and what is said is what it takes") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const drawn_rows of(seed);
    const long_short found = find_long_short(of.costs, of.rows, of.parts);
    double best = HUGE_VAL;
    for (isize from = 0; from <= 101; ++from) best = std::min(best, dealt(of, from));
    CHECK(found.seconds == doctest::Approx(best).epsilon(1e-12));
    const std::vector<bool> cut = cut_from(of, found.long_rows);
    for (isize s = 0; s < of.rows.size(); ++s)
      CHECK((found.homes[s] < 0) == cut[static_cast<std::size_t>(s)]);
    CHECK(found.seconds == doctest::Approx(seconds_of(of, cut, found.homes)).epsilon(1e-12));
  }
}

TEST_CASE("of all ways to cut some and to place others, none is shorter by more than the rule for homes") {
  double worst = 1;
  int exact = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    drawn_rows of(seed);
    if (of.rows.size() > 6) of.rows.resize(6);
    if (of.parts > 3) of.parts = 3;
    double best = HUGE_VAL;
    const auto count = static_cast<std::size_t>(of.rows.size());
    for (std::size_t which = 0; which < (std::size_t{1} << count); ++which) {
      std::vector<bool> cut;
      for (std::size_t s = 0; s < count; ++s) cut.push_back((which >> s & 1) == 1);
      list<std::int32_t> homes(of.rows.size(), 0);
      best = std::min(best, best_homes(of, cut, homes, 0));
    }
    const double found = find_long_short(of.costs, of.rows, of.parts).seconds;
    CHECK(found >= best * (1 - 1e-12));
    if (best > 0) worst = std::max(worst, found / best);
    exact += found <= best * (1 + 1e-12) ? 1 : 0;
  }
  CHECK(worst <= 1.02);
  CHECK(exact >= 119);
}

TEST_CASE(
    "a sample for which no rank has room is cut, and of equal thresholds that which cuts least is taken") {
  const row_costs free{.row = 1};
  // Without an exchange nothing speaks against cutting; six rows on each of two ranks stay whole.
  const long_short even = find_long_short(free, {6, 6}, 2);
  CHECK(even.long_rows == 7);
  CHECK(even.seconds == 6);
  CHECK(even.homes == list<std::int32_t>{0, 1});
  const row_costs dear{.row = 1, .exchanged = 100};
  CHECK(find_long_short(dear, {9, 3}, 2).long_rows == 10);
  const long_short full = find_long_short(dear, {9, 3}, 2, 8);
  CHECK(full.long_rows == 4);
  CHECK(full.homes == list<std::int32_t>{-1, 0});
  // Three rows beside five of the long one would be eight.
  CHECK(find_long_short(dear, {9, 3}, 2, 7).long_rows == 0);
  CHECK(find_long_short(dear, {}, 2).seconds == 0);
  CHECK(find_long_short(dear, {0, 0}, 2).seconds == 0);
}
