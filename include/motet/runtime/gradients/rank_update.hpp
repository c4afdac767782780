// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/flat_runs.hpp>
#include <motet/backend/groups/stream_lanes.hpp>
#include <motet/model/join.hpp>
#include <motet/runtime/gradients/parameter_piece.hpp>
#include <motet/runtime/state/held_memory.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

namespace motet {

// The end of a step on one rank. When its last stage is through, all ranks tell each other the squares of
// their gradients, their part of the loss and of the gradients of losses' numbers. So all clip by the norm
// of the whole gradient and take one decision: update, or leave all as it is. A rank that is the only one of
// its program asks nobody: the update reads both sums where operations left them, and nothing waits.
template <class Home>
class rank_update {
 public:
  using master = typename Home::master;
  using update_list = typename Home::context::template update_list<master>;
  using average_list = typename Home::context::template average_list<master>;
  using flat_list = typename Home::context::template flat_list<master>;

  // loss_numbers: of all losses. The meeting of all ranks that update, and this one's number among them.
  rank_update(Home& home, const learning& how, isize loss_numbers, std::int32_t meeting, std::int32_t member,
              std::int32_t members)
      : home_(home),
        how_(how),
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
    const std::int32_t lane = piece.lane;
    constexpr bool sums_only = requires { by.sums(); };
    if (piece.share == nullptr) piece.share = &by.layout().share;
    if constexpr (sums_only) piece.gradients = by.sums();
    pieces_.emplace_back(std::move(piece), sums_only);
    sums_.push_back({&by, [](void* self) { static_cast<Reduction*>(self)->begin_step(); },
                     [](void* self) { return static_cast<Reduction*>(self)->finish(); },
                     [](void* self) { return static_cast<Reduction*>(self)->gather_weights(); }, lane});
  }
  // The numbers of a loss, whose gradients come in parts, what one of them stays at or below, and which they
  // are among those of all losses.
  void hold_loss(parameter_piece<master> piece, number_limit limit, interval at) {
    losses_.push_back({held(std::move(piece), false), limit, at});
  }
  // Makes a list of what is moved, and one of what is counted, when all is held. Else the first step does it.
  void prepare() {
    std::vector<flat_run<master>> counted;
    std::vector<average_run<master>> followed;
    moved_.clear();
    for (const held& each : pieces_) {
      each.list(moved_at(each.piece.pace));
      each.list(followed);
      for (const interval part : each.counted)
        counted.push_back({each.piece.gradients + part.begin, part.size()});
    }
    alone_ = home_.end->ranks() == 1 && sums_.empty();
    for (const held_loss& each : losses_) {
      each.of.list(moved_at({}));
      each.of.list(followed);
      // Of several ranks the numbers of losses are counted when all parts are there.
      if (alone_) counted.push_back({each.of.piece.gradients, each.of.piece.size});
    }
    counted_ = flat_list(std::move(counted));
    followed_ = average_list(std::move(followed));
    for (moved_alike& each : moved_) {
      each.list = update_list(std::move(each.runs));
      each.list.prepare(home_.ctx);
    }
    counted_.prepare(home_.ctx);
    followed_.prepare(home_.ctx);
    prepared_ = true;
  }
  void begin_step(isize update, double rate) {
    if (!prepared_) prepare();
    update_ = update;
    rate_ = rate;
    ready_ = 0;
    now_ = doing::sums;
    for (const reduction& each : sums_) each.begin_step(each.self);
  }
  // Says whether the stage that stage_ready() is called for next is the last one: all other work of the step
  // was begun.
  bool last_is_next() const { return ready_ + 1 >= static_cast<isize>(pieces_.size()); }
  // Called for each stage that may be updated; the last one does the work. The result is false when other
  // ranks have not told theirs yet: call again. loss: this rank's part, or null; gradients: its parts of
  // those of losses' numbers. They lie where operations work.
  bool stage_ready(double* loss, std::span<const loss_gradients<master>> gradients) {
    const auto stages = static_cast<isize>(pieces_.size());
    if (ready_ < stages && ++ready_ < stages) return true;
    if (alone_) {
      meet_lanes(*home_.end);
      return update_alone(loss), true;
    }
    if (now_ == doing::sums) {
      if (!all_say(&reduction::finish)) return false;
      meet_lanes(*home_.end);
      tell(loss, gradients);
      now_ = doing::meeting;
    }
    if (now_ == doing::meeting) {
      const auto* const own = reinterpret_cast<const std::byte*>(told_.data());
      const isize bytes = static_cast<isize>(told_.size() * sizeof(double));
      if (!home_.end->gather(meeting_, member_, own, bytes, reinterpret_cast<std::byte*>(heard_.data())))
        return false;
      finish();
      meet_lanes(*home_.end);
      now_ = doing::weights;
    }
    return all_say(&reduction::gather_weights);  // also when there was no update: data decides about no call
  }
  // A rank that is alone knows the loss of the step that ended: it waits until it is there.
  bool is_alone() const { return alone_; }
  double loss() { return known().loss; }
  // The norm is that before clipping, of the step that ended.
  double norm() { return alone_ ? known().norm() : norm_; }

