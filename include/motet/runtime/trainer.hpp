// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/contrastive_step.hpp>
#include <motet/runtime/guard.hpp>
#include <motet/runtime/initialise.hpp>
#include <motet/runtime/optimizer.hpp>
#include <motet/runtime/parts.hpp>
#include <motet/runtime/trained_state.hpp>
#include <motet/tensor/arena.hpp>

#include <chrono>
#include <cmath>
#include <type_traits>

namespace motet {

struct trainer_config {
  index batch = 64;  // most samples of a step
  index parts = 1;   // that a step's batch is cut into when memory holds fewer; negatives still come from the whole batch
  std::uint64_t seed = 1;
  adamw_settings optimizer{};
  bool clamp_scale = true;  // keeps join.log_scale at or below ln 100, as CLIP does
};

struct step_result {
  double loss = 0;
  double gradient_norm = 0;  // before clipping
  double rate = 0;
  double seconds = 0;
};

// What a run needs, in bytes and FLOPs, before anything is allocated.
struct training_plan {
  index weights = 0, gradients = 0, optimizer = 0;  // bytes
  index arena = 0;                                  // bytes, shared
  index scratch = 0;                                // bytes, of all threads
  double flops = 0;                                 // of forward and backward, nothing computed twice
  double flops_run = 0;                             // as run: accumulation computes the features twice
  index total() const { return weights + gradients + optimizer + arena + scratch; }
};

// Weights, gradients and AdamW's moments of a model in flat buffers on one device, and the step that moves them. After prepare() a step allocates
// nothing. All that a run needs to go on exactly: weights(), first(), second() and updates().
template <class Model, class Device, class Numbers>
class trainer {
 public:
  using master = typename Numbers::master;
  using stream = typename Numbers::stream;
  using batch = typename Model::batch;
  using step_of = contrastive_step<Model>;

  trainer(Device& device, const trainer_config& config)
      : device_(device),
        config_(config),
        parameters_(Model::parameters()),
        runs_(decay_runs(parameters_, Model::trainable_size)),
        parts_(config.batch, config.parts) {
    for (const parameter& each : parameters_)
      if (each.name == "join.log_scale") log_scale_at_ = each.offset;
  }

  // Counted by a dry run.
  training_plan plan() {
    const auto found = dry_run();
    training_plan out;
    constexpr index bytes = static_cast<index>(sizeof(master));
    out.weights = Model::parameter_size * bytes;
    out.gradients = Model::trainable_size * bytes;
    out.optimizer = 2 * Model::trainable_size * bytes;
    out.arena = found.memory;
    out.scratch = found.scratch * device_.threads();
    out.flops = flops(batch_parts<Model>::largest_batch(config_.batch));
    out.flops_run = device_.flops([&](auto& ctx) { contrast(ctx, parts_.largest()); });
    return out;
  }
  typename Device::step_plan dry_run() {
    auto found = device_.plan([&](auto& ctx) { whole_step(ctx, parts_.largest(), 0); });
    found.cover(
        device_.plan([&](auto& ctx) { embed_all(ctx, batch_parts<Model>::largest_batch(part_samples()), std::make_index_sequence<Model::size>{}); }));
    return found;
  }
  // Forward and backward of this batch, nothing computed twice: what utilisation is counted by.
  double flops(const batch& whole) {
    return device_.flops([&](auto& ctx) { contrast(ctx, std::span<const batch>(&whole, 1)); });
  }

  // Takes all memory and draws the weights.
  void prepare() {
    device_.prepare(dry_run());
    weights_ = buffer<master>(Model::parameter_size);
    gradients_ = buffer<master>(Model::trainable_size);
    first_ = buffer<master>(Model::trainable_size);
    second_ = buffer<master>(Model::trainable_size);
    initialise(parameters_, config_.seed, weights_.data(), weights_.size());
    std::fill_n(first_.data(), first_.size(), master(0));
    std::fill_n(second_.data(), second_.size(), master(0));
    clean_ = false;
    updates_ = 0;
  }

