// SPDX-License-Identifier: Apache-2.0
#include "schedule_laws.hpp"
#include "unit/plan/collective_player.hpp"

#include <motet/plan/cost/collective_cost.hpp>
#include <motet/plan/describe/cluster_presets.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace motet;
using doctest::Approx;

namespace {

// Any wires, also such as nobody would build.
cluster_facts random_wires(laws::dice& roll) {
  const auto between = [&roll](double least, double most) {
    return least * std::pow(most / least, roll.part());
  };
  cluster_facts out;
  out.inside = {between(1e-7, 1e-4), between(1e9, 1e12)};
  out.between = {between(1e-6, 1e-3), between(1e8, 5e11)};
  if (roll.below(5) == 0) out.inside.latency = out.between.latency = 0;
  if (roll.below(3) == 0) out.of_device = out.between.bytes_per_second / roll.between(1, 8);
  return out;
}
group_layout random_group(laws::dice& roll) {
  return {roll.between(1, 6), roll.between(1, 8), roll.between(1, 4)};
}
double random_bytes(laws::dice& roll) { return std::pow(10.0, 10 * roll.part()); }

// No algorithm can beat this: a node gets what it lacks through its way in, a rank what it lacks through its
// wires.
double floor_of_gather(double bytes, const group_layout& g, const cluster_facts& on) {
  if (g.ranks() == 1) return 0;
  if (g.nodes == 1) return bytes * (g.ranks() - 1) / g.ranks() / on.inside.bytes_per_second;
  return bytes * (g.nodes - 1) / g.nodes * g.sharers / on.between.bytes_per_second;
}

double floor_of_broadcast(double bytes, const group_layout& g, const cluster_facts& on) {
  if (g.nodes == 1) return g.per_node > 1 ? bytes / on.inside.bytes_per_second : 0;
  return std::max(bytes * g.sharers / on.between.bytes_per_second,
                  on.of_device > 0 ? bytes / on.of_device : 0);
}

struct operation {
  std::string name;
  double (*seconds)(double, const group_layout&, const cluster_facts&);
};
const operation operations[] = {{"all_gather", all_gather_seconds},
                                {"reduce_scatter", reduce_scatter_seconds},
                                {"all_reduce", all_reduce_seconds},
                                {"all_to_all", all_to_all_seconds},
                                {"broadcast", broadcast_seconds}};

// Nodes of eight V100 with 25 Gbit/s for all of them.
cluster_facts narrow() {
  cluster_facts out = *find_cluster("v100");
  out.inside = {3.4e-6, 120e9};
  out.between = {30e-6, 3.125e9};
  return out;
}
const cluster_facts v100 = narrow();
const cluster_facts& h100 = *find_cluster("h100");

}  // namespace

TEST_CASE("closed forms of one node and of single ranks in nodes") {
  cluster_facts on;
  on.inside = {0, 100};
  on.between = {0, 10};
  CHECK(all_gather_seconds(800, {1, 8, 1}, on) == Approx(7.0));
  CHECK(reduce_scatter_seconds(800, {1, 8, 1}, on) == Approx(7.0));
  CHECK(all_reduce_seconds(800, {1, 8, 1}, on) == Approx(14.0));
  CHECK(all_to_all_seconds(800, {1, 8, 1}, on) == Approx(7.0));
  CHECK(broadcast_seconds(800, {1, 8, 1}, on) == Approx(8.0));
  CHECK(all_reduce_seconds(80, {4, 1, 1}, on) == Approx(2 * 3.0 / 4 * 8));
  // Eight groups of single ranks share each way out: eight times as long.
  CHECK(all_reduce_seconds(80, {4, 1, 8}, on) == Approx(8 * 2 * 3.0 / 4 * 8));
  // 4 nodes of 8: 3/4 of the bytes into each node, then 7/8 of them in it.
  CHECK(hierarchical_gather_cost(80, {4, 8, 1}, on).seconds == Approx(0.75 * 80 / 10 + 0.875 * 80 / 100));
  CHECK(ring_gather_cost(80, {4, 8, 1}, on).seconds == Approx(31.0 / 32 * 80 / 10));
  CHECK(all_reduce_seconds(80, {4, 8, 1}, on) == Approx(2 * (0.75 * 80 / 10 + 0.875 * 80 / 100)));
  on.inside.latency = 1;
  on.between.latency = 10;
  CHECK(all_gather_seconds(800, {1, 8, 1}, on) == Approx(7 + 7.0));
  CHECK(hierarchical_gather_cost(80, {4, 8, 1}, on).seconds ==
        Approx(3 * 10 + 7 + 0.75 * 80 / 10 + 0.875 * 80 / 100));
  // A few bytes go up and down trees.
  CHECK(all_reduce_seconds(0, {4, 8, 1}, on) == Approx(2 * (2 * 10 + 3 * 1)));
}