 private:
  enum class doing : std::uint8_t { sums, meeting, weights };
  // A run that this rank updates, and where its weights, gradients and moments are.
  struct own_run {
    parameter_run run;
    master* weights = nullptr;
    isize gradients = 0, moments = 0, seconds = 0;
  };
  // These move at one rate, but for shares of it, and with one decay: all do, where no module has its own.
  // Their numbers change from step to step, and the lists stay.
  struct moved_alike {
    std::optional<double> decay;
    std::optional<rate_schedule> schedule;
    std::vector<update_run<master>> runs;
    std::vector<matrix_run<master>> matrices;  // that Muon moves
    update_list list;
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
        const isize moved = each.moments - each.at.begin, second = each.seconds - each.at.begin;
        for (const parameter_run& run : piece.runs) {
          const interval both = intersection(each.at, {run.offset, run.offset + run.size});
          parameter_run part = run;
          part.offset = both.begin;
          part.size = both.size();
          if (both.size() > 0)
            runs.push_back({part, piece.weight(each, both.begin), both.begin + (sums_only ? moved : 0),
                            both.begin + moved, each.seconds < 0 ? -1 : both.begin + second});
        }
        for (const interval part : share.counted) {
          const interval both = intersection(each.at, part);
          if (both.size() > 0)
            counted.push_back({both.begin + (sums_only ? moved : 0), both.end + (sums_only ? moved : 0)});
        }
      }
      rest = without(piece.size, own);
      shared = !rest.empty() && !piece.shares_only;
      if (sums_only) rest.clear();
    }
    void list(moved_alike& into) const {
      for (const auto& [run, weight, gradients, moments, seconds] : runs) {
        master* const gradient = piece.gradients + gradients;
        if (run.rows > 0)
          into.matrices.push_back({weight, gradient, piece.first + moments, run.rows / run.stacked,
                                   run.size / run.rows, run.stacked, run.decay, run.rate});
        else
          into.runs.push_back({weight, gradient, piece.first + moments,
                               piece.second != nullptr && seconds >= 0 ? piece.second + seconds : nullptr,
                               run.size, run.decay, false, false, run.rate});
      }
      for (const interval each : rest)
        into.runs.push_back(
            {nullptr, piece.gradients + each.begin, nullptr, nullptr, each.size(), false, true});
    }
    void list(std::vector<average_run<master>>& into) const {
      for (const own_run& each : runs)
        if (piece.average != nullptr)
          into.push_back({each.weights, piece.average + each.moments, each.run.size});
    }
  };
  struct held_loss {
    held of;
    number_limit limit;
    interval at;
  };
  struct reduction {
    void* self;
    void (*begin_step)(void*);
    bool (*finish)(void*);
    bool (*gather_weights)(void*);
    std::int32_t lane;
  };

  bool all_say(bool (*reduction::*what)(void*)) const {
    bool done = true;
    for (const reduction& each : sums_)
      done = in_lane(*home_.end, each.lane, [&] { return (each.*what)(each.self); }) && done;
    return done;
  }
  moved_alike& moved_at(const module_pace& pace) {
    for (moved_alike& each : moved_)
      if (each.decay == pace.decay && each.schedule == pace.schedule) return each;
    return moved_.emplace_back(moved_alike{pace.decay, pace.schedule, {}, {}, {}});
  }
  update_step step_for(const moved_alike& of, double clip_scale) const {
    update_step step = update_step_for(how_.optimizer, update_ + 1,
                                       of.schedule ? of.schedule->at(update_) : rate_, clip_scale, true);
    if (of.decay) step.decay = *of.decay;
    return step;
  }
  // sums: that operations look at; none where they allowed it already.
  template <class... Sums>
  void move(typename Home::context& ctx, const moved_alike& all, double clip_scale, const Sums&... sums) {
    const update_step step = step_for(all, clip_scale);
    if (how_.optimizer.kind == optimizer_kind::lion) lion(ctx, all.list, step, sums...);
    else adamw(ctx, all.list, step, sums...);
    const std::span<const matrix_run<master>> matrices(all.matrices);
    if constexpr (moves_matrices<typename Home::context, master>) {
      if (matrices.empty()) return;
      ctx.memory = home_.work;
      muon(ctx, matrices, step, sums...);
    }
  }
  template <class... Sums>
  void clamp_losses(typename Home::context& ctx, const Sums&... sums) {
    for (const auto& [of, limit, at] : losses_)
      if (limit.number >= 0)
        clamp_to(ctx, of.piece.weights + limit.number, static_cast<master>(limit.most), sums...);
  }
  // All stays as it is where the sums do not allow an update.
  void update_alone(double* loss) {
    home_.together([&](typename Home::context& ctx, int thread) {
      const auto section = enter(ctx, "optimizer");
      const auto squares = sum_of_squares(ctx, counted_);
      const auto whole = real_at(ctx, loss);
      const auto coming = begin_numbers(ctx, whole, squares);
      for (const moved_alike& each : moved_) move(ctx, each, 1, whole, squares, how_.optimizer.clip);
      clamp_losses(ctx, whole, squares);
      if (how_.ema > 0) average(ctx, followed_, how_.ema, whole, squares);
      if (thread == 0) coming_ = coming;
    });
  }
  update_sums known() {
    const auto numbers = numbers_of(home_.ctx, coming_);
    return {numbers.first, numbers.second};
  }
  void tell(const double* loss, std::span<const loss_gradients<master>> gradients) {
    home_.together([&](typename Home::context& ctx, int thread) {
      const auto section = enter(ctx, "optimizer");
      const double squares = number_of(ctx, sum_of_squares(ctx, counted_));
      if (thread == 0) told_[0] = squares;
    });
    told_[1] = loss != nullptr ? number_at(home_.ctx, loss) : 0;
    std::fill(of_loss_.begin(), of_loss_.end(), master(0));
    for (const loss_gradients<master>& each : gradients)
      download(home_.ctx, each.from, of_loss_.data() + each.at.begin, each.at.size());
    for (std::size_t i = 0; i < of_loss_.size(); ++i) told_[2 + i] = static_cast<double>(of_loss_[i]);
  }
  void finish() {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    for (std::size_t i = 0; i < heard_.size(); ++i) sum_[i % sum_.size()] += heard_[i];
    double squares = sum_[0];
    for (std::size_t i = 2; i < sum_.size(); ++i) squares += sum_[i] * sum_[i];
    norm_ = std::sqrt(squares);
    if (!std::isfinite(norm_) || !std::isfinite(sum_[1])) return;
    for (std::size_t i = 0; i < of_loss_.size(); ++i) of_loss_[i] = static_cast<master>(sum_[2 + i]);
    for (const auto& [of, limit, at] : losses_)
      upload(home_.ctx, static_cast<const master*>(of_loss_.data() + at.begin), of.piece.gradients,
             at.size());
    // Leaves all gradients zero.
    const double clip = clip_scale(norm_, how_.optimizer.clip);
    home_.together([&](typename Home::context& ctx, int) {
      const auto section = enter(ctx, "optimizer");
      for (const moved_alike& each : moved_) move(ctx, each, clip);
      clamp_losses(ctx);
      if (how_.ema > 0) average(ctx, followed_, how_.ema);
    });
    // Those of others come when weights are gathered.
    for (const held& each : pieces_)
      if (each.shared)
        weights_changed(home_.ctx, static_cast<const master*>(each.piece.weights), each.piece.size);
  }

  Home& home_;
  learning how_;
  std::int32_t meeting_, member_;
  std::vector<double> told_, heard_, sum_;
  std::vector<master> of_loss_;  // gradients of the numbers of all losses
  std::vector<held> pieces_;
  std::vector<held_loss> losses_;   // whose numbers are here
  std::vector<moved_alike> moved_;  // of all pieces and losses
  average_list followed_;           // likewise
  flat_list counted_;               // of all pieces
  std::vector<reduction> sums_;
  isize update_ = 0, ready_ = 0;
  doing now_ = doing::sums;
  double rate_ = 0, norm_ = 0;
  decltype(begin_numbers(std::declval<typename Home::context&>(), typename Home::context::real{},
                         typename Home::context::real{})) coming_{};
  bool prepared_ = false, alone_ = false;  // alone_: no other rank has a part of the step
};

}  // namespace motet
