// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cluster_presets.hpp>
#include <motet/plan/usual_bytes.hpp>

#include <doctest/doctest.h>

TEST_CASE("16 bytes a parameter everywhere but on V100s, where the published runs had less than 10") {
  using namespace motet;
  const auto sum = [](const training_bytes& of) { return of.weight + of.gradient + of.state; };
  for (const cluster_facts& each : known_clusters) {
    CAPTURE(each.name.view());
    const training_bytes usual = usual_bytes(each);
    if (each.name == "v100") {
      CHECK(sum(usual) < 10);
      CHECK(usual.kept > 1);
      // 1.52 billion parameters, and some samples beside them.
      CHECK(1.52e9 * sum(usual) < 0.8 * each.device.memory_bytes);
    } else {
      CHECK(sum(usual) == 16);
      CHECK(usual.kept == 1);
      CHECK(usual.uncut == 0);
    }
  }
  CHECK(sum(usual_bytes(cluster_named("v100:2x4"))) < 10);
}
