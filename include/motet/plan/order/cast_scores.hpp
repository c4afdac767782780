// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/place_clock.hpp>
#include <motet/plan/order/program_order.hpp>
#include <motet/plan/order/program_samples.hpp>
#include <motet/plan/order/step_headers.hpp>
#include <motet/schedule/core/program.hpp>
#include <motet/schedule/simulate/simulate.hpp>
#include <motet/strategy/sample_split.hpp>

#include <cstdint>
#include <vector>

namespace motet {

// The programs of all scores that take turns in a run (schedule/core/cast.hpp), and what is known of their
// places: how long a step takes by each of them, with samples that bring so much. Each score has a clock of
// its own, as the same places take longer in some orders: a backward in two parts costs more than one in
// one part, and ranks that share processors wait for each other elsewhere. A score that was not recorded
// yet takes what the last one did that was; one whose clock is doubted, as it is old, what is less. Programs
// outlive it.
// Asks for: programs of one cast; how each module cuts the samples of a step, and whether its loss compares
// them; of each place what a unit of work takes in each of its parts, in any unit of time; how many ranks
// keep their samples in one group, 0: all.
// Memory: some numbers for each microbatch and each place of each program.
// Errors: none of its own.
// Example:
//   #include <motet/schedule/core/compile.hpp>
//   #include <motet/schedule/write/gpipe.hpp>
//   #include <motet/schedule/write/one_f_one_b.hpp>
//   bool is_shorter(const step_headers& of) {
//     const pipeline_shape shape{.stages = 2, .microbatches = 4};
//     const program first = compile(one_f_one_b::write(shape)), other = compile(gpipe::write(shape));
//     const cast_scores scores({&first, &other}, {sample_split{.samples = 8, .groups = 4}}, false,
//                              {stage_cost{1, 1, 1}, stage_cost{1, 1, 1}});
//     return scores.seconds(1, of) < scores.seconds(0, of);
//   }
class cast_scores {
 public:
  cast_scores(const std::vector<const program*>& all, const list<sample_split>& splits, bool compares,
              const list<stage_cost>& counted, isize together = 0)
      : samples_(samples_of(all, splits, compares, together)),
        counted_(samples_.front(), counted),
        clocks_(all.size(), counted_),
        doubted_(all.size(), false) {}

  std::int32_t size() const { return static_cast<std::int32_t>(samples_.size()); }
  bool has(std::int32_t score) const { return score >= 0 && score < size(); }
  const program& operator[](std::int32_t score) const { return samples(score).of(); }
  const program_samples& samples(std::int32_t score) const { return samples_[as_size(score)]; }
  // Says whether seconds are seconds; else they are in the unit of the costs that were counted.
  bool measured() const { return latest_ >= 0; }
  // A step of this score was recorded, and its clock is not doubted.
  bool measured(std::int32_t score) const {
    return clocks_[as_size(score)].measured() && !doubted_[as_size(score)];
  }
  // The step as find(orders) has it, by this score's orders: ordered_step of a program_order.
  template <class Find>
  ordered_step ordered(std::int32_t score, Find&& find) const {
    const place_clock &own = clocks_[as_size(score)], &last = latest_ < 0 ? own : clocks_[as_size(latest_)];
    if (measured(score)) return find(program_order(samples(score), own));
    ordered_step by_last = find(program_order(samples(score), last));
    if (!own.measured()) return by_last;
    ordered_step by_own = find(program_order(samples(score), own));
    return by_last.seconds < by_own.seconds ? by_last : by_own;
  }
  // The time of a step by simulate(), with samples as they are listed.
  double seconds(std::int32_t score, const step_headers& of) const {
    return ordered(score, [&](const program_order& orders) { return orders.as_listed(of); }).seconds;
  }
  // What was recorded of this score is long ago, and counts as no more than a promise until it is again.
  void doubt(std::int32_t score) { doubted_[as_size(score)] = score != latest_; }
  // A step of this score was recorded, of these samples in this order.
  void note(std::int32_t score, const step_headers& of, const sample_order& order, const timeline& when) {
    list<double> work;
    samples(score).add_work(of, order, work);
    place_clock& own = clocks_[as_size(score)];
    if (doubted_[as_size(score)]) own = counted_;
    own.note(samples(score), work, when);
    doubted_[as_size(score)] = false;
    latest_ = score;
  }

 private:
  static std::vector<program_samples> samples_of(const std::vector<const program*>& all,
                                                 const list<sample_split>& splits, bool compares,
                                                 isize together) {
    std::vector<program_samples> out;
    out.reserve(all.size());
    for (const program* const each : all) out.emplace_back(*each, splits, compares, together);
    return out;
  }

  std::vector<program_samples> samples_;  // as each program takes them
  place_clock counted_;
  std::vector<place_clock> clocks_;  // of each score
  std::vector<bool> doubted_;        // likewise
  std::int32_t latest_ = -1;         // the score of the last step that was recorded; -1: none was
};

}  // namespace motet
