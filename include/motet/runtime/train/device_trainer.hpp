// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/draw_key.hpp>
#include <motet/backend/core/flat_runs.hpp>
#include <motet/model/contrastive_step.hpp>
#include <motet/runtime/stage/parts.hpp>
#include <motet/runtime/stage/staged_inputs.hpp>
#include <motet/runtime/state/initialise.hpp>
#include <motet/runtime/state/optimizer.hpp>
#include <motet/runtime/state/trained_state.hpp>
#include <motet/runtime/train/guard.hpp>

#include <chrono>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>

namespace motet {

struct trainer_config {
  index batch = 64;  // most samples of a step
  // that a step's batch is cut into when memory holds fewer; negatives still come from the whole batch
  index parts = 1;
  std::uint64_t seed = 1;
  adamw_settings optimizer{};
  bool clamp_scale = true;  // keeps the loss's number at or below its limit, such as CLIP's scale below 100
  bool ahead = false;       // room for a second batch, where the device has memory of its own: see expect()
};

// What a run needs, in bytes and FLOPs, before anything is allocated.
struct training_plan {
  index weights = 0, gradients = 0, optimizer = 0;  // bytes
  index arena = 0;                                  // bytes, shared
  index scratch = 0;                                // bytes, of all threads
  // bytes, of a batch or two, where the device has memory of its own
  index inputs = 0;
  double flops = 0;      // of forward and backward, nothing computed twice
  double flops_run = 0;  // as run: accumulation computes the features twice
  index total() const { return weights + gradients + optimizer + arena + scratch + inputs; }
};

// Weights, gradients and AdamW's moments of a model in flat buffers on one device, and the step that moves
// them. After prepare() a step allocates nothing. All that a run needs to go on exactly: state(). Batches lie
// in the host's memory.
template <class Model, class Device, class Numbers>
class device_trainer {
 public:
  using master = typename Numbers::master;
  using batch = typename Model::batch;
  using step_of = contrastive_step<Model>;
  using adamw_list = typename Device::context::template adamw_list<master>;
  template <class T>
  using buffer = typename Device::template buffer<T>;  // of the device

  device_trainer(Device& device, const trainer_config& config)
      : device_(device),
        config_(config),
        parameters_(Model::parameters()),
        parts_(config.batch, config.parts) {
    list();
  }
  device_trainer(const device_trainer&) = delete;
  device_trainer& operator=(const device_trainer&) = delete;
  ~device_trainer() { device_.drop_weights(weights_.data()); }

  // Counted by a dry run.
  training_plan plan() {
    const auto found = dry_run();
    training_plan out;
    constexpr index bytes = static_cast<index>(sizeof(master));
    out.weights = Model::parameter_size * bytes +
                  device_.template weight_copy_bytes<typename Numbers::value, master>(Model::parameter_size);
    out.gradients = Model::trainable_size * bytes;
    out.optimizer = 2 * Model::trainable_size * bytes;
    out.arena = found.memory;
    out.scratch = found.scratch * device_.threads();
    out.inputs = staged_inputs<Model, Device>::bytes(config_.batch, config_.ahead);
    out.flops = flops(batch_parts<Model>::largest_batch(config_.batch));
    out.flops_run = device_.flops([&](auto& ctx) { contrast(ctx, parts_.largest()); });
    return out;
  }
  typename Device::step_plan dry_run() {
    auto found = device_.plan([&](auto& ctx) {
      if constexpr (!Device::shares_memory) {
        const auto part = enter(ctx, "inputs");
        inputs_.count(ctx, batch_parts<Model>::largest_batch(config_.batch), config_.ahead);
      }
      update(ctx, gradients_of(ctx, parts_.largest()), 0);
    });
    found.cover(device_.plan(
        [&](auto& ctx) { embed_all(ctx, batch_parts<Model>::largest_batch(part_samples()), all{}); }));
    return found;
  }
  // Forward and backward of this batch, nothing computed twice: what utilisation is counted by.
  double flops(const batch& whole) {
    return device_.flops([&](auto& ctx) { contrast(ctx, std::span<const batch>(&whole, 1)); });
  }

