// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/guard.hpp>
#include <motet/runtime/initialise.hpp>
#include <motet/runtime/placed_model.hpp>
#include <motet/runtime/program_fit.hpp>
#include <motet/runtime/rank_update.hpp>
#include <motet/runtime/thread_ranks.hpp>
#include <motet/runtime/trainer.hpp>

namespace motet {

struct pipeline_config {
  index batch = 64;                          // samples of a step, cut evenly into the program's groups, and these into microbatches
  std::vector<std::vector<index>> layers{};  // of each module, how many each of its stages holds; empty: as even as possible
  std::uint64_t seed = 1;
  adamw_settings optimizer{};
  bool clamp_scale = true;  // keeps join.log_scale at or below ln 100, as CLIP does
  bool update = true;       // false: gradients are left for the caller
  double deadline = 600;    // seconds for a step; then the ranks are stopped and who waits for whom is told. 0: none
};

// Trains a model by a program: ranks are threads of this process, each with its stages of the modules. Weights start as in trainer, and a step gives
// the same loss and gradients within rounding, whatever the program. After prepare() a step allocates nothing.
template <class Model, class Device, class Numbers, class World, class Endpoint>
class pipeline_trainer {
 public:
  using master = typename Numbers::master;
  using batch = typename Model::batch;

  pipeline_trainer(const score& order, pipeline_config config)
      : config_(std::move(config)),
        parameters_(Model::parameters()),
        ranks_(program_for<Model>(order, config_.update), config_.deadline),
        placed_(ranks_.sheet(), config_.batch, config_.layers, [this](std::int32_t rank) -> Endpoint& { return ranks_.end(rank); }) {
    for (std::int32_t i = 0; i < of().instructions.size(); ++i) {
      const action what = of().instructions[i].what == op::optimizer_step ? action{&update, this} : placed_.action_of(i);
      if (what.run == nullptr) fail(program_does_not_fit, locate(of(), i) + " is not run by this trainer");
      ranks_.player(of().rank_of(i)).set(i, what);
    }
  }

  // What each rank will hold; prepare() takes exactly that.
  std::vector<rank_memory> plan() const { return placed_.plan(); }
  // Takes all memory, draws the weights and makes the threads.
  void prepare() {
    placed_.prepare();
    updates_.clear();
    updates_.resize(static_cast<std::size_t>(of().ranks()));
    placed_.each_piece([&](std::int32_t rank, piece_type piece) {
      const std::vector<parameter> own = parameters_within(parameters_, piece.at, piece.size);
      initialise(own, config_.seed, piece.weights, piece.size);
      if (piece.gradients == nullptr || !config_.update) return;
      auto& there = updates_[static_cast<std::size_t>(rank)];
      const std::int32_t all = ranks_.updaters();
      if (!there)
        there = std::make_unique<update_type>(placed_.home(rank), config_.optimizer, Model::loss::parameter_size, all, ranks_.member(all, rank),
                                              ranks_.members(all));
      piece.runs = decay_runs(own, piece.size);
      if (piece.at == Model::loss_at) there->hold_loss(std::move(piece), config_.clamp_scale ? log_scale_at() : -1);
      else there->hold(std::move(piece));
    });
    ranks_.start();
    steps_ = 0;
    clean_ = false;
    prepared_ = true;
  }

  // One step. The loss is the mean over the program's groups. When a number is not finite: MT-R01, and the weights are as before.
  step_result step(const batch& whole, double rate, timeline* record = nullptr) {
    const auto started = std::chrono::steady_clock::now();
    if (!prepared_) fail(bad_training_option, "step() before prepare()");
    placed_.cut(whole);
    ranks_.run([&](std::int32_t rank) { begin(rank, rate); }, record);
    step_result result;
    result.rate = rate;
    result.loss = placed_.loss();
    clean_ = false;
    if (config_.update) {
      for (const auto& each : updates_)
        if (each) result.gradient_norm = each->norm();
      clean_ = std::isfinite(result.loss) && std::isfinite(result.gradient_norm);
      if (!clean_) report_not_finite<Model>(whole, parameters_, weights().data(), gradients().data(), result.loss, steps_);
      ++steps_;
    }
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return result;
  }

