// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/place_clock.hpp>
#include <motet/plan/order/program_samples.hpp>
#include <motet/plan/order/step_headers.hpp>
#include <motet/plan/order/step_order.hpp>
#include <motet/schedule/core/program.hpp>
#include <motet/schedule/simulate/simulate.hpp>
#include <motet/strategy/sample_split.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace motet {

// The programs of all scores that take turns in a run (schedule/core/cast.hpp), and what is known of their
// places: how long a step takes by each of them, with samples that bring so much. Programs outlive it.
// Asks for: programs of one cast; how each module cuts the samples of a step, and whether its loss compares
// them; of each place what a unit of work takes in each of its parts, in any unit of time.
// Memory: some numbers for each microbatch of each program.
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
              const list<stage_cost>& counted)
      : samples_(samples_of(all, splits, compares)), clock_(samples_.front(), counted) {}

  std::int32_t size() const { return static_cast<std::int32_t>(samples_.size()); }
  const program& operator[](std::int32_t score) const { return samples_[as_size(score)].of(); }
  // Whether seconds are seconds; else they are in the unit of the costs that were counted.
  bool measured() const { return clock_.measured(); }
  // By simulate(), with samples as they are listed.
  double seconds(std::int32_t score, const step_headers& of) const {
    timeline when;
    return simulate((*this)[score], clock_.costs(samples_.front(), work_of(of)), when).ok()
               ? when.makespan
               : std::numeric_limits<double>::infinity();
  }
  // A step of this score was recorded, of these samples. All scores have the same places, so it tells of all.
  void note(std::int32_t score, const step_headers& of, const timeline& when) {
    clock_.note(samples_[as_size(score)], work_of(of), when);
  }

 private:
  static std::vector<program_samples> samples_of(const std::vector<const program*>& all,
                                                 const list<sample_split>& splits, bool compares) {
    std::vector<program_samples> out;
    for (const program* const each : all) out.emplace_back(*each, splits, compares);
    return out;
  }
  // Cells are the cast's.
  list<double> work_of(const step_headers& of) const {
    list<double> work;
    samples_.front().add_work(of, in_turn(of.samples), work);
    return work;
  }

  std::vector<program_samples> samples_;  // as each program takes them
  place_clock clock_;
};

// What a conductor is told of a step that comes.
struct coming_step {
  const cast_scores& scores;
  const step_headers& of;    // of its samples
  std::int32_t playing = 0;  // the score of the step before it
};

// A conductor says which score a step plays, by its number. It is a function of what it is told and of nothing
// else, since each process asks its own, and all must play the same.
template <class T>
concept conductor = requires(T& by, const coming_step& next) {
  { by(next) } -> std::convertible_to<std::int32_t>;
};

// The identity: each step plays the plan's own score.
struct as_planned {
  constexpr std::int32_t operator()(const coming_step&) const { return 0; }
};

// The score that simulate() finds shortest; the one that plays goes on unless another is shorter by more than
// the margin, so that scores do not change for what a simulation cannot know.
// Asks for: nothing.
// Memory: that of a simulation, for as long as it lasts.
// Errors: none of its own.
// Example:
//   std::int32_t next_score(const coming_step& next) { return shortest_by_simulation{.margin = 0.1}(next); }
struct shortest_by_simulation {
  double margin = 0.02;  // share of the time of the one that plays

  std::int32_t operator()(const coming_step& next) const {
    const double goes_on = next.scores.seconds(next.playing, next.of);
    std::int32_t best = next.playing;
    double least = goes_on * (1 - margin);
    for (std::int32_t k = 0; k < next.scores.size(); ++k) {
      if (k == next.playing) continue;
      if (const double own = next.scores.seconds(k, next.of); own < least) best = k, least = own;
    }
    return best;
  }
};

static_assert(conductor<as_planned> && conductor<shortest_by_simulation>);

// Any conductor, of the library or of a program's own.
using any_conductor = std::function<std::int32_t(const coming_step&)>;

// What a conductor changed in a step, by the costs that were known before it, and what it took.
struct conduct_told {
  std::int32_t score = 0;
  bool changed = false;                     // the step before played another one
  double planned_seconds = 0, seconds = 0;  // by the plan's own score, and by this one; by simulate()
  bool measured = false;                    // costs come from the clock; else seconds are of an unknown unit
  double search_seconds = 0;                // that the conductor took, beside the step before or in it
  double waited_seconds = 0;                // of these, that the step did not begin

  double gained() const { return seconds > 0 ? planned_seconds / seconds : 1; }
};

// The same of all steps of a run.
// Asks for: nothing.
// Memory: a number for each score.
// Errors: none of its own.
// Example:
//   isize changes_of(const conduct_told& first, const conduct_told& second) {
//     conduct_sums all;
//     all.add(first);
//     all.add(second);
//     return all.changes;
//   }
struct conduct_sums {
  isize steps = 0, changes = 0, measured = 0;
  list<isize> played{};                     // by each score
  double planned_seconds = 0, seconds = 0;  // of steps whose costs came from the clock
  double search_seconds = 0, waited_seconds = 0;

  void add(const conduct_told& step) {
    ++steps;
    changes += step.changed ? 1 : 0;
    if (played.size() <= step.score) played.resize(step.score + 1, 0);
    ++played[step.score];
    search_seconds += step.search_seconds;
    waited_seconds += step.waited_seconds;
    if (!step.measured) return;
    ++measured;
    planned_seconds += step.planned_seconds;
    seconds += step.seconds;
  }
  double gained() const { return seconds > 0 ? planned_seconds / seconds : 1; }
};

}  // namespace motet
