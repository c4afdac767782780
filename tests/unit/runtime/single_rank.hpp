// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/compiled.hpp>
#include <motet/model/contrastive_step.hpp>

#include <doctest/doctest.h>

#include "deviation.hpp"

// What pipelines are compared with: the same steps on one rank, one loss after the other.
namespace {

using namespace motet;

template <class Model, class Numbers>
using pipeline = pipeline_trainer<Model, cpu::device, Numbers, thread_ranks<local::world, local::endpoint>>;

// Pictures of 8 x 8 and captions of 1 to 6 tokens, or of 6 each; a model's batch takes of them what it needs.
struct test_data {
  motet::index samples;
  std::vector<float> pixels;
  std::vector<std::int32_t> ids;
  std::vector<motet::index> offsets{0};

  explicit test_data(motet::index count, std::uint64_t seed = 1, bool full = false) : samples(count) {
    const random_stream normal(seed, "pixels"), lengths(seed, "lengths"), words(seed, "words");
    for (motet::index i = 0; i < count * 3 * 64; ++i)
      pixels.push_back(static_cast<float>(normal.normal(static_cast<std::uint64_t>(i))));
    for (motet::index s = 0; s < count; ++s) {
      const auto length =
          full ? 6 : static_cast<motet::index>(1 + lengths.below(static_cast<std::uint64_t>(s), 6));
      for (motet::index k = 0; k < length; ++k)
        ids.push_back(static_cast<std::int32_t>(words.below(ids.size(), 20)));
      offsets.push_back(static_cast<motet::index>(ids.size()));
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

// One rank with a single thread, `groups` losses a step.
template <class Model, class Numbers>
class single_rank {
 public:
  using master = typename Numbers::master;

  single_rank(motet::index samples, motet::index groups, const adamw_settings& settings = {},
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
    const auto largest = parts_.largest();
    device_.prepare(device_.plan([&](auto& ctx) { contrast(ctx, largest[0]); }));
  }

  // Loss and gradients of a step, means over its losses.
  double differentiate(const typename Model::batch& whole) {
    std::fill(gradients.begin(), gradients.end(), master(0));
    std::vector<double> sum(gradients.size(), 0.0);
    double loss = 0;
    motet::index row = 0;
    for (const auto& part : parts_.cut(whole)) {
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
      for (const parameter_run& run : decay_runs(parameters_, Model::trainable_size)) {
        const auto own = adamw_step_for<cpu::adamw_step>(settings_, updates + 1, rate, scale, run.decay);
        adamw(ctx, weights.data() + run.offset, gradients.data() + run.offset, first.data() + run.offset,
              second.data() + run.offset, run.size, own, false);
      }
    });
    master& log_scale = weights[static_cast<std::size_t>(Model::loss_at)];
    log_scale = std::min(log_scale, static_cast<master>(4.60517018598809));
    ++updates;
    return result;
  }

  std::vector<master> weights, gradients, first, second;
  motet::index updates = 0;

 private:
  using draw_key_type = cpu::draw_key;
  template <class C>
  double contrast(C& ctx, const typename Model::batch& part) {
    return contrastive_step<Model>::run(ctx, motet::weights<Numbers>{weights.data()},
                                        motet::gradients<Numbers>{gradients.data()},
                                        std::span<const typename Model::batch>(&part, 1));
  }

  motet::index groups_;
  adamw_settings settings_;
  std::uint64_t seed_;
  batch_parts<Model> parts_;
  std::vector<parameter> parameters_;
  cpu::device device_{1};
};

// The largest distance of a tensor from what it should be, relative to its size. What is a ten-thousandth of
// the whole or less (the gradient of a key's bias is zero but for rounding) is compared with that.
template <class Model, class Master>
laws::deviation apart(const std::vector<Master>& found, const std::vector<Master>& wanted) {
  REQUIRE(found.size() == wanted.size());
  double whole = 0;
  laws::deviation worst;
  for (const Master each : wanted) whole += static_cast<double>(each) * static_cast<double>(each);
  for (const parameter& each : Model::parameters()) {
    if (each.offset >= static_cast<motet::index>(wanted.size())) continue;
    double off = 0, size = 0;
    for (motet::index i = each.offset; i < each.offset + each.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double a = static_cast<double>(found[at]), b = static_cast<double>(wanted[at]);
      off += (a - b) * (a - b);
      size += b * b;
    }
    const double share = std::sqrt(off / std::max(size, 1e-8 * whole));
    const std::vector<Master> a(found.begin() + each.offset, found.begin() + each.offset + each.size());
    const std::vector<Master> b(wanted.begin() + each.offset, wanted.begin() + each.offset + each.size());
    worst.add(laws::off_by(a, b).measured(share), std::string(each.name));
  }
  return worst;
}

// How far two runs are apart, relative to the way that they went. Not by tensors: rounding turns the sign of
// a gradient that is zero but for it, and Adam makes a step of that.
inline laws::deviation way_apart(const std::vector<float>& found, const std::vector<float>& wanted,
                                 const std::vector<float>& start) {
  double off = 0, way = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double a = static_cast<double>(found[i]), b = static_cast<double>(wanted[i]),
                 from = static_cast<double>(start[i]);
    off += (a - b) * (a - b);
    way += (b - from) * (b - from);
  }
  return laws::off_by(found, wanted).measured(std::sqrt(off / way));
}

// Loss and every gradient of a pipeline beside the single rank's.
template <class Model, class Numbers>
void compare_with_single_rank(const score& order, motet::index samples, double tolerance,
                              std::vector<std::vector<motet::index>> layers = {}) {
  const test_data data(samples);
  const auto whole = data.batch<Model>();
  const motet::index groups = order.voices()[0].joins();
  single_rank<Model, Numbers> one(samples, groups);
  const double loss = one.differentiate(whole);
  pipeline_config config;
  config.batch = samples;
  for (auto& each : layers) config.modules.push_back({.layers = std::move(each)});
  config.update = false;
  config.deadline = 20;
  pipeline<Model, Numbers> many(order, config);
  many.prepare();
  for (int turn = 0; turn < 2; ++turn) {
    const step_result found = many.step(whole, 0);
    CHECK(laws::off_by(found.loss, loss) <= tolerance * std::abs(loss));
    CHECK(apart<Model>(many.gradients(), one.gradients) <= tolerance);
  }
}

}  // namespace
