// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/meta/mixed_bits.hpp>
#include <motet/schedule/simulate/simulate.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

namespace motet {

// The microbatches of a replica run in this order: of each turn the microbatch that has it.
using microbatch_order = list<std::int32_t>;

// The times say what microbatches of unequal size take on the stages of a pipeline, in any one unit of time.
struct microbatch_times {
  std::int32_t stages = 0, microbatches = 0;
  list<double> forward;   // of each (stage, microbatch), all microbatches of stage 0 first
  list<double> backward;  // of each stage: how many times as long as its forward
  double forward_of(std::int32_t stage, std::int32_t microbatch) const {
    return forward[isize{stage} * microbatches + microbatch];
  }
  double backward_of(std::int32_t stage, std::int32_t microbatch) const {
    return backward[stage] * forward_of(stage, microbatch);
  }
  double all_of(std::int32_t microbatch) const {
    double sum = 0;
    for (std::int32_t s = 0; s < stages; ++s) sum += forward_of(s, microbatch) * (1 + backward[s]);
    return sum;
  }
};

// As simulate() plays 1F1B without wires, microbatch after microbatch, so that an order can be chosen on the
// way. Each takes a few operations a stage.
class one_f_one_b_clock {
 public:
  explicit one_f_one_b_clock(const microbatch_times& times)
      : times_(times), forward_(times.forward.size(), 0.0), backward_(times.forward.size(), 0.0) {}

  void append(std::int32_t microbatch) {
    order_.push(microbatch);
    const auto at = static_cast<std::int32_t>(order_.size()) - 1;
    for (std::int32_t s = 0; s < times_.stages; ++s) {
      const std::int32_t behind = at - warm_up(s) - 1;
      double free = at > 0 ? forward_[cell(s, at - 1)] : 0;
      if (behind >= 0) free = backward_[cell(s, behind)];
      const double arrives = s > 0 ? forward_[cell(s - 1, at)] : 0;
      forward_[cell(s, at)] = std::max(arrives, free) + times_.forward_of(s, microbatch);
    }
    for (std::int32_t s = times_.stages; s-- > 0;)
      if (at >= warm_up(s)) go_back(s, at - warm_up(s), forward_[cell(s, at)]);
  }
  // Called after all of them; the result is when the last backward ends.
  double finish() {
    const auto count = static_cast<std::int32_t>(order_.size());
    double end = 0;
    for (std::int32_t s = times_.stages; s-- > 0 && count > 0;) {
      for (std::int32_t i = std::max(0, count - warm_up(s)); i < count; ++i)
        go_back(s, i, i > 0 ? backward_[cell(s, i - 1)] : forward_[cell(s, count - 1)]);
      end = std::max(end, backward_[cell(s, count - 1)]);
    }
    return end;
  }
  // The first stage has so long for the next forward, once it has one to go back through before it.
  double interval() const {
    const auto next = static_cast<std::int32_t>(order_.size());
    return backward_[cell(1, next - times_.stages + 1)] - backward_[cell(0, next - times_.stages)];
  }

 private:
  std::int32_t warm_up(std::int32_t stage) const { return times_.stages - 1 - stage; }
  isize cell(std::int32_t stage, std::int32_t at) const { return isize{stage} * times_.microbatches + at; }
  void go_back(std::int32_t stage, std::int32_t at, double free) {
    const double arrives =
        stage + 1 < times_.stages ? backward_[cell(stage + 1, at)] : forward_[cell(stage, at)];
    backward_[cell(stage, at)] = std::max(arrives, free) + times_.backward_of(stage, order_[at]);
  }

