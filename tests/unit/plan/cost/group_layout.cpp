// SPDX-License-Identifier: Apache-2.0
#include "schedule_laws.hpp"

#include <motet/plan/cost/group_layout.hpp>

#include <doctest/doctest.h>

#include <map>
#include <set>

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

TEST_CASE("replicas of a tensor group share the way out of their nodes, groups inside of nodes do not") {
  const cluster_facts on = boxes(4, 8);
  list<list<std::int32_t>> sums, tensors;
  for (std::int32_t place = 0; place < 8; ++place) sums.push(row(place, 4, 8));
  for (std::int32_t node = 0; node < 4; ++node) tensors.push(row(8 * node, 8));
  for (const group_layout& each : layouts_of(sums, on)) CHECK(each == group_layout{4, 1, 8});
  for (const group_layout& each : layouts_of(tensors, on)) CHECK(each == group_layout{1, 8, 1});
  // One group that crosses beside one that does not.
  const list<group_layout> both = layouts_of({row(0, 16), row(16, 8), row(20, 8), row(24, 8, 1)}, on);
  CHECK(both[0] == group_layout{2, 8, 1});
  CHECK(both[1] == group_layout{1, 8, 1});
  CHECK(both[2] == group_layout{2, 4, 1});
  CHECK(both[3] == group_layout{1, 8, 1});
}

TEST_CASE("random groups, counted again") {
  laws::dice roll(3);
  for (int n = 0; n < 500; ++n) {
    const cluster_facts on = boxes(roll.between(1, 6), roll.between(1, 6));
    list<list<std::int32_t>> groups;
    std::vector<std::map<int, int>> held;
    for (int g = roll.between(1, 5); g > 0; --g) {
      std::set<int> ranks;
      for (int r = roll.between(1, 8); r > 0; --r) ranks.insert(roll.below(on.devices()));
      list<std::int32_t> own;
      for (const int r : ranks) own.push(r);
      std::swap(own[0], own[own.size() - 1]);
      groups.push(own);
      std::map<int, int>& nodes = held.emplace_back();
      for (const int r : ranks) ++nodes[r / on.devices_per_node];
    }
    const list<group_layout> found = layouts_of(groups, on);
    for (motet::index g = 0; g < groups.size(); ++g) {
      const auto& own = held[static_cast<std::size_t>(g)];
      int most = 0, sharers = 1;
      for (const auto& [node, count] : own) {
        most = std::max(most, count);
        if (own.size() == 1) continue;
        int here = 0;
        for (const auto& other : held) here += other.size() > 1 && other.count(node) > 0 ? 1 : 0;
        sharers = std::max(sharers, here);
      }
      CHECK(found[g] == group_layout{static_cast<int>(own.size()), most, sharers});
      CHECK(layout_of(groups[g], on) == group_layout{static_cast<int>(own.size()), most, 1});
      CHECK(found[g].ranks() >= groups[g].size());
    }
  }
}