  // Forward, backward, clipping and one update at this learning rate. When a number is not finite: MT-R01, and the weights are as before.
  step_result step(const batch& whole, double rate) {
    const auto started = std::chrono::steady_clock::now();
    const std::span<const batch> parts = parts_.cut(whole);
    step_result result;
    result.rate = rate;
    bool updated = false;
    device_.run(
        [&](auto& ctx) {
          const outcome done = whole_step(ctx, parts, rate);
          if (ctx.thread != 0) return;
          result.loss = done.loss;
          result.gradient_norm = done.norm;
          updated = done.updated;
        },
        {config_.seed, static_cast<std::uint64_t>(updates_), 0});
    if (!updated) {
      clean_ = false;
      report_not_finite<Model>(whole, parameters_, weights_.data(), gradients_.data(), result.loss, updates_);
    }
    clean_ = true;
    ++updates_;
    if (config_.clamp_scale && log_scale_at_ >= 0) {
      constexpr auto most = static_cast<master>(4.60517018598809);  // ln 100
      if (weights_[log_scale_at_] > most) weights_[log_scale_at_] = most;
    }
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return result;
  }

  // Features of module I, rows of length one, for at most part_samples() samples.
  template <std::size_t I>
  void embed(const typename Model::template module_at<I>::input& input, stream* out) {
    using traits = input_traits<typename Model::template module_at<I>::net>;
    if (!traits::fits(input, part_samples())) fail(step_too_large, "embedding at most " + std::to_string(part_samples()) + " samples at a time");
    device_.run(
        [&](auto& ctx) {
          step_of::template embed<I>(ctx, motet::weights<Numbers>{weights_.data()}, input,
                                     view<stream, Model::embedding>(out, traits::samples(input)));
        },
        {config_.seed, static_cast<std::uint64_t>(updates_), 0, false});
  }

  index part_samples() const { return (config_.batch + config_.parts - 1) / config_.parts; }
  index updates() const { return updates_; }
  void set_updates(index updates) { updates_ = updates; }
  const std::vector<parameter>& parameters() const { return parameters_; }
  // What a checkpoint holds (runtime/checkpoint.hpp).
  trained_state state() {
    static_assert(std::is_same_v<master, float>, "motet: checkpoints hold 32-bit floating point");
    return {parameters_, weights_.data(), first_.data(), second_.data(), Model::parameter_size, Model::trainable_size, updates_};
  }
  const trainer_config& config() const { return config_; }
  Device& device() { return device_; }
  master* weights() { return weights_.data(); }
  master* first() { return first_.data(); }
  master* second() { return second_.data(); }
  master* gradients() { return gradients_.data(); }

 private:
  struct outcome {
    double loss = 0, norm = 0;
    bool updated = false;
  };

  template <class C>
  double contrast(C& ctx, std::span<const batch> parts) {
    return step_of::run(ctx, motet::weights<Numbers>{weights_.data()}, motet::gradients<Numbers>{gradients_.data()}, parts);
  }
  // Every thread takes the same decision, as loss and norm are the same numbers on all.
  template <class C>
  outcome whole_step(C& ctx, std::span<const batch> parts, double rate) {
    if (!clean_) {
      const auto part = enter(ctx, "optimizer");
      zero(ctx, gradients_.data(), Model::trainable_size);
    }
    outcome done;
    done.loss = contrast(ctx, parts);
    const auto part = enter(ctx, "optimizer");
    done.norm = std::sqrt(sum_of_squares(ctx, gradients_.data(), Model::trainable_size));
    if (!std::isfinite(done.loss) || !std::isfinite(done.norm)) return done;
    const double scale = clip_scale(done.norm, config_.optimizer.clip);
    for (const parameter_run& own : runs_) {
      const auto settings = adamw_step_for<typename Device::adamw_step>(config_.optimizer, updates_ + 1, rate, scale, own.decay);
      adamw(ctx, weights_.data() + own.offset, gradients_.data() + own.offset, first_.data() + own.offset, second_.data() + own.offset, own.size,
            settings, true);
    }
    done.updated = true;
    return done;
  }
  template <class C, std::size_t... I>
  void embed_all(C& ctx, const batch& whole, std::index_sequence<I...>) {
    const auto one = [&]<std::size_t At>() {
      const index mark = ctx.memory.mark();
      step_of::template embed<At>(
          ctx, motet::weights<Numbers>{weights_.data()}, std::get<At>(whole),
          view<stream, Model::embedding>(nullptr, input_traits<typename Model::template module_at<At>::net>::samples(std::get<At>(whole))));
      release(ctx, mark);
    };
    (one.template operator()<I>(), ...);
  }

  Device& device_;
  trainer_config config_;
  std::vector<parameter> parameters_;
  std::vector<parameter_run> runs_;
  batch_parts<Model> parts_;
  buffer<master> weights_, gradients_, first_, second_;
  index log_scale_at_ = -1;
  index updates_ = 0;
  bool clean_ = false;  // gradients are zero
};

}  // namespace motet
