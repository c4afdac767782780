// SPDX-License-Identifier: Apache-2.0
#include "drawn_quotas.hpp"

#include <motet/plan/quotas/pack_wave.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

using namespace motet;

TEST_CASE("the quotas of two modules on a device are within 3 % of the best of the ladder") {
  double worst = 0;
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    quota_question asked = drawn_quotas(seed, 2, false);
    const quota_times times(asked);
    double best = std::numeric_limits<double>::infinity();
    for (std::int32_t a = 1; a < asked.chip.steps; ++a)
      for (std::int32_t b = 1; a + b <= asked.chip.steps; ++b)
        best = std::min(best, seconds_of_wave(times, {{0, 1, a}, {1, 1, b}}));
    const double found = detail::wave_packer(times, 1, true).pack(3).seconds;
    CAPTURE(seed);
    CHECK(found <= best * 1.03);
    worst = std::max(worst, found / best - 1);
  }
  MESSAGE("at most " << 100 * worst << " % above the best of 105 pairs");
}
