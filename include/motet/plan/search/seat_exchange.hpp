// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/search/seats.hpp>

namespace motet::detail {

// Moves tensor groups to ranks that are left over, and exchanges groups of equal size, as long as the busiest
// node has less to send.
class seat_exchange {
 public:
  seat_exchange(const list<seating>& towers, const cluster_facts& on, seat_layout& of)
      : towers_(towers), on_(on), of_(of), idle_(on.nodes) {
    list<std::uint8_t> taken(on.devices(), 0);
    for (index k = 0; k < towers.size(); ++k) {
      shared_ = shared_ || towers[k].with >= 0;
      for (index i = 0; i < of.ranks[k].size(); ++i) {
        taken[of.ranks[k][i]] = 1;
        if (i % towers[k].split.tensor == 0) groups_.push({k, i});
      }
    }
    for (std::int32_t r = on.devices() - 1; r >= 0; --r)
      if (taken[r] == 0) idle_[on.node(r)].push(r);
  }
  void run() {
    constexpr index most_groups = 48;  // more would take longer than the search itself
    if (shared_ || on_.nodes < 2 || groups_.size() > most_groups) return;
    for (bool better = true; better;) {
      better = false;
      for (index a = 0; a < groups_.size(); ++a) {
        for (index n = 0; n < idle_.size(); ++n) better = moved(groups_[a], n) || better;
        for (index b = a + 1; b < groups_.size(); ++b) better = exchanged(groups_[a], groups_[b]) || better;
      }
    }
  }

 private:
  struct group {
    index tower, first;
  };
  std::int32_t* ranks_of(const group& each) { return of_.ranks[each.tower].data() + each.first; }
  std::int32_t size_of(const group& each) const { return towers_[each.tower].split.tensor; }
  bool lighter() {
    const double bytes = busiest_node(towers_, of_.ranks, on_);
    if (bytes >= of_.node_bytes) return false;
    of_.node_bytes = bytes;
    return true;
  }
  bool moved(const group& a, index node) {
    const std::int32_t size = size_of(a);
    list<std::int32_t>& there = idle_[node];
    std::int32_t* const own = ranks_of(a);
    if (there.size() < size || on_.node(own[0]) == node) return false;
    std::int32_t* const free = there.end() - size;
    std::swap_ranges(own, own + size, free);
    if (lighter()) {
      list<std::int32_t>& here = idle_[on_.node(*free)];
      for (std::int32_t i = 0; i < size; ++i) here.push(there[there.size() - size + i]);
      for (std::int32_t i = 0; i < size; ++i) there.pop();
      return true;
    }
    std::swap_ranges(own, own + size, free);
    return false;
  }
  bool exchanged(const group& a, const group& b) {
    const std::int32_t size = size_of(a);
    std::int32_t *const x = ranks_of(a), *const y = ranks_of(b);
    if (size != size_of(b) || on_.node(*x) == on_.node(*y)) return false;
    std::swap_ranges(x, x + size, y);
    if (lighter()) return true;
    std::swap_ranges(x, x + size, y);
    return false;
  }

  const list<seating>& towers_;
  const cluster_facts& on_;
  seat_layout& of_;
  list<list<std::int32_t>> idle_;  // of each node
  list<group> groups_;
  bool shared_ = false;
};

}  // namespace motet::detail
