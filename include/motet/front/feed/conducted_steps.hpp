// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/feed/batch_headers.hpp>
#include <motet/front/feed/counted_costs.hpp>
#include <motet/front/trainer.hpp>
#include <motet/plan/order/cast_scores.hpp>
#include <motet/plan/order/conduct_told.hpp>
#include <motet/plan/order/conductor.hpp>
#include <motet/runtime/feeds/program_splits.hpp>
#include <motet/runtime/train/picked_score.hpp>

#include <bit>
#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace motet {

struct conduct_options {
  any_conductor by = shortest_by_simulation{};
  // Steps between two that are recorded, from which costs are corrected, and three when a score is new; 0:
  // costs stay as they were counted.
  isize every = 8;
};

// A mark of headers, the same in all processes that see the same samples.
inline std::uint64_t mark_of(const step_headers& of) {
  std::uint64_t mark = mixed_bits(static_cast<std::uint64_t>(of.samples));
  for (const double each : of.rows)
    mark = mixed_bits(mark + golden_step + std::bit_cast<std::uint64_t>(each));
  return mark;
}

// Takes a trainer's steps each by the score that a conductor picks of those that take turns
// (trainer_options::conduct), from what its samples bring. Any score gives the same loss and gradients within
// rounding. A conductor is asked a step ahead, by a thread of its own, where the batch after the next one is
// told. Each process asks its own, from the same batch and the same records; where they pick unlike, no step
// begins.
// Asks for: a trainer that has several scores, else each step plays the only one, and that outlives this;
// batches of `batch` samples, of which all processes have all but the pictures of others.
// Memory: some numbers for each sample and each instruction.
// Errors: MT-R37, MT-R72, MT-R73
// Example:
//   #include <motet/nn/towers/vit.hpp>
//   using eye = vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 1, .heads = 2}>;
//   using pair = model<join<info_nce, module<"left", eye>, module<"right", eye>>>;
//   double loss_of_one(trainer<pair>& train, const pair::batch& batch) {
//     conducted_steps steps(train, 64);
//     return steps.step(batch, 1e-3).loss;
//   }
template <class Model, class Numbers = fp32, class Device = cpu::device>
class conducted_steps {
 public:
  using batch = typename Model::batch;

  // samples: of a step, as the trainer has them.
  conducted_steps(trainer<Model, Numbers, Device>& train, isize samples, conduct_options how = {})
      : train_(train),
        how_(std::move(how)),
        scores_(programs_of(train), splits_of(train.order(), samples), !is_own_loss<typename Model::loss>,
                counted_costs<Model>(train.order(), train.work(), samples)),
        samples_(static_cast<std::int32_t>(samples)),
        played_(as_size(scores_.size())) {}
  conducted_steps(const conducted_steps&) = delete;
  conducted_steps& operator=(const conducted_steps&) = delete;

  // Before step(): the batch of the step after it, of which no more is looked at than what its samples bring.
  void expect(const batch& next) { expected_ = headers_of<Model>(next, samples_); }

  step_result step(const batch& whole, double rate, timeline* record = nullptr) {
    step_headers headers = headers_of<Model>(whole, samples_);
    const auto asked = std::chrono::steady_clock::now();
    const pick found = pick_of(std::move(headers));
    told_ = found.told;
    told_.waited_seconds = seconds_since(asked);
    // No score is being picked now. The last step counts for all that are picked from here on, so that
    // processes which expect a step and those which do not pick with the same costs.
    if (recorded_) scores_.note(recorded_->score, recorded_->of, recorded_->when);
    recorded_.reset();
    playing_ = found.told.score;
    look_ahead();
    const bool learns = is_recorded();
    ++steps_;
    timeline own;
    if (record == nullptr && learns) record = &own;
    const step_result done = train_.step(whole, rate, record, {playing_, mark_of(found.of)});
    ++played_[as_size(playing_)];
    if (learns) recorded_.emplace(playing_, found.of, *record);
    return done;
  }

  // This is told of the last step.
  const conduct_told& told() const { return told_; }
  // What conductors are told of the scores.
  const cast_scores& scores() const { return scores_; }

 private:
  struct pick {
    step_headers of;
    conduct_told told;
  };
  struct recorded_step {
    std::int32_t score;
    step_headers of;
    timeline when;
  };

  static std::vector<const program*> programs_of(const trainer<Model, Numbers, Device>& train) {
    std::vector<const program*> all;
    for (std::size_t k = 0; k < train.scores().names.size(); ++k)
      all.push_back(&train.order(static_cast<std::int32_t>(k)));
    return all;
  }
  static double seconds_since(std::chrono::steady_clock::time_point from) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  }
  // From headers, the score that plays, and the costs that are known meanwhile, alone.
  pick asked_of(step_headers of) {
    const auto began = std::chrono::steady_clock::now();
    conduct_told told;
    const bool awaits_times = how_.every > 0 && !scores_.measured(playing_);
    if (scores_.size() > 1) told.score = how_.by({scores_, of, playing_, awaits_times});
    told.changed = told.score != playing_;
    told.measured = scores_.measured();
    if (told.score >= 0 && told.score < scores_.size()) {
      told.planned_seconds = scores_.seconds(0, of);
      told.seconds = told.score == 0 ? told.planned_seconds : scores_.seconds(told.score, of);
    }
    told.search_seconds = seconds_since(began);
    return {std::move(of), told};
  }
  // The first step of a score takes memory, and is none to measure by.
  bool is_recorded() const {
    if (how_.every == 0 || playing_ < 0 || playing_ >= scores_.size()) return false;
    const isize before = played_[as_size(playing_)];
    return before > 0 && (before < 4 || steps_ % how_.every == 0);
  }
  // A batch other than the expected one has a score of its own.
  pick pick_of(step_headers of) {
    if (looking_.valid()) {
      pick found = looking_.get();
      if (found.of.rows == of.rows) return found;
    }
    return asked_of(std::move(of));
  }
  void look_ahead() {
    if (!expected_) return;
    try {
      looking_ = std::async(std::launch::async,
                            [this, of = std::move(*expected_)]() mutable { return asked_of(std::move(of)); });
    } catch (const std::system_error&) {
      // Where there is no thread for it, the step asks itself.
    }
    expected_.reset();
  }

  trainer<Model, Numbers, Device>& train_;
  conduct_options how_;
  cast_scores scores_;
  std::int32_t samples_, playing_ = 0;
  conduct_told told_;
  isize steps_ = 0;
  std::vector<isize> played_;              // by each score
  std::optional<step_headers> expected_;   // nobody was asked yet
  std::optional<recorded_step> recorded_;  // the clock does not know it yet
  std::future<pick> looking_;              // last: it reads the others until it ends
};

}  // namespace motet