  // Takes all memory and draws the weights.
  void prepare() {
    device_.drop_weights(weights_.data());
    device_.prepare(dry_run(), plan().total());
    weights_ = device_.template take<master>("weights", Model::parameter_size);
    gradients_ = device_.template take<master>("gradients", Model::trainable_size);
    first_ = device_.template take<master>("first moments", Model::trainable_size);
    second_ = device_.template take<master>("second moments", Model::trainable_size);
    device_.template keep_weights<typename Numbers::value>(weights_.data(), Model::parameter_size);
    list();
    device_.run([&](auto& ctx) { moved_.prepare(ctx); });
    inputs_.prepare(device_, config_.batch, config_.ahead);
    expected_.reset();
    device_.run([&](auto& ctx) {
      initialise(ctx, parameters_, config_.seed, weights_.data(), Model::parameter_size);
      zero(ctx, first_.data(), Model::trainable_size);
      zero(ctx, second_.data(), Model::trainable_size);
      weights_changed(ctx, weights_.data(), Model::parameter_size);
    });
    clean_ = false;
    updates_ = 0;
  }

  // Before step(): the batch of the step after it, which comes to the device meanwhile. It stays as it is
  // until its own step has returned.
  void expect(const batch& next) {
    if (!config_.ahead)
      fail(bad_training_option,
           "expect() without trainer_config::ahead: there is room for the batch of a step alone");
    parts_.require(next);
    if constexpr (!Device::shares_memory) expected_ = next;
  }
  // Forward, backward, clipping and one update at this learning rate. When a number is not finite: MT-R01,
  // and the weights are as before.
  step_result step(const batch& whole, double rate) {
    const auto started = std::chrono::steady_clock::now();
    parts_.require(whole);
    const draw_key draws{config_.seed, static_cast<std::uint64_t>(updates_), 0};
    std::span<const batch> parts;
    if constexpr (Device::shares_memory) {
      parts = parts_.cut(whole);
    } else {
      const auto before = [&](auto& ctx) {
        refresh_weights(ctx);
        parts = parts_.cut(inputs_.bring(ctx, whole));
      };
      device_.run(before, draws);
    }
    step_result result;
    result.rate = rate;
    bool updated = false;
    device_.run_step([&](std::vector<index>& into) { tell_shape(parts, into); },
                     [&](auto& ctx) { return gradients_of(ctx, parts); },
                     [&](auto& ctx, const auto& found) {
                       const outcome done = update(ctx, found, rate);
                       if (ctx.thread != 0) return;
                       result.loss = done.loss;
                       result.gradient_norm = done.norm;
                       updated = done.updated;
                     },
                     draws);
    if (!updated) {
      clean_ = false;
      const auto bad = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::array{
            first_bad_sample<typename Model::template module_at<I>::net>(std::get<I>(whole))...};
      }(all{});
      report_not_finite<master>(Model::names, bad, parameters_, on_host(weights_).data(),
                                Model::parameter_size, on_host(gradients_).data(), Model::trainable_size,
                                result.loss, updates_);
    }
    clean_ = true;
    ++updates_;
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return result;
  }

  // Features of module I, rows of length one, for at most part_samples() samples.
  template <std::size_t I>
  void embed(const typename Model::template module_at<I>::input& input, master* out) {
    using traits = input_traits<typename Model::template module_at<I>::net>;
    if (!traits::fits(input, part_samples()))
      fail(step_too_large, "embedding at most " + std::to_string(part_samples()) + " samples at a time");
    device_.run(
        [&](auto& ctx) {
          if constexpr (Device::shares_memory) {
            embed_into<I>(ctx, input, out);
          } else {
            refresh_weights(ctx);
            embed_into<I>(ctx, inputs_.template bring_one<I>(ctx, input), out);
            used(ctx);
          }
        },
        {config_.seed, static_cast<std::uint64_t>(updates_), 0, false});
  }