TEST_CASE("alone, or with nothing to say") {
  for (const operation& each : operations) {
    CAPTURE(each.name);
    CHECK(each.seconds(1e9, {1, 1, 1}, v100) == 0);
    CHECK(each.seconds(0, {1, 8, 1}, v100) > 0);  // latencies remain
    CHECK(each.seconds(0, {1, 8, 1}, v100) < 1e-4);
  }
  CHECK(broadcast_cost(1e6, {1, 1, 1}, v100) == collective_cost{});
}

TEST_CASE("what is played message by message takes as long as the formulas say, and does what it should") {
  laws::dice roll(5);
  for (int n = 0; n < 400; ++n) {
    const cluster_facts on = random_wires(roll);
    const group_layout g = random_group(roll);
    const double bytes = random_bytes(roll);
    if (g.ranks() == 1) continue;
    CAPTURE(g.nodes);
    CAPTURE(g.per_node);
    CAPTURE(bytes);
    const auto check = [&](const std::vector<played_round>& rounds, collective_cost told) {
      collective_player forward(bytes, g, on), backward(bytes, g, on);
      REQUIRE(forward.gathers(rounds));
      REQUIRE(backward.reduces(rounds));
      CHECK(told.seconds == Approx(forward.seconds()));
      CHECK(told.seconds == Approx(backward.seconds()));
      CHECK(told.node_bytes == Approx(forward.node_bytes()));
      CHECK(told.node_bytes == Approx(backward.node_bytes()));
    };
    check(hierarchical_rounds(g), hierarchical_gather_cost(bytes, g, on));
    // Where one device cannot have a node's whole way out, several rings work side by side; this is one.
    if (on.of_device == 0 || g.per_node == 1) check(ring_rounds(g), ring_gather_cost(bytes, g, on));
    // Down the tree, all parts of rank 0.
    collective_player tree(bytes, g, on);
    static_cast<void>(tree.gathers(tree_rounds(g)));
    CHECK(tree_broadcast_cost(bytes, g, on).seconds == Approx(tree.seconds()));
    CHECK(tree_broadcast_cost(bytes, g, on).node_bytes == Approx(tree.node_bytes()));
  }
}

