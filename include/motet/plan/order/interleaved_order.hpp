// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/microbatch_order.hpp>

#include <algorithm>
#include <cstdint>

namespace motet {

// As simulate() plays the interleaved schedule without wires, microbatch after microbatch, so that an order
// can be chosen on the way. Stage s is chunk s / ranks of rank s % ranks; one chunk is 1F1B. Each microbatch
// takes a few operations a stage.
class interleaved_clock {
 public:
  interleaved_clock(const microbatch_times& times, std::int32_t chunks)
      : times_(&times),
        chunks_(chunks),
        ranks_(times.stages / chunks),
        all_(times.microbatches * chunks),
        forward_(times.forward.size(), not_yet),
        backward_(times.forward.size(), not_yet),
        at_(ranks_, 0),
        free_(ranks_, 0.0) {}

  void append(std::int32_t microbatch) {
    order_.push(microbatch);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::int32_t r = 0; r < ranks_; ++r)
        while (at_[r] < 2 * all_ && is_known(next_of(r)) && play(r)) moved = true;
    }
  }
  // Called after all of them; the result is when the last backward ends.
  double finish() const { return free_.empty() ? 0 : *std::max_element(free_.begin(), free_.end()); }
  // The first rank has so long for its next forward. It plays on as though microbatches without a turn took
  // no time, up to what it has next of one that has a turn; forwards that come before that share the time.
  double interval() const {
    interleaved_clock guess = *this;
    for (std::int32_t sharing = 0; guess.at_[0] < 2 * all_;) {
      const task next = guess.next_of(0);
      if (const double comes = guess.arrival(next); comes == not_yet) {
        for (std::int32_t r = 1; r < ranks_; ++r)
          while (guess.at_[r] < 2 * all_ && guess.play(r)) {
          }
      } else if (is_known(next)) {
        return (std::max(comes, guess.free_[0]) - free_[0]) / std::max(1, sharing);
      } else {
        guess.play(0);
        ++sharing;
      }
    }
    return 0;
  }

 private:
  static constexpr double not_yet = -1;
  struct task {
    bool forward = true;
    std::int32_t stage = 0, turn = 0;
  };

  // The turns of interleaved::write.
  task next_of(std::int32_t rank) const {
    const std::int32_t even =
        chunks_ == 1 ? ranks_ - rank - 1 : 2 * (ranks_ - rank - 1) + (chunks_ - 1) * ranks_;
    const std::int32_t warm_up = chunks_ > 1 && times_->microbatches == ranks_ ? all_ : std::min(all_, even);
    const std::int32_t at = at_[rank], turns = at - warm_up;
    const bool forward = turns < 0 || (turns < 2 * (all_ - warm_up) && turns % 2 == 0);
    std::int32_t k = at - all_;
    if (turns < 0) k = at;
    else if (turns < 2 * (all_ - warm_up)) k = turns / 2 + (forward ? warm_up : 0);
    const std::int32_t round = ranks_ * chunks_, chunk = k % round / ranks_;
    return {forward, (forward ? chunk : chunks_ - 1 - chunk) * ranks_ + rank,
            k / round * ranks_ + k % ranks_};
  }
  bool is_known(const task& of) const { return of.turn < order_.size(); }
  isize cell(std::int32_t stage, std::int32_t turn) const {
    return isize{stage} * times_->microbatches + turn;
  }
  double arrival(const task& of) const {
    if (of.forward) return of.stage > 0 ? forward_[cell(of.stage - 1, of.turn)] : 0;
    return of.stage + 1 < times_->stages ? backward_[cell(of.stage + 1, of.turn)]
                                         : forward_[cell(of.stage, of.turn)];
  }
  // A rank plays its next task if what that needs has come. A microbatch without a turn takes no time.
  bool play(std::int32_t rank) {
    const task next = next_of(rank);
    const double comes = arrival(next);
    if (comes == not_yet) return false;
    double takes = 0;
    if (is_known(next))
      takes = next.forward ? times_->forward_of(next.stage, order_[next.turn])
                           : times_->backward_of(next.stage, order_[next.turn]);
    free_[rank] = std::max(free_[rank], comes) + takes;
    (next.forward ? forward_ : backward_)[cell(next.stage, next.turn)] = free_[rank];
    ++at_[rank];
    return true;
  }

  const microbatch_times* times_;
  std::int32_t chunks_, ranks_, all_;  // all_: forwards of a rank
  microbatch_order order_;
  list<double> forward_, backward_;  // when each ends, of each (stage, turn)
  list<std::int32_t> at_;            // of each rank, how many tasks it has played
  list<double> free_;                // and when the last of them ended
};

inline double interleaved_seconds(const microbatch_times& times, std::int32_t chunks,
                                  const microbatch_order& order) {
  interleaved_clock clock(times, chunks);
  for (const std::int32_t each : order) clock.append(each);
  return clock.finish();
}

namespace detail {

inline microbatch_order fill_chunks(const microbatch_times& times, std::int32_t chunks) {
  const std::int32_t ranks = times.stages / chunks;
  microbatch_order by_size = smallest_first(times);
  if (times.microbatches <= ranks) return by_size;
  waiting_microbatches between(times, by_size, ranks);
  microbatch_order order;
  interleaved_clock clock(times, chunks);
  const auto append = [&](std::int32_t microbatch) {
    order.push(microbatch);
    clock.append(microbatch);
  };
  append(by_size[0]);
  while (!between.empty()) append(between.take_closest(clock.interval()));
  for (std::int32_t k = ranks - 1; k > 0; --k) append(by_size[k]);
  return order;
}

}  // namespace detail

// The same algorithm for interleaved chunks: the smallest microbatch begins, the smallest of the rest end,
// and each turn between goes to the microbatch whose first forward comes closest to the time that the first
// rank would wait, as the clock of this schedule has it. That is for pipelines whose ends are unlike the
// rest. Where microbatches are heavy on all stages alike, those beside each other should be of like size. So
// all by size, and the order for 1F1B, which is between both, are looked at as well, and the shortest is
// taken by the clock. One chunk is the order for 1F1B.
// Asks for: times of each microbatch on each stage, as many stages on each rank, and microbatches that the
// ranks divide where there are more chunks than one.
// Memory: four numbers for each stage and microbatch.
// Errors: none of its own.
// Example:
//   double seconds(const microbatch_times& times) {
//     return interleaved_seconds(times, 2, fill_intervals(times, 2));
//   }
inline microbatch_order fill_intervals(const microbatch_times& times, std::int32_t chunks) {
  if (chunks == 1) return fill_intervals(times);
  microbatch_order best = fill_intervals(times);
  double least = interleaved_seconds(times, chunks, best);
  for (const microbatch_order& each : {detail::smallest_first(times), detail::fill_chunks(times, chunks)}) {
    const double seconds = interleaved_seconds(times, chunks, each);
    if (seconds < least) least = seconds, best = each;
  }
  return best;
}

}  // namespace motet
