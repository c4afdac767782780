// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/flat_runs.hpp>
#include <motet/model/join.hpp>
#include <motet/runtime/gradients/parameter_piece.hpp>
#include <motet/runtime/state/held_memory.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace motet {

// The end of a step on one rank. When its last stage is through, all ranks tell each other the squares of
// their gradients, their part of the loss and of the gradients of the loss's numbers. So all clip by the norm
// of the whole gradient and take one decision: update, or leave all as it is. A rank that is the only one of
// its program asks nobody: the update reads both sums where operations left them, and nothing waits.
template <class Home, class Step>
class rank_update {
 public:
  using master = typename Home::master;
  using adamw_list = typename Home::context::template adamw_list<master>;
  using flat_list = typename Home::context::template flat_list<master>;

  // The meeting of all ranks that update, and this one's number among them.
  rank_update(Home& home, const adamw_settings& settings, index loss_numbers, std::int32_t meeting,
              std::int32_t member, std::int32_t members)
      : home_(home),
        settings_(settings),
        meeting_(meeting),
        member_(member),
        told_(as_size(2 + loss_numbers)),
        heard_(told_.size() * as_size(members)),
        sum_(told_.size()),
        of_loss_(as_size(loss_numbers)) {}

  void hold(parameter_piece<master> piece) { pieces_.emplace_back(std::move(piece), false); }
  // One whose gradients are summed over several ranks, which may share its update. Keeps the address of `by`.
  template <class Reduction>
  void hold(parameter_piece<master> piece, Reduction& by) {
    constexpr bool sums_only = requires { by.sums(); };
    piece.share = &by.layout().share;
    if constexpr (sums_only) piece.gradients = by.sums();
    pieces_.emplace_back(std::move(piece), sums_only);
    sums_.push_back({&by, [](void* self) { static_cast<Reduction*>(self)->begin_step(); },
                     [](void* self) { return static_cast<Reduction*>(self)->finish(); },
                     [](void* self) { return static_cast<Reduction*>(self)->gather_weights(); }});
  }
  // The numbers of the loss, whose gradients come in parts, and what one of them stays at or below.
  void hold_loss(parameter_piece<master> piece, number_limit limit) {
    loss_ = held(std::move(piece), false);
    limit_ = limit;
  }
  // When all is held: a list of what is moved, and one of what is counted. Else the first step does it.
  void prepare() {
    std::vector<adamw_run<master>> moved;
    std::vector<flat_run<master>> counted;
    for (const held& each : pieces_) {
      each.list(moved);
      for (const interval part : each.counted)
        counted.push_back({each.piece.gradients + part.begin, part.size()});
    }
    loss_.list(moved);
    alone_ = home_.end->ranks() == 1 && sums_.empty();
    // Of several ranks the loss's numbers are counted when all parts are there.
    if (alone_ && loss_.piece.size > 0) counted.push_back({loss_.piece.gradients, loss_.piece.size});
    moved_ = adamw_list(std::move(moved));
    counted_ = flat_list(std::move(counted));
    moved_.prepare(home_.ctx);
    counted_.prepare(home_.ctx);
    prepared_ = true;
  }
  void begin_step(index update, double rate) {
    if (!prepared_) prepare();
    update_ = update;
    rate_ = rate;
    ready_ = 0;
    now_ = doing::sums;
    for (const reduction& each : sums_) each.begin_step(each.self);
  }
  // Whether the stage that stage_ready() is called for next is the last one: all other work of the step was
  // begun.
  bool last_is_next() const { return ready_ + 1 >= static_cast<index>(pieces_.size()); }
  // Called for each stage that may be updated; the last one does the work. False: other ranks have not told
  // theirs yet, call again. loss: this rank's part; gradients: of the numbers of the loss, its part. Both lie
  // where operations work, or are null.
  bool stage_ready(double* loss, const master* gradients) {
    const auto stages = static_cast<index>(pieces_.size());
    if (ready_ < stages && ++ready_ < stages) return true;
    if (alone_) return update_alone(loss), true;
    if (now_ == doing::sums) {
      if (!all_say(&reduction::finish)) return false;
      tell(loss, gradients);
      now_ = doing::meeting;
    }
    if (now_ == doing::meeting) {
      const auto* const own = reinterpret_cast<const std::byte*>(told_.data());
      const index bytes = static_cast<index>(told_.size() * sizeof(double));
      if (!home_.end->gather(meeting_, member_, own, bytes, reinterpret_cast<std::byte*>(heard_.data())))
        return false;
      finish();
      now_ = doing::weights;
    }
    return all_say(&reduction::gather_weights);  // also when there was no update: data decides about no call
  }
  // Of the step that ended, where no other rank has a part of it: waits until the loss is known.
  bool is_alone() const { return alone_; }
  double loss() { return known().loss; }
  // Before clipping; of the step that ended.
  double norm() { return alone_ ? known().norm() : norm_; }

