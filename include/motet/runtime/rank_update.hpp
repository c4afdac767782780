// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/parameter_piece.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace motet {

// The end of a step on one rank. When its last stage is through, all ranks tell each other the squares of their gradients, their part of the loss
// and of the gradients of the loss's numbers. So all clip by the norm of the whole gradient and take one decision: update, or leave all as it is.
template <class Home, class Step>
class rank_update {
 public:
  using master = typename Home::master;

  // The meeting of all ranks that update, and this one's number among them.
  rank_update(Home& home, const adamw_settings& settings, index loss_numbers, std::int32_t meeting, std::int32_t member, std::int32_t members)
      : home_(home),
        settings_(settings),
        meeting_(meeting),
        member_(member),
        told_(static_cast<std::size_t>(2 + loss_numbers)),
        heard_(told_.size() * static_cast<std::size_t>(members)),
        sum_(told_.size()) {}

  void hold(parameter_piece<master> piece) { pieces_.push_back(std::move(piece)); }
  // The numbers of the loss, whose gradients come in parts. Number clamped (-1: none) stays at or below ln 100.
  void hold_loss(parameter_piece<master> piece, index clamped) {
    loss_ = std::move(piece);
    clamped_ = clamped;
  }
  void begin_step(index update, double rate) {
    update_ = update;
    rate_ = rate;
    ready_ = 0;
  }
  // Called for each stage that may be updated; the last one does the work. False: other ranks have not told theirs yet, call again.
  // loss: this rank's part; gradients: of the numbers of the loss, its part, or null.
  bool stage_ready(double loss, const master* gradients) {
    const auto stages = static_cast<index>(pieces_.size());
    if (ready_ < stages) {
      if (++ready_ < stages) return true;
      tell(loss, gradients);
    }
    const auto* const own = reinterpret_cast<const std::byte*>(told_.data());
    const index bytes = static_cast<index>(told_.size() * sizeof(double));
    if (!home_.end->gather(meeting_, member_, own, bytes, reinterpret_cast<std::byte*>(heard_.data()))) return false;
    finish();
    return true;
  }
  // Before clipping; of the step that ended.
  double norm() const { return norm_; }

 private:
  void tell(double loss, const master* gradients) {
    told_[0] = 0;
    for (const auto& each : pieces_) told_[0] += sum_of_squares(home_.ctx, each.gradients, each.size);
    told_[1] = loss;
    for (std::size_t i = 2; i < told_.size(); ++i) told_[i] = gradients != nullptr ? static_cast<double>(gradients[i - 2]) : 0;
  }
  void finish() {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    for (std::size_t i = 0; i < heard_.size(); ++i) sum_[i % sum_.size()] += heard_[i];
    double squares = sum_[0];
    for (std::size_t i = 2; i < sum_.size(); ++i) squares += sum_[i] * sum_[i];
    norm_ = std::sqrt(squares);
    if (!std::isfinite(norm_) || !std::isfinite(sum_[1])) return;
    for (const auto& each : pieces_) update(each);
    if (loss_.size == 0) return;
    for (index i = 0; i < loss_.size; ++i) loss_.gradients[i] = static_cast<master>(sum_[static_cast<std::size_t>(2 + i)]);
    update(loss_);
    constexpr auto most = static_cast<master>(4.60517018598809);  // ln 100
    if (clamped_ >= 0 && loss_.weights[clamped_] > most) loss_.weights[clamped_] = most;
  }
  void update(const parameter_piece<master>& of) {
    const double scale = clip_scale(norm_, settings_.clip);
    for (const parameter_run& run : of.runs) {
      const auto settings = adamw_step_for<Step>(settings_, update_ + 1, rate_, scale, run.decay);
      adamw(home_.ctx, of.weights + run.offset, of.gradients + run.offset, of.first + run.offset, of.second + run.offset, run.size, settings, true);
    }
  }

  Home& home_;
  adamw_settings settings_;
  std::int32_t meeting_, member_;
  std::vector<double> told_, heard_, sum_;
  std::vector<parameter_piece<master>> pieces_;
  parameter_piece<master> loss_;
  index clamped_ = -1;
  index update_ = 0, ready_ = 0;
  double rate_ = 0, norm_ = 0;
};

}  // namespace motet
