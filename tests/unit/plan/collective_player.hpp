// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/group_layout.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

// Collective operations message by message: what every rank holds after each round, and how long the round's
// slowest wire was busy. The closed forms know nothing of this.

struct played_message {
  int from, to;
  std::vector<int> parts;
};
using played_round = std::vector<played_message>;

template <class Vector>
auto& at(Vector& of, int i) {
  return of[static_cast<std::size_t>(i)];
}

class collective_player {
 public:
  // As many parts as ranks, fewer than 64; rank m * per_node + i is place i of node m.
  collective_player(double bytes, motet::group_layout of, const motet::cluster_facts& on)
      : of_(of), on_(on), part_(bytes / of.ranks()) {
    sent_.assign(static_cast<std::size_t>(of.nodes), 0);
  }
  double seconds() const { return seconds_; }
  double node_bytes() const { return *std::max_element(sent_.begin(), sent_.end()); }
  // Every rank has its own part at first; true when all have all. What is sent must be held.
  bool gathers(const std::vector<played_round>& rounds) {
    const int n = of_.ranks();
    std::vector<std::uint64_t> held(static_cast<std::size_t>(n));
    for (int r = 0; r < n; ++r) at(held, r) = std::uint64_t{1} << r;
    bool legal = true;
    for (const played_round& round : rounds) {
      std::vector<std::uint64_t> next = held;
      for (const played_message& each : round) {
        for (const int part : each.parts) {
          legal = legal && (at(held, each.from) >> part & 1) != 0;
          at(next, each.to) |= std::uint64_t{1} << part;
        }
      }
      held = next;
      spend(round);
    }
    const std::uint64_t all = (std::uint64_t{1} << n) - 1;
    return legal && std::all_of(held.begin(), held.end(), [all](std::uint64_t own) { return own == all; });
  }
  // Plays the rounds from the last to the first, every message the other way with what its sender has summed:
  // true when rank r has the sum of part r, and nothing was summed twice.
  bool reduces(const std::vector<played_round>& rounds) {
    const int n = of_.ranks();
    std::vector<std::vector<std::uint64_t>> sums(static_cast<std::size_t>(n));  // whose terms are in it
    for (int r = 0; r < n; ++r) at(sums, r).assign(static_cast<std::size_t>(n), std::uint64_t{1} << r);
    bool legal = true;
    for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
      const std::vector<std::vector<std::uint64_t>> before = sums;
      played_round back;
      for (const played_message& each : *round) {
        back.push_back({each.to, each.from, each.parts});
        for (const int part : each.parts) {
          const std::uint64_t given = at(at(before, each.to), part);
          legal = legal && given != 0 && (at(at(sums, each.from), part) & given) == 0;
          at(at(sums, each.from), part) |= given;
          at(at(sums, each.to), part) &= ~given;
        }
      }
      spend(back);
    }
    const std::uint64_t all = (std::uint64_t{1} << n) - 1;
    for (int r = 0; r < n; ++r) legal = legal && at(at(sums, r), r) == all;
    return legal;
  }

 private:
  void spend(const played_round& round) {
    const int n = of_.ranks();
    struct load {
      double out = 0, in = 0;
      double most() const { return std::max(out, in); }
    };
    std::vector<load> inside(static_cast<std::size_t>(n)), across(inside),
        nodes(static_cast<std::size_t>(of_.nodes));
    for (const played_message& each : round) {
      const double bytes = part_ * static_cast<double>(each.parts.size());
      const int here = each.from / of_.per_node, there = each.to / of_.per_node;
      std::vector<load>& wires = here == there ? inside : across;
      at(wires, each.from).out += bytes;
      at(wires, each.to).in += bytes;
      if (here == there) continue;
      at(nodes, here).out += bytes;
      at(nodes, there).in += bytes;
      at(sent_, here) += bytes;
    }
    double slowest = 0;
    for (const load& each : inside)
      if (each.most() > 0)
        slowest = std::max(slowest, on_.inside.latency + each.most() / on_.inside.bytes_per_second);
    for (const load& each : across)
      if (each.most() > 0 && on_.of_device > 0)
        slowest = std::max(slowest, on_.between.latency + each.most() / on_.of_device);
    for (const load& each : nodes)
      if (each.most() > 0)
        slowest =
            std::max(slowest, on_.between.latency + each.most() * of_.sharers / on_.between.bytes_per_second);
    seconds_ += slowest;
  }

  motet::group_layout of_;
  motet::cluster_facts on_;
  double part_, seconds_ = 0;
  std::vector<double> sent_;
};

// One ring through all ranks.
inline std::vector<played_round> ring_rounds(motet::group_layout of) {
  const int n = of.ranks();
  std::vector<played_round> rounds;
  for (int t = 0; t + 1 < n; ++t) {
    played_round& round = rounds.emplace_back();
    for (int r = 0; r < n; ++r) round.push_back({r, (r + 1) % n, {(r - t + n) % n}});
  }
  return rounds;
}
// A ring through nodes for every place, then a ring in every node.
inline std::vector<played_round> hierarchical_rounds(motet::group_layout of) {
  std::vector<played_round> rounds;
  const auto rank = [of](int node, int place) { return node * of.per_node + place; };
  for (int t = 0; t + 1 < of.nodes; ++t) {
    played_round& round = rounds.emplace_back();
    for (int m = 0; m < of.nodes; ++m)
      for (int i = 0; i < of.per_node; ++i)
        round.push_back({rank(m, i), rank((m + 1) % of.nodes, i), {rank((m - t + of.nodes) % of.nodes, i)}});
  }
  for (int t = 0; t + 1 < of.per_node; ++t) {
    played_round& round = rounds.emplace_back();
    for (int m = 0; m < of.nodes; ++m) {
      for (int i = 0; i < of.per_node; ++i) {
        std::vector<int> column;
        for (int from = 0; from < of.nodes; ++from)
          column.push_back(rank(from, (i - t + of.per_node) % of.per_node));
        round.push_back({rank(m, i), rank(m, (i + 1) % of.per_node), column});
      }
    }
  }
  return rounds;
}
// All parts down a tree of nodes, then down trees in them.
inline std::vector<played_round> tree_rounds(motet::group_layout of) {
  std::vector<int> all(static_cast<std::size_t>(of.ranks()));
  for (int r = 0; r < of.ranks(); ++r) all[static_cast<std::size_t>(r)] = r;
  std::vector<played_round> rounds;
  for (int reached = 1; reached < of.nodes; reached *= 2) {
    played_round& round = rounds.emplace_back();
    for (int m = 0; m < reached && m + reached < of.nodes; ++m)
      round.push_back({m * of.per_node, (m + reached) * of.per_node, all});
  }
  for (int reached = 1; reached < of.per_node; reached *= 2) {
    played_round& round = rounds.emplace_back();
    for (int m = 0; m < of.nodes; ++m)
      for (int i = 0; i < reached && i + reached < of.per_node; ++i)
        round.push_back({m * of.per_node + i, m * of.per_node + i + reached, all});
  }
  return rounds;
}
