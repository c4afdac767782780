// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/search/seats.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;

namespace {

cluster_facts two_nodes() {
  cluster_facts out;
  out.nodes = 2;
  out.devices_per_node = 4;
  out.between = {0, 1e9};
  return out;
}
list<std::int32_t> all_ranks(const cluster_facts& on) {
  list<std::int32_t> out;
  for (std::int32_t r = 0; r < on.devices(); ++r) out.push(r);
  return out;
}

}  // namespace

TEST_CASE("what is taken at once lies in one node") {
  const cluster_facts on = two_nodes();
  detail::free_ranks left(on, all_ranks(on));
  list<std::int32_t> out;
  CHECK(left.take(3, out));
  CHECK(left.take(3, out));
  CHECK(out == list<std::int32_t>{0, 1, 2, 4, 5, 6});
  CHECK_FALSE(left.take(2, out));  // one is left in each node
  CHECK(left.take(1, out));
  CHECK(left.take(1, out));
  CHECK_FALSE(left.take(1, out));
}

TEST_CASE("stages or replicas lie side by side") {
  const cluster_facts on = two_nodes();
  const degrees split{.stages = 2, .data = 2, .tensor = 2};
  detail::free_ranks left(on, all_ranks(on)), again(on, all_ranks(on)), third(on, all_ranks(on));
  CHECK(detail::seat({split}, {false, false}, left) == list<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(detail::seat({split}, {true, false}, again) == list<std::int32_t>{0, 1, 4, 5, 2, 3, 6, 7});
  CHECK(detail::seat({{.data = 2, .tensor = 5}}, {}, third).empty());
}

TEST_CASE("what leaves a node: rows of stages that lie apart, sums over nodes, and features once") {
  const cluster_facts on = two_nodes();
  const seating stages{{.stages = 2}, 10, 7}, replicas{{.data = 2}, 10, 7};
  CHECK(detail::busiest_node({stages}, {{0, 1}}, on) == 0);
  CHECK(detail::busiest_node({stages}, {{0, 4}}, on) == 10);
  CHECK(detail::busiest_node({replicas}, {{0, 1}}, on) == 0);
  CHECK(detail::busiest_node({replicas}, {{0, 4}}, on) == 7);  // 2 (n - 1) / n of its gradients
}
