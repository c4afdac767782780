// SPDX-License-Identifier: Apache-2.0
// labels: threads
// races: runtime/train/pipeline_trainer and runtime/feeds/meeting_point
// Models of all kinds by pipeline_trainer: frozen modules, three modules, another loss, recomputed blocks,
// dropout.
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/runtime/train/pipeline_trainer.hpp>
#include <motet/schedule/write/schedules.hpp>

#include <unit/runtime/wet_tower.hpp>

#include "pipeline_comparisons.hpp"

namespace {

using eye = vit<vit_config{.image = 8,
                           .patch = 4,
                           .width = 16,
                           .layers = 3,
                           .heads = 2,
                           .embedding = 8,
                           .pool = pool_kind::mean,
                           .recompute = true}>;
using ear = text_tower<text_config{
    .vocabulary = 20, .context = 6, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>;

struct free_info_nce : info_nce {
  static constexpr number_limit limit{};
};

score three(const char* name, int microbatches, int groups) {
  const auto one = [&](int stages) {
    return write_schedule(name, {.stages = stages, .microbatches = microbatches});
  };
  return joined(beside(beside(one(2), one(1)), one(2)), groups);
}

}  // namespace

TEST_CASE("three modules meet pair by pair, one of them recomputes its blocks and one drops numbers") {
  using model_type = model<join<info_nce, motet::module<"wet", wet_tower>, motet::module<"picture", eye>,
                                motet::module<"caption", ear>>>;
  compare_with_single_rank<model_type, fp32>(three("gpipe", 4, 1), 8, 1e-5);
  compare_with_single_rank<model_type, fp32>(three("gpipe", 4, 2), 12, 1e-5, {{1, 3}, {}, {}});
  compare_with_single_rank<model_type, fp32>(three("zb_h2", 4, 4), 16, 1e-5);
  compare_with_single_rank<model_type, fp32>(
      batch_sync::write({{{4, 8, 8, 3}, {2, 4, 4, 0}, {1, 8, 8, 1, 1}}, 3}), 16, 1e-5);
}

TEST_CASE("dropout draws by the rows of the whole step, anew in every step") {
  using model_type = model<join<info_nce, motet::module<"wet", wet_tower>, motet::module<"caption", ear>>>;
  single_rank<model_type, fp32> one(8, 1);
  pipeline_config config;
  config.batch = 8;
  config.deadline = 20;
  pipeline<model_type, fp32> many(batch_sync::write({{{3, 4, 4, 1}, {1, 2, 2}}, 2}), config);
  many.prepare();
  const test_data data(8);
  const auto whole = data.batch<model_type>();
  double before = 0;
  for (int k = 0; k < 3; ++k) {
    // The rate is so small that only what is drawn makes a difference.
    const step_result wanted = one.step(whole, 1e-9), found = many.step(whole, 1e-9);
    CHECK(found.loss == doctest::Approx(wanted.loss).epsilon(1e-6));
    CHECK(found.gradient_norm == doctest::Approx(wanted.gradient_norm).epsilon(1e-5));
    CHECK(std::abs(found.loss - before) > 1e-4);
    before = found.loss;
  }
}

TEST_CASE("a frozen module goes forward only, and meets the others by another loss") {
  using model_type =
      model<join<pairwise_sigmoid, motet::module<"picture", frozen<eye>>, motet::module<"caption", ear>>>;
  for (const score& both : {batch_sync::write({{{3, 4, 4, 1}, {2, 4, 4, 2}}, 2}),
                            joined(beside(gpipe::write({2, 4}), zb_h1::write({2, 4})), 4)}) {
    const score order = without_backward(both, 0);
    compare_with_single_rank<model_type, fp32>(order, 8, 1e-5);
    pipeline_config config;
    config.batch = 8;
    config.deadline = 20;
    pipeline<model_type, fp32> train(order, config);
    for (std::size_t r = 0; r < 2; ++r) {
      const rank_memory own = train.forecast()[r];
      CHECK(own.stages.weights > 0);
      CHECK(own.stages.gradients + own.stages.optimizer + own.stages.slots == 0);
    }
    train.prepare();
    const test_data data(8);
    const std::vector<float> before = train.weights();
    const motet::isize groups = order.voices()[0].joins();
    single_rank<model_type, fp32> one(8, groups);
    for (int k = 0; k < 3; ++k) {
      const step_result wanted = one.step(data.batch<model_type>(), 1e-3),
                        found = train.step(data.batch<model_type>(), 1e-3);
      CHECK(found.loss == doctest::Approx(wanted.loss).epsilon(1e-5));
      CHECK(found.gradient_norm == doctest::Approx(wanted.gradient_norm).epsilon(1e-5));
    }
    // The frozen tower is as it was, the other is not.
    const std::vector<float> after = train.weights();
    const auto at = static_cast<std::ptrdiff_t>(model_type::offsets[0]),
               size = static_cast<std::ptrdiff_t>(model_type::sizes[0]);
    CHECK(std::equal(before.begin() + at, before.begin() + at + size, after.begin() + at));
    CHECK(before != after);
    CHECK(after[static_cast<std::size_t>(model_type::loss_at)] ==
          doctest::Approx(one.weights[static_cast<std::size_t>(model_type::loss_at)]).epsilon(1e-5));
  }
}

TEST_CASE("two frozen modules: their pair counts for the numbers of the loss") {
  using model_type =
      model<join<info_nce, motet::module<"wet", wet_tower>, motet::module<"picture", frozen<eye>>,
                 motet::module<"caption", frozen<ear>>>>;
  const score order = without_backward(without_backward(three("gpipe", 4, 2), 1), 2);
  compare_with_single_rank<model_type, fp32>(order, 8, 1e-5);
  // The learned scale follows, step by step.
  single_rank<model_type, fp32> one(8, 2);
  pipeline_config config;
  config.batch = 8;
  config.deadline = 20;
  pipeline<model_type, fp32> train(order, config);
  train.prepare();
  const test_data data(8);
  const auto scale = static_cast<std::size_t>(model_type::loss_at);
  const float start = one.weights[scale];
  for (int k = 0; k < 4; ++k) {
    one.step(data.batch<model_type>(), 1e-2);
    train.step(data.batch<model_type>(), 1e-2);
  }
  CHECK(std::abs(one.weights[scale] - start) > 1e-3f);
  CHECK(train.weights()[scale] == doctest::Approx(one.weights[scale]).epsilon(1e-5));
}

TEST_CASE("the scale stays below the limit that its loss has, or has none") {
  const test_data data(4);
  const auto step_from_above = [&]<class Loss>() {
    using model_type = model<join<Loss, motet::module<"wet", wet_tower>, motet::module<"caption", ear>>>;
    const auto scale = static_cast<std::size_t>(model_type::loss_at);
    pipeline_config config;
    config.batch = 4;
    config.deadline = 20;
    pipeline<model_type, fp32> train(joined(beside(gpipe::write({2, 2}), gpipe::write({1, 2})), 1), config);
    train.prepare();
    std::vector<float> w = train.weights();
    w[scale] = 4.70f;
    train.set_weights(w);
    train.step(data.batch<model_type>(), 1e-3);
    return train.weights()[scale];
  };
  CHECK(step_from_above.operator()<info_nce>() == doctest::Approx(4.60517).epsilon(1e-3));
  CHECK(step_from_above.operator()<free_info_nce>() == doctest::Approx(4.70).epsilon(1e-3));
}
