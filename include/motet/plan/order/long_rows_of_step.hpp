// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/plan/order/row_costs.hpp>
#include <motet/tensor/row_parts.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

namespace motet {

// The samples of a step as ranks share them: turns come one after the other, and in each the ranks of
// `cut.parts` parts compute at once. Samples of a cell have their rows on the same ranks, and a turn has one
// or several.
struct seated_rows {
  struct sample {
    isize rows = 0;
    std::int32_t turn = 0, cell = 0, home = 0;  // home: the part that has it where it stays whole
  };
  row_parts cut{};
  list<sample> samples{};
  list<isize> room{};  // rows of each part of each cell, part after part; none: as many as there are
};

namespace detail {

// What ranks do where the longest samples are cut and the others are at home.
class seated_work {
 public:
  seated_work(const row_costs& costs, const seated_rows& of) : costs_(costs), of_(of), parts_(of.cut.parts) {
    std::int32_t turns = 0, cells = 0;
    for (const auto& each : of.samples)
      turns = std::max(turns, each.turn + 1), cells = std::max(cells, each.cell + 1);
    turns_.resize(turns, {});
    for (turn& each : turns_) each.loads.resize(parts_, 0.0);
    has_.resize(cells * parts_, 0);
    for (const auto& each : of.samples) {
      turns_[each.turn].loads[each.home] += costs.whole(each.rows);
      has_[each.cell * parts_ + each.home] += each.rows;
    }
  }
  void cut(const seated_rows::sample& one) {
    if (one.rows == 0) return;
    turn& own = turns_[one.turn];
    own.loads[one.home] -= costs_.whole(one.rows);
    own.even += costs_.cut(one.rows, parts_) + (own.cuts ? 0 : costs_.round);
    own.cuts = true;
    has_[one.cell * parts_ + one.home] -= one.rows;
    for (isize p = 0; p < parts_; ++p) has_[one.cell * parts_ + p] += of_.cut.rows_of(one.rows, p);
  }
  // The time of the longest rank of each turn, all together; without end where a rank has more rows than
  // there is room.
  double seconds() const {
    for (isize k = 0; k < of_.room.size(); ++k)
      if (k < has_.size() && has_[k] > of_.room[k]) return std::numeric_limits<double>::infinity();
    double sum = 0;
    for (const turn& each : turns_)
      sum += each.even + *std::max_element(each.loads.begin(), each.loads.end());
    return sum;
  }

 private:
  struct turn {
    list<double> loads{};  // of whole samples, by part
    double even = 0;       // of those that are cut, on each part
    bool cuts = false;
  };
  const row_costs& costs_;
  const seated_rows& of_;
  isize parts_;
  list<turn> turns_;
  list<isize> has_;  // rows of each part of each cell
};

}  // namespace detail

// Finds who is long in a step whose samples have their homes: from so many rows on samples are cut, so that
// the longest ranks of all turns together have least to do; 0: all are. Each threshold that cuts other
// samples is looked at, and of equal ones that which cuts least is taken. Where no rank has room for a whole
// sample, all are cut. With the same rows all ranks choose alike.
// Asks for: at least one part, homes among them, and no room for less than even parts of all samples.
// Memory: some numbers for each sample, turn and cell.
// Errors: none of its own.
// Example:
//   isize of_two_ranks(const row_costs& costs) {
//     return find_long_rows(costs, {{.parts = 2}, {{9, 0, 0, 0}, {800, 0, 0, 1}}});
//   }
inline isize find_long_rows(const row_costs& costs, const seated_rows& of) {
  list<std::int32_t> order(of.samples.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const isize left = of.samples[a].rows, right = of.samples[b].rows;
    return left != right ? left > right : a < b;
  });
  detail::seated_work work(costs, of);
  isize found = 0;
  double least = std::numeric_limits<double>::infinity();
  for (isize cut = 0; cut <= order.size(); ++cut) {
    const isize rows = cut < order.size() ? of.samples[order[cut]].rows : -1;
    if (cut == 0 || of.samples[order[cut - 1]].rows != rows)
      if (const double seconds = work.seconds(); seconds < least) least = seconds, found = rows + 1;
    if (cut < order.size()) work.cut(of.samples[order[cut]]);
  }
  return found;
}

}  // namespace motet
