// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/search/seats.hpp>

namespace motet::detail {

// Moves tensor groups to ranks that are left over, and exchanges groups of equal size, as long as the busiest
// node has less to send.
class seat_exchange {
 public:
  seat_exchange(const list<seating>& towers, const cluster_facts& on, seat_layout& of)
      : towers_(towers), on_(on), of_(of) {}
  void run() {
    constexpr isize most_groups = 48;  // more would take longer than the search itself
    isize groups = 0;
    for (const seating& each : towers_) {
      if (each.with >= 0) return;
      groups += each.split.size() / each.split.tensor;
    }
    if (on_.nodes < 2 || groups > most_groups) return;
    find_groups();
    for (bool better = true; better;) {
      better = false;
      for (isize a = 0; a < groups_.size(); ++a) {
        for (isize n = 0; n < idle_.size(); ++n) better = moved(groups_[a], n) || better;
        for (isize b = a + 1; b < groups_.size(); ++b) better = exchanged(groups_[a], groups_[b]) || better;
      }
    }
  }

 private:
  struct group {
    isize tower, first;
  };
  void find_groups() {
    list<std::uint8_t> taken(on_.devices(), 0);
    for (isize k = 0; k < towers_.size(); ++k) {
      for (isize i = 0; i < of_.ranks[k].size(); ++i) {
        taken[of_.ranks[k][i]] = 1;
        if (i % towers_[k].split.tensor == 0) groups_.push({k, i});
      }
    }
    idle_.resize(on_.nodes);
    for (std::int32_t r = on_.devices() - 1; r >= 0; --r)
      if (taken[r] == 0) idle_[on_.node(r)].push(r);
  }
  std::int32_t* ranks_of(const group& each) { return of_.ranks[each.tower].data() + each.first; }
  bool allows(const group& each, isize node) const {
    return on_.more_runs == 0 ||
           (towers_[each.tower].kinds & on_.kind_bit(static_cast<std::int32_t>(node))) != 0;
  }
  std::int32_t size_of(const group& each) const { return towers_[each.tower].split.tensor; }
  bool lighter() {
    const double bytes = busiest_node(towers_, of_.ranks, on_);
    if (bytes >= of_.node_bytes) return false;
    of_.node_bytes = bytes;
    return true;
  }
  bool moved(const group& a, isize node) {
    const std::int32_t size = size_of(a);
    list<std::int32_t>& there = idle_[node];
    std::int32_t* const own = ranks_of(a);
    if (there.size() < size || on_.node(own[0]) == node || !allows(a, node)) return false;
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
    if (!allows(a, on_.node(*y)) || !allows(b, on_.node(*x))) return false;
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
};

}  // namespace motet::detail
