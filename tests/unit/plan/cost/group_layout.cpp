// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/group_layout.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

cluster_facts boxes(std::int32_t nodes, std::int32_t devices) {
  cluster_facts out;
  out.nodes = nodes;
  out.devices_per_node = devices;
  return out;
}
list<std::int32_t> row(std::int32_t first, std::int32_t count, std::int32_t step = 1) {
  list<std::int32_t> out;
  for (std::int32_t i = 0; i < count; ++i) out.push(first + i * step);
  return out;
}

}  // namespace

TEST_CASE("a group in one node, over nodes, and with one rank in each") {
  const cluster_facts on = boxes(8, 8);
  CHECK(layout_of(row(8, 8), on) == group_layout{1, 8, 1});
  CHECK(layout_of(row(0, 16), on) == group_layout{2, 8, 1});
  CHECK(layout_of(row(4, 8), on) == group_layout{2, 4, 1});
  CHECK(layout_of(row(3, 8, 8), on) == group_layout{8, 1, 1});
  CHECK(layout_of({63, 0, 8, 1}, on) == group_layout{3, 2, 1});
  CHECK(layout_of({}, on) == group_layout{});
  CHECK(layout_of({17}, on) == group_layout{});
}