TEST_CASE("a chain in pieces is as fast as its best number of pieces") {
  laws::dice roll(6);
  for (int n = 0; n < 300; ++n) {
    const cluster_facts on = random_wires(roll);
    const group_layout g = random_group(roll);
    const double bytes = random_bytes(roll);
    if (g.ranks() == 1) continue;
    const double told = chain_broadcast_cost(bytes, g, on).seconds;
    // Piece after piece over hop after hop: a wire takes the next piece when it has sent the one before.
    const auto played = [&](int pieces) {
      const double piece = bytes / pieces;
      std::vector<double> arrived(static_cast<std::size_t>(pieces), 0);
      for (int hop = 1; hop < g.ranks(); ++hop) {
        const bool out = hop % g.per_node == 0;
        const double device = on.of_device > 0 ? piece / on.of_device : 0;
        const double step =
            out ? on.between.latency + std::max(piece * g.sharers / on.between.bytes_per_second, device)
                : on.inside.latency + piece / on.inside.bytes_per_second;
        double free = 0;
        for (double& each : arrived) each = free = std::max(each, free) + step;
      }
      return arrived.back();
    };
    double best = played(1);
    for (const int pieces : {2, 3, 4, 6, 8, 16, 32, 64, 128, 256}) best = std::min(best, played(pieces));
    CAPTURE(g.nodes);
    CAPTURE(g.per_node);
    CHECK(told <= played(1) * (1 + 1e-9));
    if (on.inside.latency == 0) {
      CHECK(told == Approx(played(1 << 14)).epsilon(0.01));
    } else {
      // The formula lets the longest latency and the least rate meet on one wire: never more than the sum of
      // two wires, so twice.
      CHECK(told <= 2 * best * (1 + 1e-9));
      // Every piece waits for all latencies, and all bytes pass the slowest wire.
      const double latencies = (g.ranks() - g.nodes) * on.inside.latency + (g.nodes - 1) * on.between.latency;
      CHECK(told >= (latencies + std::max(g.per_node > 1 ? bytes / on.inside.bytes_per_second : 0,
                                          floor_of_broadcast(bytes, g, on))) *
                        (1 - 1e-9));
    }
  }
  // All wires alike: exactly the best.
  cluster_facts on;
  on.inside = {1e-5, 1e10};
  const auto pieces = [&](double p) { return (7 + p - 1) * (1e-5 + 1e6 / p / 1e10); };
  double best = pieces(1);
  for (double p = 2; p < 200; ++p) best = std::min(best, pieces(p));
  CHECK(chain_broadcast_cost(1e6, {1, 8, 1}, on).seconds == Approx(best).epsilon(1e-12));
}

TEST_CASE(
    "no operation is faster than its bytes through the narrowest wire, and latencies of a tree at least") {
  laws::dice roll(7);
  for (int n = 0; n < 3000; ++n) {
    const cluster_facts on = random_wires(roll);
    const group_layout g = random_group(roll);
    const double bytes = random_bytes(roll), least = floor_of_gather(bytes, g, on) * (1 - 1e-12);
    CHECK(all_gather_seconds(bytes, g, on) >= least);
    CHECK(reduce_scatter_seconds(bytes, g, on) >= least);
    CHECK(all_reduce_seconds(bytes, g, on) >= 2 * least);
    CHECK(all_to_all_seconds(bytes, g, on) >= (g.nodes > 1 ? least * g.per_node : least));
    CHECK(broadcast_seconds(bytes, g, on) >= floor_of_broadcast(bytes, g, on) * (1 - 1e-12));
    const double rounds = std::ceil(std::log2(g.nodes)) * on.between.latency +
                          std::ceil(std::log2(g.per_node)) * on.inside.latency;
    CHECK(all_reduce_seconds(bytes, g, on) >= rounds * (1 - 1e-12));
    CHECK(broadcast_seconds(bytes, g, on) >= rounds * (1 - 1e-12));
  }
}

TEST_CASE(
    "more bytes, more sharers, more nodes, longer latencies and narrower wires never make an operation "
    "faster") {
  laws::dice roll(8);
  for (int n = 0; n < 3000; ++n) {
    cluster_facts on = random_wires(roll);
    on.of_device = 0;  // or more ranks of a node would have more of its way out
    const group_layout g = random_group(roll);
    const double bytes = random_bytes(roll);
    for (const operation& each : operations) {
      CAPTURE(each.name);
      const double now = each.seconds(bytes, g, on) * (1 - 1e-9);
      CHECK(each.seconds(bytes * 1.3, g, on) >= now);
      CHECK(each.seconds(bytes, {g.nodes, g.per_node, g.sharers + 1}, on) >= now);
      // In an exchange between all pairs less stays in each node then.
      if (each.seconds != all_to_all_seconds)
        CHECK(each.seconds(bytes, {g.nodes + 1, g.per_node, g.sharers}, on) >= now);
      cluster_facts worse = on;
      worse.inside.bytes_per_second /= 1.5;
      CHECK(each.seconds(bytes, g, worse) >= now);
      worse.between.bytes_per_second /= 1.5;
      CHECK(each.seconds(bytes, g, worse) >= now);
      worse.of_device = worse.between.bytes_per_second / 3;
      CHECK(each.seconds(bytes, g, worse) >= now);
      worse.inside.latency *= 2;
      worse.between.latency *= 3;
      CHECK(each.seconds(bytes, g, worse) >= now);
    }
  }
}

