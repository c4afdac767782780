// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/fill_microbatches.hpp>
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace motet;

namespace {

double spread(const hands& of, const list<double>& costs) {
  const list<double> loads = loads_of(of, costs);
  return *std::max_element(loads.begin(), loads.end()) * static_cast<double>(loads.size()) /
         std::max(1e-30, std::accumulate(loads.begin(), loads.end(), 0.0));
}

}  // namespace

TEST_CASE(
    "each sample is in one microbatch or left over, no microbatch has too many rows, pictures are even") {
  double even = 0, in_turn = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const random_stream chance(seed, "samples");
    sample_sizes sizes;
    const auto count = static_cast<std::int32_t>(chance.below(0, 200));
    for (std::int32_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::uint64_t>(2 * i);
      sizes.rows.push(std::floor(200 * std::exp(0.6 * chance.normal(at))));
      sizes.pictures.push(i % 3 == 0 ? 0 : std::exp(0.6 * chance.normal(at + 1)));
    }
    const double most = 8192;
    const filled_microbatches made = fill_microbatches(sizes, 8, most);
    list<std::int32_t> seen(count, 0);
    for (const auto& each : made.microbatches)
      for (const std::int32_t sample : each) ++seen[sample];
    for (const std::int32_t sample : made.left_over) ++seen[sample];
    CAPTURE(seed);
    CHECK(std::all_of(seen.begin(), seen.end(), [](std::int32_t times) { return times == 1; }));
    const list<double> rows = loads_of(made.microbatches, sizes.rows);
    CHECK(std::all_of(rows.begin(), rows.end(), [&](double each) { return each <= most; }));
    for (const std::int32_t sample : made.left_over)
      CHECK(std::all_of(rows.begin(), rows.end(),
                        [&](double each) { return each + sizes.rows[sample] > most; }));
    if (count < 64) continue;
    hands turns(8);
    for (std::int32_t i = 0; i < count; ++i) turns[i % 8].push(i);
    even += spread(made.microbatches, sizes.pictures);
    in_turn += spread(turns, sizes.pictures);
  }
  CHECK(even < 0.9 * in_turn);
}

TEST_CASE("what has no room is left over") {
  const filled_microbatches made = fill_microbatches({{6, 6, 4, 4, 11}, {1, 2, 0, 0, 9}}, 2, 10);
  CHECK(made.microbatches[0] == list<std::int32_t>{1, 3});
  CHECK(made.microbatches[1] == list<std::int32_t>{0, 2});
  CHECK(made.left_over == list<std::int32_t>{4});
}
