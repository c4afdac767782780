// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/data/steps/loader.hpp>
#include <motet/front/cuda_ranks.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/runtime/stage/plan_choices.hpp>

#include <unit/data/pairs.hpp>
#include <unit/runtime/small_model.hpp>

#include "pipeline_comparisons.hpp"

#include <doctest/doctest.h>

// Training from the bytes that a loader packs goes the way of training from the floats that it makes: on the
// CPU, on a GPU, over ranks that share one.

namespace {
using idx = motet::isize;

using plan_picture = motet::module<
    "picture", vit<vit_config{.image = 8, .patch = 4, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>>;
using plan_caption =
    motet::module<"caption",
                  text_tower<text_config{
                      .vocabulary = 20, .context = 6, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>>;
using towers = model<join<info_nce, plan_picture, plan_caption>>;

// Pictures of many sizes, small and large, in a shard; captions of four words, which belong to the samples.
class pair_data {
 public:
  explicit pair_data(idx batch) : source_(list(), skips_) {
    config_.batch = batch;
    config_.example.image = 8;
    config_.example.context = 6;
    config_.cache_bytes = 0;
  }
  struct feed {
    pair_loader loader;
    bool packed;
    std::vector<std::int32_t> ids{};
    idx as_floats = 0;

    template <class Batch>
    Batch next() {
      const pair_batch& made = loader.next();
      ids.clear();
      for (const idx sample : made.samples)
        for (idx k = 0; k < 4; ++k) ids.push_back(static_cast<std::int32_t>((sample * 7 + k * k) % 20));
      const idx count = made.size();
      for (idx s = 0; packed && s < count; ++s) as_floats += made.packed.each[s].pitch == 0 ? 1 : 0;
      return {packed ? pictures{nullptr, count, made.packed} : pictures{made.pixels.data, count},
              tokens{ids.data(), {count, 4, nullptr}}};
    }
  };
  feed open(bool packed) {
    loader_config config = config_;
    config.form = packed ? picture_form::bytes : picture_form::floats;
    return {pair_loader(source_, words_, config), packed};
  }

 private:
  std::vector<std::string> list() const {
    return {write_pairs(folder_, "a.tar", 0, 24, [](idx i, made_sample& made) {
      made.picture = encode_ppm(noise_picture(8 + i * 7 % 17, 7 + i * 5 % 13, static_cast<std::uint64_t>(i)));
    })};
  }
  scratch folder_;
  skip_log skips_;
  tokenizer words_ = pairs_tokenizer();
  pair_source source_;
  loader_config config_;
};

launched_world alone(int threads) {
  const std::string count = std::to_string(threads);
  const char* const words[] = {"program", "--threads", count.c_str()};
  return launch(3, words);
}
// The worst distance between losses, and between gradients' norms in the first step.
template <class Batch, class One, class Other>
laws::deviation follow(One& one, Other& other, pair_data& data, int steps, idx& as_floats) {
  pair_data::feed floats = data.open(false), bytes = data.open(true);
  laws::deviation worst;
  for (int step = 0; step < steps; ++step) {
    const step_result want = one.step(floats.template next<Batch>(), 1e-3),
                      found = other.step(bytes.template next<Batch>(), 1e-3);
    worst.add(std::abs(found.loss - want.loss) / std::max(1.0, std::abs(want.loss)), found.loss, want.loss,
              [&] { return "the loss of step " + std::to_string(step); });
    if (step == 0)
      worst.add(std::abs(found.gradient_norm - want.gradient_norm) / want.gradient_norm, found.gradient_norm,
                want.gradient_norm, [] { return std::string("the gradient's norm"); });
  }
  as_floats += bytes.as_floats;
  return worst;
}

}  // namespace

TEST_CASE("a trainer on the CPU, whole batches and in parts") {
  for (const idx parts : {1, 3}) {
    pair_data data(7);
    single_rank<small_model, fp32> one(7, 1);
    trainer<small_model> other(alone(2), {.batch = 7, .parts = parts});
    idx as_floats = 0;
    CHECK(follow<small_model::batch>(one, other, data, 12, as_floats) < 2e-5);
    CHECK(as_floats > 0);
    CHECK(as_floats < 60);
  }
}

TEST_CASE("a trainer on a GPU, whose recorded steps find other pictures in the same place") {
  for (const idx parts : {1, 2}) {
    pair_data data(6);
    single_rank<small_model, fp32> one(6, 1);
    trainer<small_model, fp32, motet::cuda::device> other(alone(1), {.batch = 6, .parts = parts});
    idx as_floats = 0;
    CHECK(follow<small_model::batch>(one, other, data, 10, as_floats) < 2e-5);
    CHECK(as_floats > 0);
    CHECK(other.device().replayed() > 4);
  }
}

TEST_CASE("features of packed pictures") {
  pair_data data(6);
  single_rank<small_model, fp32> one(6, 1);
  trainer<small_model, fp32, motet::cuda::device> other(alone(1), {.batch = 6});
  pair_data::feed floats = data.open(false), bytes = data.open(true);
  std::vector<float> want(6 * 8), found(6 * 8);
  one.embed<0>(std::get<0>(floats.next<small_model::batch>()), want.data());
  other.embed<"picture">(std::get<0>(bytes.next<small_model::batch>()), found.data());
  CHECK(laws::off_by(found, want) < 1e-5);
}

TEST_CASE("ranks with microbatches that share a GPU, stages, replicas, and members of a tensor group") {
  const auto run = [](std::int32_t ranks, const char* schedule, module_plan pictures_on,
                      module_plan captions_on) {
    plan made;
    made.cluster.ranks = ranks;
    made.schedule = schedule;
    made.modules.push(pictures_on);
    made.modules.push(captions_on);
    score order;
    REQUIRE(write_plan(made, facts_of<towers>(), order).ok());
    pipeline_config config;
    config.batch = 8;
    config.modules = choices_of(made);
    config.deadline = 240;
    pipeline_trainer<towers, motet::cuda::device, fp32, thread_ranks<shared_gpu::world, shared_gpu::endpoint>>
        many(order, config);
    many.prepare();
    single_rank<towers, fp32> one(8, order.voices()[0].joins());
    pair_data data(8);
    idx as_floats = 0;
    CHECK(follow<towers::batch>(one, many, data, 6, as_floats) < 1e-4);
    CHECK(as_floats > 0);
  };
  module_plan first = on_ranks("picture", 0, {2, 1, 1, 1}, 2),
              second = on_ranks("caption", 0, {2, 1, 1, 1}, 2);
  first.group = second.group = 1;
  run(2, "1f1b", first, second);
  run(3, "batch_sync", on_ranks("picture", 0, {1, 1, 1, 2}, 2), on_ranks("caption", 2, {1, 1, 1, 1}, 2));
  run(3, "batch_sync", on_ranks("picture", 0, {1, 2, 1, 1}, 2), on_ranks("caption", 2, {1, 1, 1, 1}, 2));
}
