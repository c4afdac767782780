// SPDX-License-Identifier: Apache-2.0
#include "drawn_quotas.hpp"

#include <motet/plan/quotas/quota_question.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("backward waits for its sums, and makes its samples again where nothing else fits") {
  quota_question asked = drawn_quotas(2, 1, false);
  asked.devices = 4;
  quota_module& own = asked.modules[0];
  own.standing_bytes = 10, own.kept_bytes = 2, own.sends_bytes = 0.5;
  const quota_times kept(asked), again(asked, true);
  const std::int32_t whole = asked.chip.rungs();
  CHECK(kept.phase(0, true, 1, whole) == own.backward.seconds(64, 132));
  const double sums = all_reduce_seconds(own.sum_bytes, {.nodes = 1, .per_node = 4}, asked.wires);
  CHECK(kept.phase(0, true, 4, 8) == doctest::Approx(own.backward.seconds(16, 64) + 0.2 * sums));
  CHECK(again.phase(0, true, 1, 8) == doctest::Approx(kept.both(0, 1, 8)));
  CHECK(kept.bytes(0, 3) == 10 + 2 * 22);
  CHECK(again.bytes(0, 4) == 10 + 0.5 * 16);
}