TEST_CASE("where several devices share a way out, the hierarchy is no slower than a flat ring") {
  laws::dice roll(9);
  int faster = 0;
  for (int n = 0; n < 3000; ++n) {
    cluster_facts on = random_wires(roll);
    on.of_device = 0;
    const group_layout g = random_group(roll);
    const double bytes = random_bytes(roll), flat = ring_gather_cost(bytes, g, on).seconds,
                 two = hierarchical_gather_cost(bytes, g, on).seconds;
    if (g.nodes == 1 || g.per_node == 1) {
      CHECK(two == Approx(flat));
    } else if (on.inside.latency <= g.nodes * on.between.latency &&
               on.inside.bytes_per_second * g.sharers >= g.nodes * on.between.bytes_per_second) {
      // The wires in a node are that much wider than a share of its way out.
      CHECK(two <= flat * (1 + 1e-12));
      ++faster;
    }
    CHECK(all_gather_seconds(bytes, g, on) == std::min(flat, two));
    CHECK(hierarchical_gather_cost(bytes, g, on).node_bytes <=
          ring_gather_cost(bytes, g, on).node_bytes * (1 + 1e-12));
  }
  CHECK(faster > 500);
  // 25 Gbit/s for 8 devices: nearly twice as fast on two nodes, 8 % on the paper's eight.
  CHECK(ring_gather_cost(1e9, {2, 8, 1}, v100).seconds / all_gather_seconds(1e9, {2, 8, 1}, v100) > 1.75);
  CHECK(ring_gather_cost(1e9, {8, 8, 1}, v100).seconds / all_gather_seconds(1e9, {8, 8, 1}, v100) > 1.08);
}

TEST_CASE("features of a large batch cross 25 Gbit/s once for each node, or once for each of its 8 devices") {
  const double bytes = 32768.0 * 1024 * 2;
  const group_layout half{4, 8, 1};
  CHECK(bytes / v100.between.bytes_per_second == Approx(21.5e-3).epsilon(0.01));
  const double each = fetched_cost(bytes, half, half, v100).seconds,
               once = deliver_seconds(bytes, half, half, v100);
  CHECK(each == Approx(172e-3).epsilon(0.01));
  CHECK(once > 21.4e-3);
  CHECK(once < 22.5e-3);
  // A gather of all 64: 7 of 8 parts come from elsewhere.
  CHECK(all_gather_seconds(bytes, {8, 8, 1}, v100) ==
        Approx(7.0 / 8 * 21.47e-3 + 7.0 / 8 * bytes / 120e9).epsilon(0.02));
  // With a network card for each device nothing is shared: 50 Gbyte/s of its own for each.
  CHECK(fetched_cost(bytes, half, half, h100).seconds < 2.5e-3);
  CHECK(deliver_seconds(bytes, half, half, h100) < 0.5e-3);
}

TEST_CASE("what is delivered enters each node at least once, in the best of the ways") {
  laws::dice roll(10);
  for (int n = 0; n < 2000; ++n) {
    const cluster_facts on = random_wires(roll);
    const group_layout from = random_group(roll), to = random_group(roll);
    const double bytes = random_bytes(roll), took = deliver_seconds(bytes, from, to, on);
    CHECK(took >= bytes / on.between.bytes_per_second * to.sharers * (1 - 1e-12));
    CHECK(took <= fetched_cost(bytes, from, to, on).seconds);
    CHECK(deliver_seconds(1.5 * bytes, from, to, on) >= took * (1 - 1e-9));
    CHECK(deliver_cost(bytes, from, to, on).node_bytes >= bytes / from.nodes * (1 - 1e-12));
  }
}

