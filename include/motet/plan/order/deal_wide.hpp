// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/tensor/share.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace motet {

// What its header tells of a sample before it is read: who it is in its step, the rank that would read it,
// and what it costs, in any unit.
struct told_sample {
  std::int32_t id = 0, rank = 0;
  double cost = 0;
};

// A sample is cut over so many ranks, a power of two, that none has more of it than `longest` times the mean
// load of a rank; over `widest` at most. Of those that fit on one rank none is cut.
struct width_rule {
  std::int32_t widest = 1;
  double longest = 1.3;
  constexpr std::int32_t width(double cost, double mean) const {
    std::int32_t ranks = 1;
    while (2 * ranks <= widest && cost > longest * mean * ranks) ranks *= 2;
    return ranks;
  }
};

// Where a sample was dealt to: `ranks` of them from `first` on have an even part of it each.
struct dealt_sample {
  std::int32_t id = 0, first = 0, ranks = 1;
  constexpr bool operator==(const dealt_sample&) const = default;
};

namespace detail {

// Long samples go to as many ranks as they are cut over, whose longest has least to do, the most costly one
// first; short ones to the rank with least to do beside that. The loads of the ranks from `first` on are
// left.
inline void deal_group(std::vector<told_sample>& told, std::int32_t first, double* loads, std::int32_t ranks,
                       const width_rule& rule, list<dealt_sample>& out) {
  std::sort(told.begin(), told.end(), [](const told_sample& a, const told_sample& b) {
    return a.cost != b.cost ? a.cost > b.cost : a.id < b.id;
  });
  double sum = 0;
  for (const told_sample& each : told) sum += each.cost;
  width_rule fits = rule;
  fits.widest = std::min(rule.widest, ranks);
  using waiting = std::pair<double, std::int32_t>;  // its load, which rank
  std::priority_queue<waiting, std::vector<waiting>, std::greater<>> least;
  for (const told_sample& each : told) {
    const std::int32_t width = fits.width(each.cost, sum / ranks);
    std::int32_t best = 0;
    if (width > 1) {
      double shortest = 0;
      for (std::int32_t at = 0; at + width <= ranks; at += width)
        if (const double longest = *std::max_element(loads + at, loads + at + width);
            at == 0 || longest < shortest)
          best = at, shortest = longest;
    } else {
      // All that follow are no longer.
      if (least.empty())
        for (std::int32_t r = 0; r < ranks; ++r) least.emplace(loads[r], r);
      best = least.top().second;
      least.pop();
      least.emplace(loads[best] + each.cost, best);
    }
    for (std::int32_t r = best; r < best + width; ++r) loads[r] += each.cost / width;
    out.push({each.id, first + best, width});
  }
}

}  // namespace detail

// The samples of a step, each on ranks of the group of the rank that would read it.
struct grouped_deal {
  list<dealt_sample> samples{};  // by id
  list<double> loads{};          // of each rank
  double uneven() const {
    double most = 0, sum = 0;
    for (const double each : loads) most = std::max(most, each), sum += each;
    return sum > 0 ? most * static_cast<double>(loads.size()) / sum : 1;
  }
};

// Deals samples among the ranks of each group by themselves (MegaScale-Omni's grouped reordering): so many
// ranks that follow each other exchange the headers of their samples, and each of them finds the same deal,
// whatever the order in which headers came. What a group finds follows from its own headers alone, and none
// of its samples leaves it. Long ones are cut by `rule`, whose widest says over how many ranks: those of a
// node, or all of a group. A last group may have fewer ranks.
// Asks for: headers of ranks that there are; ids that differ; costs that are not negative; groups of one rank
// at least.
// Memory: some numbers for each sample and each rank.
// Errors: none of its own.
// Example:
//   double most(const list<told_sample>& told) { return deal_in_groups(told, 64, 32, {.widest = 8}).uneven(); }
inline grouped_deal deal_in_groups(const list<told_sample>& told, std::int32_t ranks, std::int32_t group,
                                   const width_rule& rule = {}) {
  grouped_deal out;
  out.loads.resize(ranks, 0.0);
  std::vector<std::vector<told_sample>> of_group(as_size((ranks + group - 1) / group));
  for (const told_sample& each : told) of_group[as_size(each.rank / group)].push_back(each);
  std::int32_t first = 0;
  for (std::vector<told_sample>& own : of_group) {
    detail::deal_group(own, first, out.loads.data() + first, std::min(group, ranks - first), rule,
                       out.samples);
    first += group;
  }
  std::sort(out.samples.begin(), out.samples.end(),
            [](const dealt_sample& a, const dealt_sample& b) { return a.id < b.id; });
  return out;
}

}  // namespace motet
