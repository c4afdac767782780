// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/flat_runs.hpp>
#include <motet/backend/cpu/device.hpp>
#include <motet/runtime/stage/replica_microbatches.hpp>
#include <motet/runtime/state/initialise.hpp>
#include <motet/runtime/state/optimizer.hpp>
#include <motet/runtime/state/trained_state.hpp>

#include "contrastive_step.hpp"

// Pipelines are compared with the same steps on one rank, one loss after the other.
namespace {

using namespace motet;

// Pictures of 8 x 8 and captions of 1 to 6 tokens, or of 6 each; a model's batch takes of them what it needs.
struct test_data {
  motet::isize samples;
  std::vector<float> pixels;
  std::vector<std::int32_t> ids;
  std::vector<motet::isize> offsets{0};

  explicit test_data(motet::isize count, std::uint64_t seed = 1, bool full = false) : samples(count) {
    const random_stream normal(seed, "pixels"), lengths(seed, "lengths"), words(seed, "words");
    for (motet::isize i = 0; i < count * 3 * 64; ++i)
      pixels.push_back(static_cast<float>(normal.normal(static_cast<std::uint64_t>(i))));
    for (motet::isize s = 0; s < count; ++s) {
      const auto length =
          full ? 6 : static_cast<motet::isize>(1 + lengths.below(static_cast<std::uint64_t>(s), 6));
      for (motet::isize k = 0; k < length; ++k)
        ids.push_back(static_cast<std::int32_t>(words.below(ids.size(), 20)));
      offsets.push_back(static_cast<motet::isize>(ids.size()));
    }
  }
  template <class Model>
  typename Model::batch batch() const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return typename Model::batch{this->input<typename Model::template module_at<I>::input>()...};
    }(std::make_index_sequence<Model::size>{});
  }

 private:
  template <class Input>
  Input input() const {
    if constexpr (std::is_same_v<Input, pictures>) return pictures{pixels.data(), samples};
    else return tokens{ids.data(), {samples, 0, offsets.data()}};
  }
};

// A batch as so many groups of consecutive samples.
template <class Model, class Indices = std::make_index_sequence<Model::size>>
class batch_groups;
template <class Model, std::size_t... I>
class batch_groups<Model, std::index_sequence<I...>> {
 public:
  using batch = typename Model::batch;
  batch_groups(motet::isize samples, motet::isize groups)
      : all_(replica_microbatches<typename Model::template module_at<I>::net>(samples, groups, 1)...) {}
  void cut(const batch& whole) { (std::get<I>(all_).cut(std::get<I>(whole)), ...); }
  batch operator[](motet::isize group) const { return batch(std::get<I>(all_)[group]...); }

 private:
  std::tuple<replica_microbatches<typename Model::template module_at<I>::net>...> all_;
};

// One rank with a single thread, `groups` losses a step.
template <class Model, class Numbers>
class single_rank {
 public:
  using master = typename Numbers::master;

  single_rank(motet::isize samples, motet::isize groups, const optimizer_settings& settings = {},
              std::uint64_t seed = 1)
      : groups_(groups),
        settings_(settings),
        seed_(seed),
        parts_(samples, groups),
        parameters_(Model::parameters()) {
    weights.resize(static_cast<std::size_t>(Model::parameter_size));
    initialise(parameters_, seed, weights.data(), Model::parameter_size);
    gradients.resize(static_cast<std::size_t>(Model::trainable_size));
    first.resize(gradients.size(), 0);
    second.resize(gradients.size(), 0);
    const auto largest = parts_[any_microbatches::largest];
    device_.prepare(device_.dry_run([&](auto& ctx) { contrast(ctx, largest); }));
  }

  // Loss and gradients of a step, means over its losses.
  double differentiate(const typename Model::batch& whole) {
    std::fill(gradients.begin(), gradients.end(), master(0));
    std::vector<double> sum(gradients.size(), 0.0);
    double loss = 0;
    motet::isize row = 0;
    parts_.cut(whole);
    for (motet::isize group = 0; group < groups_; ++group) {
      const auto part = parts_[group];
      std::fill(gradients.begin(), gradients.end(), master(0));
      const draw_key_type draws{seed_, static_cast<std::uint64_t>(updates), row};
      device_.run([&](auto& ctx) { loss += contrast(ctx, part) / static_cast<double>(groups_); }, draws);
      for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] += static_cast<double>(gradients[i]) / static_cast<double>(groups_);
      row += Model::template module_at<0>::net::rows(std::get<0>(part)).rows();
    }
    for (std::size_t i = 0; i < sum.size(); ++i) gradients[i] = static_cast<master>(sum[i]);
    return loss;
  }
  step_result step(const typename Model::batch& whole, double rate) {
    step_result result;
    result.loss = differentiate(whole);
    for (const master each : gradients)
      result.gradient_norm += static_cast<double>(each) * static_cast<double>(each);
    result.gradient_norm = std::sqrt(result.gradient_norm);
    const double scale = clip_scale(result.gradient_norm, settings_.clip);
    device_.run([&](auto& ctx) {
      for (const parameter_run& run : update_runs(parameters_, Model::trainable_size)) {
        const auto own = update_step_for(settings_, updates + 1, rate, scale, run.decay);
        adamw(ctx, weights.data() + run.offset, gradients.data() + run.offset, first.data() + run.offset,
              second.data() + run.offset, run.size, own, false);
      }
    });
    master& log_scale = weights[static_cast<std::size_t>(Model::loss_at)];
    log_scale = std::min(log_scale, static_cast<master>(4.60517018598809));
    ++updates;
    return result;
  }

  // Features of module I, rows of length one.
  template <std::size_t I>
  void embed(const typename Model::template module_at<I>::input& input, master* out) {
    const motet::isize samples = input_traits<typename Model::template module_at<I>::net>::samples(input);
    const auto infer = [&](auto& ctx) {
      contrastive_step<Model>::template embed<I>(ctx, motet::weights<Numbers>{weights.data()}, input,
                                                 view<master, Model::embedding>(out, samples));
    };
    device_.prepare(device_.dry_run(infer));
    device_.run(infer, {seed_, 0, 0, false});
  }
  // A dry run counts what forward and backward of these samples do.
  step_costs costs(const typename Model::batch& whole) {
    return device_.dry_run([&](auto& ctx) { contrast(ctx, whole); }).costs;
  }

  std::vector<master> weights, gradients, first, second;
  motet::isize updates = 0;

 private:
  using draw_key_type = cpu::draw_key;
  template <class C>
  double contrast(C& ctx, const typename Model::batch& part) {
    return contrastive_step<Model>::run(ctx, motet::weights<Numbers>{weights.data()},
                                        motet::gradients<Numbers>{gradients.data()},
                                        std::span<const typename Model::batch>(&part, 1));
  }

  motet::isize groups_;
  optimizer_settings settings_;
  std::uint64_t seed_;
  batch_groups<Model> parts_;
  std::vector<parameter> parameters_;
  cpu::device device_{1};
};

}  // namespace