  index part_samples() const { return (config_.batch + config_.parts - 1) / config_.parts; }
  index updates() const { return updates_; }
  const std::vector<parameter>& parameters() const { return parameters_; }
  // What a checkpoint holds (runtime/save/checkpoint.hpp), in the host's memory: the buffers themselves where
  // the device shares them, else copies of now.
  trained_state state() {
    static_assert(std::is_same_v<master, float>, "motet: checkpoints hold 32-bit floating point");
    if constexpr (Device::shares_memory) {
      return {parameters_,           weights_.data(),       first_.data(), second_.data(),
              Model::parameter_size, Model::trainable_size, updates_};
    } else {
      download_all(kept_);
      return {parameters_,
              kept_.weights.data(),
              kept_.first.data(),
              kept_.second.data(),
              Model::parameter_size,
              Model::trainable_size,
              updates_};
    }
  }
  // Goes on from this one, such as state() with what a checkpoint brought into it, on a prepared trainer.
  void set_state(const trained_state& from) {
    if (from.size != Model::parameter_size || from.trainable != Model::trainable_size)
      fail(bad_training_option, "a state of " + std::to_string(from.size) + " numbers, " +
                                    std::to_string(from.trainable) + " of which learn, for a model of " +
                                    std::to_string(Model::parameter_size) + " and " +
                                    std::to_string(Model::trainable_size));
    const auto take = [&](buffer<master>& to, const float* data) {
      if (data != to.data()) fill(to, [&](master* own) { std::copy_n(data, to.size(), own); });
    };
    take(weights_, from.weights);
    take(first_, from.first);
    take(second_, from.second);
    updates_ = from.updates;
  }
  const trainer_config& config() const { return config_; }
  Device& device() { return device_; }
  // In the device's memory. Who writes weights there asks for their address anew each time.
  master* weights() {
    if constexpr (!Device::shares_memory)
      if (weights_.size() > 0)
        device_.run([&](auto& ctx) { weights_changed(ctx, weights_.data(), weights_.size()); });
    return weights_.data();
  }
  master* first() { return first_.data(); }
  master* second() { return second_.data(); }
  master* gradients() { return gradients_.data(); }

 private:
  struct outcome {
    double loss = 0, norm = 0;
    bool updated = false;
  };

  using all = std::make_index_sequence<Model::size>;
  // What a step finds before it updates: sums that a device may still be working on.
  template <class Real>
  struct sums {
    Real loss{}, squares{};
  };