  const program& of() const { return ranks_.sheet().of; }
  const std::vector<parameter>& parameters() const { return parameters_; }
  index updates() const { return steps_; }
  // The most that the slots of each rank's stages held, to compare with what was planned.
  std::vector<index> used_of_slots() const { return placed_.used_of_slots(); }

  // All in the model's flat order, between steps; gradients where steps do not update.
  std::vector<master> weights() const { return gathered(Model::parameter_size, &piece_type::weights); }
  std::vector<master> gradients() const {
    std::vector<master> flat = gathered(Model::trainable_size, &piece_type::gradients);
    // Those of the loss's numbers come in parts; the owner's are there.
    for (std::int32_t r = 0; r < of().ranks(); ++r)
      if (const auto* point = placed_.point(r); point != nullptr && !point->is_owner())
        for (index i = 0; i < Model::loss::parameter_size; ++i) flat[static_cast<std::size_t>(Model::loss_at + i)] += point->gradients()[i];
    return flat;
  }
  flat_state<master> state() const {
    return {weights(), gathered(Model::trainable_size, &piece_type::first), gathered(Model::trainable_size, &piece_type::second), steps_};
  }
  // What another run left, by whatever program; after prepare().
  void set_state(const flat_state<master>& from) {
    set_weights(from.weights);
    scatter(from.first, Model::trainable_size, &piece_type::first);
    scatter(from.second, Model::trainable_size, &piece_type::second);
    steps_ = from.updates;
  }
  void set_weights(std::span<const master> from) { scatter(from, Model::parameter_size, &piece_type::weights); }

 private:
  using placed_type = placed_model<Model, typename Device::context, Numbers, Endpoint>;
  using update_type = rank_update<typename placed_type::home_type, typename Device::adamw_step>;
  using piece_type = parameter_piece<master>;

  void begin(std::int32_t rank, double rate) {
    using draws = decltype(Device::context::draws);
    placed_.begin_step(rank, draws{config_.seed, static_cast<std::uint64_t>(steps_), 0}, !clean_);
    if (auto& own = updates_[static_cast<std::size_t>(rank)]) own->begin_step(steps_, rate);
  }
  static bool update(void* self, const instruction& it, std::int32_t) {
    const auto& all = *static_cast<const pipeline_trainer*>(self);
    const std::int32_t rank = all.of().place(all.of().voices[it.voice], it.stage);
    const auto* const point = all.placed_.point(rank);
    auto& own = *all.updates_[static_cast<std::size_t>(rank)];
    return point != nullptr ? own.stage_ready(point->loss(), point->gradients()) : own.stage_ready(0, nullptr);
  }
  index log_scale_at() const {
    for (const parameter& each : parameters_)
      if (each.name == "join.log_scale") return each.offset - Model::loss_at;
    return -1;
  }

  std::vector<master> gathered(index size, master* piece_type::*what) const {
    std::vector<master> flat(static_cast<std::size_t>(size), master(0));
    placed_.each_piece([&](std::int32_t, const piece_type& piece) {
      if (piece.*what != nullptr) std::copy_n(piece.*what, piece.size, flat.data() + piece.at);
    });
    return flat;
  }
  void scatter(std::span<const master> from, index size, master* piece_type::*what) {
    if (!prepared_) fail(bad_training_option, "weights before prepare()");
    if (static_cast<index>(from.size()) != size)
      fail(bad_training_option, "got " + std::to_string(from.size()) + " numbers for a buffer of " + std::to_string(size));
    placed_.each_piece([&](std::int32_t, const piece_type& piece) {
      if (piece.*what != nullptr) std::copy_n(from.data() + piece.at, piece.size, piece.*what);
    });
  }

  pipeline_config config_;
  std::vector<parameter> parameters_;
  thread_ranks<World, Endpoint> ranks_;
  placed_type placed_;
  std::vector<std::unique_ptr<update_type>> updates_;  // of each rank that learns
  index steps_ = 0;
  bool clean_ = false;  // gradients are zero
  bool prepared_ = false;
};

}  // namespace motet
