// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/expert_load.hpp>
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;
using doctest::Approx;

TEST_CASE("one rank has its even share, and several about two deviations more") {
  CHECK(heaviest_by_lot(1000, 1) == 1);
  CHECK(heaviest_by_lot(0, 8) == 1);
  // A deviation is sqrt(7 / 700) = 0.1 of an even share, times sqrt(2 ln 8) = 2.0393.
  CHECK(heaviest_by_lot(700, 8) == Approx(1.20393).epsilon(1e-5));
  // sqrt(1 / 10000) = 0.01, times sqrt(2 ln 2) = 1.17741.
  CHECK(heaviest_by_lot(10000, 2) == Approx(1.0117741).epsilon(1e-7));
  // No rank has more than all.
  CHECK(heaviest_by_lot(0.5, 4) == 4);
}

TEST_CASE("drawn choices are dealt less unevenly on average, and half as much at least") {
  const random_stream draw(5, "choices");
  std::uint64_t at = 0;
  for (const std::uint32_t ranks : {2u, 8u, 32u})
    for (const int choices : {512, 4096}) {
      CAPTURE(ranks);
      CAPTURE(choices);
      double sum = 0;
      constexpr int times = 60;
      for (int i = 0; i < times; ++i) {
        std::vector<int> has(ranks, 0);
        for (int c = 0; c < choices; ++c) ++has[draw.below(at++, ranks)];
        sum += *std::max_element(has.begin(), has.end()) * static_cast<double>(ranks) / choices - 1;
      }
      const double told = heaviest_by_lot(choices, static_cast<std::int32_t>(ranks)) - 1;
      CHECK(sum / times < told);
      CHECK(sum / times > 0.4 * told);
    }
}

TEST_CASE("what a description says comes first, then what was measured, then the lot") {
  tower_outline of{.name = "of", .layers = 2, .width = 16, .heads = 4, .tokens = 64};
  const degrees split{.context = 2, .tensor = 2};
  CHECK(with_load(of, 4, split, nullptr, {}).uneven == 0);
  of.experts = 8, of.chosen = 2, of.sharers = 4;
  // Four samples of each of four replicas have 32 rows in a context part: 1,024 choices among eight ranks.
  CHECK(with_load(of, 4, split, nullptr, {}).uneven ==
        Approx(1 + std::sqrt(7.0 / 1024) * 2.0393).epsilon(1e-5));
  CHECK(with_load(of, 16, split, nullptr, {}).uneven - 1 ==
        Approx((with_load(of, 4, split, nullptr, {}).uneven - 1) / 2));
  CHECK(with_load(of, 4, {}, nullptr, {}).uneven < with_load(of, 4, split, nullptr, {}).uneven);
  machine_profile measured;
  measured.activation_bytes = training_bytes{}.activation;
  measured.modules.push({of, {{1, 1, {}, {1e-3, 1e-3, 1e-3}, {}}}});
  CHECK(with_load(of, 4, split, &measured, {}).uneven == with_load(of, 4, split, nullptr, {}).uneven);
  measured.modules[0].of.uneven = 1.5;
  CHECK(with_load(of, 4, split, &measured, {}).uneven == 1.5);
  of.uneven = 1.1;
  CHECK(with_load(of, 4, split, &measured, {}).uneven == 1.1);
}
