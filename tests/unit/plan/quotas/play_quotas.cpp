// SPDX-License-Identifier: Apache-2.0
#include "drawn_quotas.hpp"

#include <motet/plan/quotas/play_quotas.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a demand above the memory's rate slows by that much, and a measured pair says more") {
  quota_question asked;
  for (const char* const name : {"one", "other"}) {
    quota_module made{.name = name};
    made.forward.classes = {{.lines = {{.scaled = 56, .knee = 56}}}};
    made.forward.bytes_each = 75;
    asked.modules.push_back(made);
  }
  asked.limits = {.bytes_per_second = 100, .usable = 1};
  const quota_wave halves{{0, 1, 7}, {1, 1, 7}};
  const auto seconds = [&] { return seconds_of_wave(quota_times(asked), halves); };
  CHECK(seconds() == doctest::Approx(1.5));
  asked.limits.bytes_per_second = 200;
  CHECK(seconds() == doctest::Approx(1));
  asked.pairs.push({"one", "other", 1, {{0.5, 7, 7, 1.25, 1.2}}});
  // The second ends first, then the first goes on alone: what is left of it is 1 - 1.2 / 1.25.
  CHECK(seconds() == doctest::Approx(1.2 + (1 - 1.2 / 1.25)));
}