  template <class C>
  typename C::real contrast(C& ctx, std::span<const batch> parts) {
    return step_of::run(ctx, motet::weights<Numbers>{weights_.data()},
                        motet::gradients<Numbers>{gradients_.data()}, parts);
  }
  // Forward and backward; depends on the parts and tell_shape() alone.
  template <class C>
  sums<typename C::real> gradients_of(C& ctx, std::span<const batch> parts) {
    if (!clean_ && !ctx.measuring()) {  // a dry run is of the steps after the first
      const auto part = enter(ctx, "optimizer");
      zero(ctx, gradients_.data(), Model::trainable_size);
    }
    sums<typename C::real> found;
    found.loss = contrast(ctx, parts);
    const auto part = enter(ctx, "optimizer");
    found.squares = sum_of_squares(ctx, gradients_.data(), Model::trainable_size);
    return found;
  }
  void tell_shape(std::span<const batch> parts, std::vector<index>& into) const {
    into.insert(into.end(),
                {reinterpret_cast<index>(weights_.data()), clean_ ? 1 : 0, static_cast<index>(parts.size())});
    for (const batch& part : parts) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (input_traits<typename Model::template module_at<I>::net>::shape(std::get<I>(part), into), ...);
      }(all{});
    }
  }
  // What an update moves, in as few runs as decay allows.
  void list() {
    const bool copied = device_.template weight_copy_bytes<typename Numbers::value, master>(1) > 0;
    std::vector<adamw_run<master>> runs;
    for (const parameter_run& each : decay_runs(parameters_, Model::trainable_size)) {
      const auto at = [&](const buffer<master>& of) {
        return of.size() > 0 ? of.data() + each.offset : nullptr;
      };
      runs.push_back(
          {at(weights_), at(gradients_), at(first_), at(second_), each.size, each.decay, false, copied});
    }
    moved_ = adamw_list(std::move(runs));
  }
  // Loss and norm go to the host, and the update, which looks at them itself, begins before they are there.
  // Every thread takes the same decision, as they are the same numbers on all.
  template <class C>
  outcome update(C& ctx, const sums<typename C::real>& found, double rate) {
    const auto part = enter(ctx, "optimizer");
    if constexpr (!Device::shares_memory)
      if (!expected_) used(ctx);
    const auto coming = begin_numbers(ctx, found.loss, found.squares);
    const auto step =
        adamw_step_for<typename Device::adamw_step>(config_.optimizer, updates_ + 1, rate, 1, true);
    adamw(ctx, moved_, step, found.loss, found.squares, config_.optimizer.clip);
    constexpr number_limit limit = limit_of<typename Model::loss>;
    if (config_.clamp_scale && limit.number >= 0)
      clamp_to(ctx, weights_.data() + Model::loss_at + limit.number, static_cast<master>(limit.most),
               found.loss, found.squares);
    // While the device works on all this.
    if constexpr (!Device::shares_memory)
      if (expected_ && !ctx.measuring()) {
        inputs_.bring_ahead(ctx, *std::exchange(expected_, std::nullopt));
        used(ctx);
      }
    const auto numbers = numbers_of(ctx, coming);
    const update_sums known{numbers.first, numbers.second};
    return {known.loss, known.norm(), known.allow()};
  }
  // `out` lies in the host's memory.
  template <std::size_t At, class C, class Input>
  void embed_into(C& ctx, const Input& input, master* out) {
    const index mark = ctx.memory.mark(),
                samples = input_traits<typename Model::template module_at<At>::net>::samples(input);
    view<master, Model::embedding> features(out, samples);
    if constexpr (!Device::shares_memory)
      features = ctx.memory.template take_rows<master, Model::embedding>(samples);
    step_of::template embed<At>(ctx, motet::weights<Numbers>{weights_.data()}, input, features);
    if constexpr (!Device::shares_memory) download(ctx, features.data, out, samples * Model::embedding);
    release(ctx, mark);
  }
  template <class C, std::size_t... I>
  void embed_all(C& ctx, const batch& whole, std::index_sequence<I...>) {
    (embed_into<I>(ctx, std::get<I>(whole), nullptr), ...);
  }

  // Numbers into a buffer of the device; make(to) writes them to the host's memory.
  template <class Make>
  void fill(const buffer<master>& to, Make&& make) {
    if constexpr (Device::shares_memory) {
      make(to.data());
    } else {
      std::vector<master> here(static_cast<std::size_t>(to.size()));
      make(here.data());
      device_.run([&](auto& ctx) {
        upload(ctx, here.data(), to.data(), to.size());
        weights_changed(ctx, to.data(), to.size());
      });
    }
  }
  // A buffer of the device as the host sees it.
  decltype(auto) on_host(const buffer<master>& from) {
    if constexpr (Device::shares_memory) {
      return (from);
    } else {
      std::vector<master> here(static_cast<std::size_t>(from.size()));
      device_.run([&](auto& ctx) { download(ctx, from.data(), here.data(), from.size()); });
      return here;
    }
  }
  void download_all(flat_state<master>& into) {
    into.weights = on_host(weights_);
    into.first = on_host(first_);
    into.second = on_host(second_);
  }

  Device& device_;
  trainer_config config_;
  std::vector<parameter> parameters_;
  adamw_list moved_;
  batch_parts<Model> parts_;
  buffer<master> weights_, gradients_, first_, second_;
  staged_inputs<Model, Device> inputs_;
  std::optional<batch> expected_;  // of the step after the next one
  flat_state<master> kept_;        // what state() showed, where the device's memory is not the host's
  index updates_ = 0;
  bool clean_ = false;  // gradients are zero
};

}  // namespace motet
