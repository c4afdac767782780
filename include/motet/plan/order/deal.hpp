// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

namespace motet {

// Samples of a step are dealt to replicas: of each replica the samples that it gets. Each sample is dealt
// once, so the sum of gradients over all replicas stays what it was. With the same costs every rank deals
// alike, and none has to tell another.
using hands = list<list<std::int32_t>>;

// Hands are equal where each replica gets as many samples as any other, or one more if they do not come out
// even. Ranks that run the same number of microbatches need that.
enum class hand_sizes { equal, any };

// The load of a hand is the sum of its costs.
inline list<double> loads_of(const hands& dealt, const list<double>& costs) {
  list<double> loads;
  for (const list<std::int32_t>& hand : dealt)
    loads.push(std::accumulate(hand.begin(), hand.end(), 0.0,
                               [&](double sum, std::int32_t sample) { return sum + costs[sample]; }));
  return loads;
}

namespace detail {

// The most costly one comes first; of equal ones the one that came first.
inline list<std::int32_t> largest_first(const list<double>& costs) {
  list<std::int32_t> order(costs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return costs[a] > costs[b]; });
  return order;
}

}  // namespace detail

// The most costly sample goes first, each to the replica that has the least to do (Graham's LPT, and
// DistTrain's first algorithm). With hands of any size the largest load is at most 4/3 - 1/(3 * replicas) of
// the best. There is at least one replica, and no cost is negative.
// Asks for: one replica at least, and costs that are not negative.
// Memory: a number for each sample.
// Errors: none of its own.
// Example:
//   const hands two = deal_largest_first({5, 3, 3, 1}, 2);
inline hands deal_largest_first(const list<double>& costs, std::int32_t replicas,
                                hand_sizes sizes = hand_sizes::equal) {
  using waiting = std::pair<double, std::int32_t>;  // its load, which replica
  std::priority_queue<waiting, std::vector<waiting>, std::greater<>> least;
  for (std::int32_t r = 0; r < replicas; ++r) least.emplace(0.0, r);
  const isize room = sizes == hand_sizes::any ? costs.size() : costs.size() / replicas;
  isize one_more = costs.size() - room * replicas;  // this many hands hold one sample more
  hands dealt(replicas);
  for (const std::int32_t sample : detail::largest_first(costs)) {
    auto [load, replica] = least.top();
    least.pop();
    while (dealt[replica].size() == room && one_more <= 0) {
      std::tie(load, replica) = least.top();
      least.pop();
    }
    list<std::int32_t>& hand = dealt[replica];
    if (hand.size() == room) --one_more;
    hand.push(sample);
    if (hand.size() <= room) least.emplace(load + costs[sample], replica);
  }
  return dealt;
}

namespace detail {

// Hands that are made apart, to be put together: of each its load, and its first and last sample, in chains.
struct half_dealt {
  struct chain {
    double load = 0;
    std::int32_t first = -1, last = -1;
  };
  std::vector<chain> hands;  // the largest load first
  double spread() const { return hands.front().load - hands.back().load; }
};

}  // namespace detail

// The two deals that are furthest from even are put together, the largest hand of one with the smallest of
// the other, until one deal is left (Karmarkar and Karp's differences). More even than the largest first, in
// time that grows with samples * replicas; hands differ in size. Hands of equal size by differences were
// tried: where costs are skewed they are less even than deal_largest_first makes them. There is at least one
// replica, and no cost is negative.
inline hands deal_by_differences(const list<double>& costs, std::int32_t replicas) {
  using detail::half_dealt;
  hands dealt(replicas);
  if (costs.empty()) return dealt;
  const list<std::int32_t> order = detail::largest_first(costs);
  std::vector<half_dealt> deals;
  using waiting = std::pair<double, isize>;  // its spread; of equal ones the later deal goes last
  std::priority_queue<waiting> uneven;
  const auto later = [&](isize deal) {
    uneven.emplace(deals[static_cast<std::size_t>(deal)].spread(), -deal);
  };
  for (const std::int32_t sample : order) {
    half_dealt deal{std::vector<half_dealt::chain>(static_cast<std::size_t>(replicas))};
    deal.hands.front() = {costs[sample], sample, sample};
    deals.push_back(std::move(deal));
    later(static_cast<isize>(deals.size()) - 1);
  }
  list<std::int32_t> next(costs.size(), -1);
  isize whole = 0;
  for (;;) {
    whole = -uneven.top().second;
    uneven.pop();
    if (uneven.empty()) break;
    half_dealt& into = deals[static_cast<std::size_t>(whole)];
    half_dealt& from = deals[static_cast<std::size_t>(-uneven.top().second)];
    uneven.pop();
    for (std::size_t k = 0; k < into.hands.size(); ++k) {
      half_dealt::chain &own = into.hands[k], &other = from.hands[into.hands.size() - 1 - k];
      own.load += other.load;
      if (other.first < 0) continue;
      (own.first < 0 ? own.first : next[own.last]) = other.first;
      own.last = other.last;
    }
    from.hands = {};
    std::stable_sort(into.hands.begin(), into.hands.end(),
                     [](const auto& a, const auto& b) { return a.load > b.load; });
    later(whole);
  }
  for (std::int32_t r = 0; r < replicas; ++r)
    for (std::int32_t at = deals[static_cast<std::size_t>(whole)].hands[static_cast<std::size_t>(r)].first;
         at >= 0; at = next[at])
      dealt[r].push(at);
  return dealt;
}

}  // namespace motet
