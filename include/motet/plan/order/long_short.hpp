// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/plan/order/row_costs.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace motet {

// Samples of fewer rows than this stay whole, each with one of the ranks, and all ranks have a part of each
// other one. 0: all are cut.
struct long_short {
  isize long_rows = 0;
  double seconds = 0;          // of the longest rank
  list<std::int32_t> homes{};  // of each sample, the rank that has it whole; -1: it is cut
};

namespace detail {

// Samples with the longest first: the first `cut` of them are cut, and the others have homes.
class length_order {
 public:
  length_order(const row_costs& costs, const list<isize>& rows, std::int32_t parts, isize room)
      : costs_(costs), rows_(rows), parts_(parts), room_(room), order_(rows.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::int32_t a, std::int32_t b) { return rows[a] > rows[b]; });
    left_.resize(order_.size() + 1, 0.0);
    for (isize k = order_.size(); k-- > 0;) left_[k] = left_[k + 1] + costs.whole(at(k));
    cut_.push(0);
    cut_rows_.push(0);
    for (isize k = 0; k < order_.size(); ++k) {
      cut_.push(cut_[k] + costs.cut(at(k), parts));
      cut_rows_.push(cut_rows_[k] + (at(k) + parts - 1) / parts);
    }
  }

  // visit(cut): all numbers of cut samples that a threshold can make.
  template <class Visit>
  void each_cut(Visit&& visit) const {
    for (isize k = 0; k <= order_.size(); ++k)
      if (k == 0 || k == order_.size() || at(k - 1) != at(k)) visit(k);
  }
  // No homes make the longest rank shorter.
  double least(isize cut) const {
    const double largest = cut < order_.size() ? costs_.whole(at(cut)) : 0;
    return even(cut) + std::max(largest, left_[cut] / parts_);
  }
  // The homes go to the rank with least to do, the longest sample first; seconds without end where a rank has
  // more rows than there is room for.
  long_short with_homes(isize cut) const {
    using waiting = std::pair<double, std::int32_t>;
    std::vector<waiting> ranks;
    ranks.reserve(as_size(parts_));
    for (std::int32_t r = 0; r < parts_; ++r) ranks.emplace_back(even(cut), r);
    list<isize> has(parts_, cut_rows_[cut]);
    long_short out{long_rows(cut), even(cut), list<std::int32_t>(rows_.size(), -1)};
    for (isize k = cut; k < order_.size(); ++k) {
      std::pop_heap(ranks.begin(), ranks.end(), std::greater<>());
      auto& [load, rank] = ranks.back();
      load += costs_.whole(at(k));
      has[rank] += at(k);
      out.homes[order_[k]] = rank;
      out.seconds = std::max(out.seconds, load);
      if (room_ > 0 && has[rank] > room_) out.seconds = std::numeric_limits<double>::infinity();
      std::push_heap(ranks.begin(), ranks.end(), std::greater<>());
    }
    return out;
  }

 private:
  isize at(isize k) const { return rows_[order_[k]]; }
  double even(isize cut) const { return cut_[cut] + (cut > 0 && at(0) > 0 ? costs_.round : 0); }
  isize long_rows(isize cut) const { return cut == order_.size() ? 0 : at(cut) + 1; }

  const row_costs& costs_;
  const list<isize>& rows_;
  std::int32_t parts_;
  isize room_;
  list<std::int32_t> order_;
  list<double> left_, cut_;  // of samples from here on, whole; and of those before, cut
  list<isize> cut_rows_;
};

}  // namespace detail

// Finds who is long among samples of so many rows that `parts` ranks compute together (MegaScale-Omni's
// long-short sequence parallelism), so that the longest rank has least to do: each threshold that cuts other
// samples is looked at, with homes for the short ones beside an even share of the long ones, the longest
// first to the rank with least to do. Thresholds are taken by what no homes can better, and the search ends
// where that is no shorter than what was found: so it is exact, and deals few times. Of equal ones that which
// cuts least. room: rows that a rank may have, where all samples are not cut; 0: any.
// Asks for: one rank at least, and numbers that are not negative.
// Memory: some numbers for each sample.
// Errors: none of its own.
// Example:
//   isize long_from(const list<isize>& rows) {
//     return find_long_short({.row = 1, .pair = 1e-3, .exchanged = .2}, rows, 8).long_rows;
//   }
inline long_short find_long_short(const row_costs& costs, const list<isize>& rows, std::int32_t parts,
                                  isize room = 0) {
  const detail::length_order order(costs, rows, parts, room);
  std::vector<std::pair<double, isize>> tries;
  order.each_cut([&](isize cut) { tries.emplace_back(order.least(cut), cut); });
  std::sort(tries.begin(), tries.end());
  long_short best = order.with_homes(rows.size());
  isize best_cut = rows.size();
  for (const auto& [least, cut] : tries) {
    if (least > best.seconds) break;
    long_short found = order.with_homes(cut);
    if (found.seconds < best.seconds || (found.seconds == best.seconds && cut < best_cut))
      best = std::move(found), best_cut = cut;
  }
  return best;
}

}  // namespace motet