TEST_CASE("copies that are fetched, counted message by message") {
  laws::dice roll(12);
  for (int n = 0; n < 500; ++n) {
    const cluster_facts on = random_wires(roll);
    const group_layout from = random_group(roll), to = random_group(roll);
    const double bytes = random_bytes(roll);
    std::vector<double> out(static_cast<std::size_t>(from.nodes)), in(static_cast<std::size_t>(to.nodes)),
        given(static_cast<std::size_t>(from.ranks())), got(static_cast<std::size_t>(to.ranks()));
    for (int f = 0; f < from.ranks(); ++f) {
      for (int t = 0; t < to.ranks(); ++t) {
        for (double* wire :
             {&at(out, f / from.per_node), &at(in, t / to.per_node), &at(given, f), &at(got, t)})
          *wire += bytes / from.ranks();
      }
    }
    const double wide = on.between.bytes_per_second;
    double slowest = std::max(out[0] * from.sharers / wide, in[0] * to.sharers / wide);
    if (on.of_device > 0) slowest = std::max(slowest, std::max(given[0], got[0]) / on.of_device);
    const collective_cost told = fetched_cost(bytes, from, to, on);
    CHECK(told.seconds == Approx(std::max(from.ranks(), to.ranks()) * on.between.latency + slowest));
    CHECK(told.node_bytes == Approx(out[0]));
  }
  cluster_facts on;
  on.inside = {0, 100};
  on.between = {0, 10};
  // Into one node of four: 80 bytes once, then to all over quick wires.
  CHECK(fetched_cost(80, {4, 2, 1}, {1, 4, 1}, on).seconds == Approx(4 * 8.0));
  CHECK(deliver_seconds(80, {4, 2, 1}, {1, 4, 1}, on) == Approx(8 + 0.75 * 0.8));
}

TEST_CASE("what leaves a node") {
  // Reduced in the node, 2 (N - 1) / N of the bytes leave it, whatever its devices.
  CHECK(all_reduce_cost(1e9, {8, 8, 1}, v100).node_bytes == Approx(2 * 7.0 / 8 * 1e9));
  CHECK(all_reduce_cost(1e9, {8, 1, 8}, v100).node_bytes == Approx(2 * 7.0 / 8 * 1e9));
  CHECK(all_reduce_cost(1e9, {1, 8, 1}, v100).node_bytes == 0);
  CHECK(all_to_all_cost(1e9, {4, 8, 1}, v100).node_bytes == Approx(8 * 0.75 * 1e9));
  CHECK(broadcast_cost(1e9, {4, 8, 1}, v100).node_bytes == Approx(1e9));
}

TEST_CASE(
    "an exchange between all pairs is as long as the slower of its two kinds of wires, or as its two steps") {
  laws::dice roll(11);
  for (int n = 0; n < 500; ++n) {
    const cluster_facts on = random_wires(roll);
    const group_layout g = random_group(roll);
    const double bytes = random_bytes(roll), part = bytes / g.ranks();
    if (g.ranks() == 1) continue;
    const auto out = [&](double each) {  // of every rank of a node at once
      return on.between.latency + std::max(each * g.per_node * g.sharers / on.between.bytes_per_second,
                                           on.of_device > 0 ? each / on.of_device : 0);
    };
    const auto in = [&](double each) { return on.inside.latency + each / on.inside.bytes_per_second; };
    double near = 0, far = 0, first = 0, second = 0;
    for (int place = 1; place < g.per_node; ++place) near += in(part), first += in(part * g.nodes);
    for (int node = 1; node < g.nodes; ++node) {
      second += out(part * g.per_node);
      for (int place = 0; place < g.per_node; ++place) far += out(part);
    }
    CHECK(all_to_all_seconds(bytes, g, on) == Approx(std::min(std::max(near, far), first + second)));
  }
}
