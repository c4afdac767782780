// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/cluster.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr cluster_facts made() {
  cluster_facts of;
  of.name = "boxes";
  of.device.name = "gpu";
  of.nodes = 3;
  of.devices_per_node = 4;
  of.inside = {1e-6, 1e11};
  of.between = {1e-5, 1e9};
  return of;
}
constexpr cluster_facts boxes = made();

}  // namespace

static_assert(boxes.devices() == 12);
static_assert(boxes.node(0) == 0 && boxes.node(3) == 0 && boxes.node(4) == 1 && boxes.node(11) == 2);
static_assert(boxes == boxes && !(boxes == cluster_facts{}));
static_assert(cluster_facts{}.devices() == 1);

TEST_CASE("two clusters are equal when all their numbers are") {
  for (int which = 0; which < 10; ++which) {
    cluster_facts other = boxes;
    switch (which) {
      case 0: other.name = "others"; break;
      case 1: other.device.name = "cpu"; break;
      case 2: other.device.memory_bytes = 1; break;
      case 3: other.device.products.half_rows = 1; break;
      case 4: other.nodes = 2; break;
      case 5: other.devices_per_node = 2; break;
      case 6: other.inside.latency = 0; break;
      case 7: other.between.bytes_per_second = 2e9; break;
      case 8: other.of_device = 1e8; break;
      default: other.bytes.kept = 2;
    }
    CAPTURE(which);
    CHECK(!(other == boxes));
  }
}

TEST_CASE("a cost table with the cluster's wires is quick in a node and slow between nodes") {
  cost_table costs;
  costs.wires = boxes.wires();
  for (std::int32_t from = 0; from < boxes.devices(); ++from)
    for (std::int32_t to = 0; to < boxes.devices(); ++to)
      CHECK(costs.between(from, to) == (boxes.node(from) == boxes.node(to) ? boxes.inside : boxes.between));
}
