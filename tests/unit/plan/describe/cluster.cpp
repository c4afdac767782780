// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/cluster.hpp>

#include <doctest/doctest.h>

using namespace motet;
using doctest::Approx;

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

static_assert(efficiency_curve{.best = 0.8}.of(1, 1) == 0.8);
static_assert(efficiency_curve{.best = 0.8, .half_rows = 64}.of(64, 1) == 0.4);
static_assert(efficiency_curve{.best = 0.8, .half_rows = 64, .half_columns = 32}.of(64, 32) == 0.2);

TEST_CASE("large products come near the best, short sides take their share") {
  constexpr efficiency_curve curve{.best = 0.7, .half_rows = 100, .half_columns = 300};
  CHECK(curve.of(1e9, 1e9) == Approx(0.7));
  CHECK(curve.of(100, 1e9) == Approx(0.35));
  CHECK(curve.of(1e9, 300) == Approx(0.35));
  // A side that is not known costs nothing.
  CHECK(curve.of(0, 1e9) == Approx(0.7));
  CHECK(curve.of(1e9, 0) == Approx(0.7));
}

TEST_CASE("a longer side is never less efficient, and a product cut in two never takes half the time") {
  constexpr efficiency_curve curve{.best = 0.6, .half_rows = 48, .half_columns = 200};
  const auto seconds = [&](double rows, double columns) { return rows * columns / curve.of(rows, columns); };
  for (double rows = 1; rows < 1e5; rows *= 1.7) {
    for (double columns = 1; columns < 1e5; columns *= 1.7) {
      CHECK(curve.of(rows * 1.7, columns) > curve.of(rows, columns));
      CHECK(curve.of(rows, columns * 1.7) > curve.of(rows, columns));
      CHECK(curve.of(rows, columns) < curve.best);
      CHECK(seconds(rows, columns / 2) > seconds(rows, columns) / 2);
      CHECK(seconds(rows / 2, columns) > seconds(rows, columns) / 2);
      CHECK(seconds(rows, columns / 2) < seconds(rows, columns));
    }
  }
}

namespace {

constexpr node_run slower() {
  node_run of = boxes.run(0);
  of.device.name = "old gpu";
  of.between.latency = 2e-5;
  return of;
}
constexpr cluster_facts added(std::initializer_list<node_run> runs) {
  cluster_facts of = boxes;
  for (const node_run& each : runs)
    if (!of.add(2, each)) return cluster_facts();
  return of;
}
constexpr cluster_facts mixed = added({slower(), boxes.run(0), slower()});

}  // namespace

// Nodes 0 to 2, 5 and 6 are of one kind, the others of another.
static_assert(mixed.nodes == 9 && mixed.devices() == 36 && mixed.runs() == 4 && mixed.kinds() == 2);
static_assert(mixed.kind(0) == 0 && mixed.kind(2) == 0 && mixed.kind(3) == 1 && mixed.kind(5) == 0 &&
              mixed.kind(8) == 1);
static_assert(mixed.run(4).device == slower().device && mixed.run(6).device == boxes.device);
static_assert(mixed.of_kind(1).between == slower().between && mixed.of_kind(0).between == boxes.between);
static_assert(mixed.nodes_of_run(1).first == 3 && mixed.nodes_of_run(3).end == 9);
static_assert(mixed.all_kinds() == 3 && mixed.kind_bit(3) == 2 && boxes.all_kinds() == 1);

TEST_CASE("nodes that are like the last ones make its run longer, so one kind is one kind however written") {
  cluster_facts longer = boxes;
  longer.nodes = 7;
  CHECK(added({boxes.run(0), boxes.run(0)}) == longer);
  CHECK(added({slower(), slower()}).runs() == 2);
}

TEST_CASE("a cluster has room for so many runs of unlike nodes") {
  cluster_facts of = boxes;
  for (motet::isize r = 1; r < cluster_facts::most_runs; ++r)
    CHECK(of.add(1, r % 2 == 1 ? slower() : boxes.run(0)));
  const cluster_facts full = of;
  CHECK_FALSE(of.add(1, of.run(of.nodes - 2)));
  CHECK(of == full);
  CHECK(of.add(1, of.run(of.nodes - 1)));
}