  const microbatch_times& times_;
  microbatch_order order_;
  list<double> forward_, backward_;  // when each ends, of each (stage, turn)
};

inline microbatch_order in_turn(std::int32_t microbatches) {
  microbatch_order order(microbatches);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

inline double one_f_one_b_seconds(const microbatch_times& times, const microbatch_order& order) {
  one_f_one_b_clock clock(times);
  for (const std::int32_t each : order) clock.append(each);
  return clock.finish();
}

// Less than this no order takes, in any schedule with one rank a stage: each stage does all its work, after
// some microbatch has come to it and before the last has gone back from it; and each microbatch goes all the
// way.
inline double least_seconds(const microbatch_times& times) {
  double least = 0;
  list<double> comes(times.microbatches, 0.0), leaves(times.microbatches, 0.0);
  for (std::int32_t s = 0; s < times.stages && times.microbatches > 0; ++s) {
    double own =
        *std::min_element(comes.begin(), comes.end()) + *std::min_element(leaves.begin(), leaves.end());
    for (std::int32_t m = 0; m < times.microbatches; ++m) {
      own += times.forward_of(s, m) + times.backward_of(s, m);
      comes[m] += times.forward_of(s, m);
      leaves[m] += times.backward_of(s, m);
    }
    least = std::max(least, own);
  }
  for (std::int32_t m = 0; m < times.microbatches; ++m) least = std::max(least, times.all_of(m));
  return least;
}

// A program takes this in this order, by simulate(): any schedule of one tower, and any wires. `costs` keeps
// its wires; the seconds of its stages come from the times. A program that simulate() refuses takes
// infinitely long.
inline double simulated_seconds(const program& of, cost_table costs, const microbatch_times& times,
                                const microbatch_order& order) {
  costs.stages.clear();
  costs.scale.clear();
  for (std::int32_t s = 0; s < times.stages; ++s) {
    costs.stages.push({1, times.backward[s], 0});
    for (const std::int32_t each : order) costs.scale.push(times.forward_of(s, each));
  }
  timeline when;
  return simulate(of, costs, when).ok() ? when.makespan : std::numeric_limits<double>::infinity();
}

namespace detail {

inline microbatch_order smallest_first(const microbatch_times& times) {
  microbatch_order order = in_turn(times.microbatches);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return times.all_of(a) < times.all_of(b); });
  return order;
}

// Microbatches wait for a turn, by their first forward and their place by size, so that the one that comes
// closest to a time is found in few steps. Of equally close ones the smallest is taken.
class waiting_microbatches {
 public:
  waiting_microbatches(const microbatch_times& times, const microbatch_order& by_size, std::int32_t from)
      : by_size_(by_size) {
    for (std::int32_t k = from; k < times.microbatches; ++k)
      waiting_.emplace(times.forward_of(0, by_size[k]), k);
  }
  bool empty() const { return waiting_.empty(); }
  std::int32_t take_closest(double to) {
    auto found = waiting_.lower_bound({to, -1});
    if (found != waiting_.begin()) {
      const auto below = waiting_.lower_bound({std::prev(found)->first, -1});
      const auto far = [&](const auto& each) { return std::pair(std::abs(each->first - to), each->second); };
      if (found == waiting_.end() || far(below) < far(found)) found = below;
    }
    const std::int32_t k = found->second;
    waiting_.erase(found);
    return by_size_[k];
  }

 private:
  const microbatch_order& by_size_;
  std::set<std::pair<double, std::int32_t>> waiting_;
};

}  // namespace detail

// DistTrain's second algorithm, for 1F1B: the smallest microbatch begins, so that every stage starts early;
// the smallest of the rest end, larger ones first, as no forward hides their backwards; between them each
// turn goes to the microbatch whose first forward comes closest to the time that the first stage would wait.
// Asks for: times of each microbatch on each stage.
// Memory: some numbers for each stage and microbatch.
// Errors: none of its own.
// Example:
//   double seconds(const microbatch_times& times) {
//     return one_f_one_b_seconds(times, fill_intervals(times));
//   }
inline microbatch_order fill_intervals(const microbatch_times& times) {
  const std::int32_t stages = times.stages;
  microbatch_order by_size = detail::smallest_first(times);
  if (times.microbatches <= stages || stages < 2) return by_size;
  detail::waiting_microbatches between(times, by_size, stages);
  microbatch_order order;
  one_f_one_b_clock clock(times);
  const auto append = [&](std::int32_t microbatch) {
    order.push(microbatch);
    clock.append(microbatch);
  };
  append(by_size[0]);
  double gap = 0;  // of the first stage, from its first forward's end to its first backward
  for (std::int32_t s = 1; s < stages; ++s)
    gap += times.forward_of(s, by_size[0]) + times.backward_of(s, by_size[0]);
  for (std::int32_t k = stages - 1; k > 0 && !between.empty(); --k) {
    append(between.take_closest(gap / k));
    gap -= times.forward_of(0, order.back());
  }
  while (!between.empty()) append(between.take_closest(std::max(0.0, clock.interval())));
  for (std::int32_t k = stages - 1; k > 0; --k) append(by_size[k]);
  return order;
}

// The limits say when to stop looking for a better order. Ranks that stop by `seconds` may end with different
// orders: then one of them looks, and tells the others.
struct swap_limits {
  std::int32_t tries = 200;
  double seconds = std::numeric_limits<double>::infinity();
  double enough = 0;  // an order that takes no longer is good enough
  std::uint64_t seed = 0;
};

// Swaps two microbatches, drawn by chance, as often as `judge` finds the order better for it: a function from
// an order to its seconds, such as one_f_one_b_seconds or simulated_seconds. The order never gets worse.
template <class Judge>
microbatch_order improve_by_swaps(microbatch_order order, const Judge& judge, const swap_limits& until = {}) {
  if (order.size() < 2) return order;
  const auto began = std::chrono::steady_clock::now();
  double best = judge(std::as_const(order));
  std::uint64_t drawn = until.seed;
  const auto draw = [&](isize below) {
    drawn += golden_step;
    return static_cast<isize>(mixed_bits(drawn) % static_cast<std::uint64_t>(below));
  };
  for (std::int32_t i = 0; i < until.tries && best > until.enough; ++i) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() > until.seconds)
      break;
    const isize a = draw(order.size()), b = (a + 1 + draw(order.size() - 1)) % order.size();
    std::swap(order[a], order[b]);
    const double found = judge(std::as_const(order));
    if (found < best) best = found;
    else std::swap(order[a], order[b]);
  }
  return order;
}

}  // namespace motet
