// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/quotas/multiprocessors.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a ladder has all steps that can be shared, and all of the device at its end") {
  const multiprocessors chip = multiprocessors_of(cluster_named("h200").device);
  CHECK(chip.rungs() == 16);
  CHECK(chip.quota(1) == 8);
  CHECK(chip.quota(15) == 120);
  CHECK(chip.quota(16) == 132);
  CHECK_THROWS_WITH_AS(multiprocessors_of(cluster_named("a100").device),
                       doctest::Contains("A100-SXM4-80GB, wanted one of H100 and H200"), std::exception);
}
