// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/search/place.hpp>

#include <doctest/doctest.h>

#include "schedule_laws.hpp"

#include <algorithm>
#include <vector>

namespace {

using namespace motet;

cluster_facts nodes_of(std::int32_t nodes, std::int32_t devices) {
  cluster_facts out;
  out.nodes = nodes;
  out.devices_per_node = devices;
  out.between = {0, 1e9};
  return out;
}

// Counts what leaves the busiest node, message by message.
double counted(const list<seating>& towers, const list<list<std::int32_t>>& ranks, const cluster_facts& on) {
  std::vector<double> bytes(static_cast<std::size_t>(on.nodes), 0);
  const auto add = [&](std::int32_t node, double more) { bytes[static_cast<std::size_t>(node)] += more; };
  for (motet::isize k = 0; k < towers.size(); ++k) {
    const mesh own(towers[k].split, ranks[k]);
    for (motet::isize i = 0; i < ranks[k].size(); ++i) {
      mesh_position at = own.position(i);
      if (at.stage + 1 < towers[k].split.stages) {
        mesh_position next = at;
        ++next.stage;
        const std::int32_t a = on.node(own.rank(at)), b = on.node(own.rank(next));
        if (a != b) {
          add(a, towers[k].boundary_bytes);
          add(b, towers[k].boundary_bytes);
        }
      }
      if (at.replica != 0 || at.context != 0) continue;
      std::vector<std::int32_t> met;
      for (at.replica = 0; at.replica < towers[k].split.data; ++at.replica)
        for (at.context = 0; at.context < towers[k].split.context; ++at.context)
          met.push_back(on.node(own.rank(at)));
      std::sort(met.begin(), met.end());
      met.erase(std::unique(met.begin(), met.end()), met.end());
      const double share = static_cast<double>(met.size() - 1) / static_cast<double>(met.size());
      for (const std::int32_t node : met) add(node, 2 * share * towers[k].gradient_bytes);
    }
  }
  return *std::max_element(bytes.begin(), bytes.end());
}

void legal(const seat_layout& of, const list<seating>& towers, const cluster_facts& on) {
  const cluster_shape shape{on.devices(), on.devices_per_node};
  std::vector<int> owners(static_cast<std::size_t>(on.devices()), 0);
  for (motet::isize k = 0; k < towers.size(); ++k) {
    CHECK(check(mesh(towers[k].split, of.ranks[k]), shape).ok());
    for (const std::int32_t rank : of.ranks[k]) {
      if (towers[k].with < 0) CHECK(++owners[static_cast<std::size_t>(rank)] == 1);
      else CHECK(std::count(of.ranks[towers[k].with].begin(), of.ranks[towers[k].with].end(), rank) == 1);
    }
  }
  CHECK(of.node_bytes == doctest::Approx(counted(towers, of.ranks, on)));
}

}  // namespace

TEST_CASE("a vision tower of four replicas and stages beside text, as in the paper's second figure") {
  // 3 x (tensor 4, 4 stages) + 4 x (tensor 2, 2 stages) on 8 nodes of 8.
  const cluster_facts on = nodes_of(8, 8);
  const list<seating> towers{{{4, 3, 1, 4}, 1e6, 1e9}, {{2, 4, 1, 2}, 1e6, 1e9}};
  const list<seat_layout> all = seat_layouts(towers, on);
  REQUIRE(!all.empty());
  for (const seat_layout& each : all) legal(each, towers, on);
  for (motet::isize i = 1; i < all.size(); ++i) CHECK(all[i - 1].node_bytes <= all[i].node_bytes);
}

TEST_CASE("heavy gradients keep replicas in a node, heavy rows keep stages") {
  const cluster_facts on = nodes_of(2, 4);
  const seat_layout replicas = seat_layouts({{{2, 4, 1, 1}, 1, 1e6}}, on)[0],
                    stages = seat_layouts({{{2, 4, 1, 1}, 1e6, 1}}, on)[0];
  CHECK(replicas.ranks[0] == list<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(replicas.node_bytes == 4);
  CHECK(stages.ranks[0] == list<std::int32_t>{0, 2, 4, 6, 1, 3, 5, 7});
  CHECK(stages.node_bytes == 2);
}

TEST_CASE("large tensor groups choose first, and none lies on two nodes") {
  const cluster_facts on = nodes_of(2, 8);
  const list<seating> towers{{{1, 3, 1, 1}, 0, 1}, {{1, 1, 1, 8}, 0, 1}, {{1, 1, 1, 4}, 0, 1}};
  const list<seat_layout> all = seat_layouts(towers, on);
  REQUIRE(!all.empty());
  for (const seat_layout& each : all) legal(each, towers, on);
  CHECK(seat_layouts({{{1, 2, 1, 3}, 0, 1}, {{1, 1, 1, 4}, 0, 1}}, nodes_of(2, 4)).empty());
  CHECK(seat_layouts({{{1, 1, 1, 16}, 0, 1}}, on).empty());
}

TEST_CASE("a tower on the last ranks of another") {
  const cluster_facts on = nodes_of(2, 4);
  const list<seating> towers{{{2, 4, 1, 1}, 1, 5}, {{1, 1, 1, 2}, 1, 5, 0}, {{1, 8, 1, 1}, 1, 5, 0}};
  for (const seat_layout& each : seat_layouts(towers, on)) legal(each, towers, on);
  REQUIRE(!seat_layouts(towers, on).empty());
  CHECK(seat_layouts({{{1, 2, 1, 1}}, {{1, 3, 1, 1}, 0, 0, 0}}, on).empty());
}

TEST_CASE("one node leaves one choice") {
  CHECK(seat_layouts({{{2, 2, 1, 1}, 1, 1}, {{2, 2, 1, 1}, 1, 1}}, nodes_of(1, 8)).size() == 1);
}

TEST_CASE("drawn towers: legal, without doubles, and seldom worse than the best of all seats") {
  laws::dice roll(11);
  int compared = 0, best = 0;
  for (int round = 0; round < 150; ++round) {
    const cluster_facts on = nodes_of(2, 4);
    list<seating> towers;
    isize used = 0;
    for (int k = roll.between(1, 3); k > 0; --k) {
      const degrees split{roll.between(1, 3), roll.between(1, 3), 1, 1};
      if (used + split.size() > 8) continue;
      used += split.size();
      towers.push(
          {split, static_cast<double>(roll.between(0, 20)), static_cast<double>(roll.between(1, 20))});
    }
    if (towers.empty()) continue;
    const list<seat_layout> all = seat_layouts(towers, on);
    REQUIRE(!all.empty());
    for (const seat_layout& each : all) legal(each, towers, on);
    // Every way to say which of two nodes each position is on.
    double least = 1e300;
    for (unsigned bits = 0; bits < 1u << used; ++bits) {
      std::int32_t next[2] = {0, 4};
      list<list<std::int32_t>> ranks;
      unsigned position = 0;
      for (const seating& each : towers) {
        list<std::int32_t> own;
        for (motet::isize i = 0; i < each.split.size(); ++i, ++position)
          own.push(next[bits >> position & 1u]++);
        ranks.push(own);
      }
      if (next[0] <= 4 && next[1] <= 8) least = std::min(least, counted(towers, ranks, on));
    }
    ++compared;
    if (all[0].node_bytes <= least * (1 + 1e-12)) ++best;
    CHECK(all[0].node_bytes <= 2 * least + 1e-9);
  }
  MESSAGE(best << " of " << compared << " are best");
  CHECK(best * 10 >= compared * 9);
}