 private:
  enum class doing : std::uint8_t { sums, meeting, weights };
  // A run that this rank updates, and where its gradients and moments are.
  struct own_run {
    parameter_run run;
    index gradients = 0, moments = 0;
  };
  struct held {
    parameter_piece<master> piece;
    std::vector<own_run> runs;
    std::vector<interval> counted, rest;  // of the gradients; rest: what others update
    bool shared = false;                  // others update a part of the weights
    held() = default;
    // sums_only: gradients are there for what is updated here alone, in the order of moments.
    held(parameter_piece<master> from, bool sums_only) : piece(std::move(from)) {
      const update_share share = piece.share != nullptr ? *piece.share : whole_share(piece.size);
      std::vector<interval> own;
      for (const owned_elements& each : share.owned) {
        own.push_back(each.at);
        const index moved = each.moments - each.at.begin;
        for (const parameter_run& run : piece.runs) {
          const interval both = intersection(each.at, {run.offset, run.offset + run.size});
          parameter_run part = run;
          part.offset = both.begin;
          part.size = both.size();
          if (both.size() > 0)
            runs.push_back({part, both.begin + (sums_only ? moved : 0), both.begin + moved});
        }
        for (const interval part : share.counted) {
          const interval both = intersection(each.at, part);
          if (both.size() > 0)
            counted.push_back({both.begin + (sums_only ? moved : 0), both.end + (sums_only ? moved : 0)});
        }
      }
      rest = without(piece.size, own);
      shared = !rest.empty();
      if (sums_only) rest.clear();
    }
    void list(std::vector<adamw_run<master>>& into) const {
      for (const auto& [run, gradients, moments] : runs)
        into.push_back({piece.weights + run.offset, piece.gradients + gradients, piece.first + moments,
                        piece.second + moments, run.size, run.decay, false, false, run.rate_share,
                        run.decay_share});
      for (const interval each : rest)
        into.push_back({nullptr, piece.gradients + each.begin, nullptr, nullptr, each.size(), false, true});
    }
  };
  struct reduction {
    void* self;
    void (*begin_step)(void*);
    bool (*finish)(void*);
    bool (*gather_weights)(void*);
  };

  bool all_say(bool (*reduction::*what)(void*)) const {
    bool done = true;
    for (const reduction& each : sums_) done = (each.*what)(each.self) && done;
    return done;
  }
  Step step_for(double clip_scale) const {
    return adamw_step_for<Step>(settings_, update_ + 1, rate_, clip_scale, true);
  }
  bool limits_loss() const { return loss_.piece.size > 0 && limit_.number >= 0; }
  // Where the sums do not allow it, all stays as it is.
  void update_alone(double* loss) {
    home_.together([&](typename Home::context& ctx, int thread) {
      const auto section = enter(ctx, "optimizer");
      const auto squares = sum_of_squares(ctx, counted_);
      const auto whole = real_at(ctx, loss);
      const auto coming = begin_numbers(ctx, whole, squares);
      adamw(ctx, moved_, step_for(1), whole, squares, settings_.clip);
      if (limits_loss())
        clamp_to(ctx, loss_.piece.weights + limit_.number, static_cast<master>(limit_.most), whole, squares);
      if (thread == 0) coming_ = coming;
    });
  }
  update_sums known() {
    const auto numbers = numbers_of(home_.ctx, coming_);
    return {numbers.first, numbers.second};
  }
  void tell(const double* loss, const master* gradients) {
    home_.together([&](typename Home::context& ctx, int thread) {
      const auto section = enter(ctx, "optimizer");
      const double squares = number_of(ctx, sum_of_squares(ctx, counted_));
      if (thread == 0) told_[0] = squares;
    });
    told_[1] = loss != nullptr ? number_at(home_.ctx, loss) : 0;
    if (gradients != nullptr)
      download(home_.ctx, gradients, of_loss_.data(), static_cast<index>(of_loss_.size()));
    for (std::size_t i = 0; i < of_loss_.size(); ++i)
      told_[2 + i] = gradients != nullptr ? static_cast<double>(of_loss_[i]) : 0;
  }
  void finish() {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    for (std::size_t i = 0; i < heard_.size(); ++i) sum_[i % sum_.size()] += heard_[i];
    double squares = sum_[0];
    for (std::size_t i = 2; i < sum_.size(); ++i) squares += sum_[i] * sum_[i];
    norm_ = std::sqrt(squares);
    if (!std::isfinite(norm_) || !std::isfinite(sum_[1])) return;
    const parameter_piece<master>& loss = loss_.piece;
    if (loss.size > 0) {
      for (std::size_t i = 0; i < of_loss_.size(); ++i) of_loss_[i] = static_cast<master>(sum_[2 + i]);
      upload(home_.ctx, static_cast<const master*>(of_loss_.data()), loss.gradients, loss.size);
    }
    // Leaves all gradients zero.
    const Step step = step_for(clip_scale(norm_, settings_.clip));
    home_.together([&](typename Home::context& ctx, int) {
      const auto section = enter(ctx, "optimizer");
      adamw(ctx, moved_, step);
    });
    if (limits_loss()) clamp_to(home_.ctx, loss.weights + limit_.number, static_cast<master>(limit_.most));
    // Those of others come when weights are gathered.
    for (const held& each : pieces_)
      if (each.shared)
        weights_changed(home_.ctx, static_cast<const master*>(each.piece.weights), each.piece.size);
  }

  Home& home_;
  adamw_settings settings_;
  std::int32_t meeting_, member_;
  std::vector<double> told_, heard_, sum_;
  std::vector<master> of_loss_;  // gradients of its numbers
  std::vector<held> pieces_;
  adamw_list moved_;   // of all pieces and the loss
  flat_list counted_;  // of all pieces
  std::vector<reduction> sums_;
  held loss_;
  number_limit limit_;
  index update_ = 0, ready_ = 0;
  doing now_ = doing::sums;
  double rate_ = 0, norm_ = 0;
  decltype(begin_numbers(std::declval<typename Home::context&>(), typename Home::context::real{},
                         typename Home::context::real{})) coming_{};
  bool prepared_ = false, alone_ = false;  // alone_: no other rank has a part of the step
};

}  // namespace motet
