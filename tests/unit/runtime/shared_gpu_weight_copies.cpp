// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device.hpp>
#include <motet/backend/transport/shared_gpu/shared_gpu_group.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/runtime/stage/plan_choices.hpp>

#include "pipeline_comparisons.hpp"

// Products in bf16 on ranks: the copies of weights that they take follow the weights, also those that other
// ranks update.
namespace {

// Pictures wide enough that sums of their layers are shared, too.
using picture = motet::module<
    "picture", vit<vit_config{.image = 8, .patch = 4, .width = 24, .layers = 2, .heads = 2, .embedding = 8}>>;
using caption =
    motet::module<"caption",
                  text_tower<text_config{
                      .vocabulary = 20, .context = 6, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>>;
using towers = model<join<info_nce, picture, caption>>;
using on_gpu = pipeline_trainer<towers, motet::cuda::device, mixed_bf16,
                                thread_ranks<shared_gpu::world, shared_gpu::endpoint>>;

}  // namespace

TEST_CASE("steps are those of ranks that make all copies again before each step") {
  constexpr motet::isize samples = 8;
  for (const int zero : {0, 1, 2}) {
    CAPTURE(zero);
    plan made;
    made.cluster.ranks = 3;
    made.schedule = "batch_sync";
    made.modules.push(on_ranks("picture", 0, {1, 2, 1, 1}, 2));
    made.modules.push(on_ranks("caption", 2, {1, 1, 1, 1}, 2));
    made.modules[0].zero = zero;
    score order;
    REQUIRE(write_plan(made, facts_of<towers>(), order).ok());
    pipeline_config config;
    config.batch = samples;
    config.modules = choices_of(made);
    config.deadline = 240;
    on_gpu one(order, config), other(order, config);
    const auto stale = [](const on_gpu& of, std::int32_t rank) {
      const auto& copies = const_cast<on_gpu&>(of).ranks().end(rank).on().part<motet::cuda::weight_copies>();
      return copies.stale();
    };
    for (on_gpu* each : {&one, &other}) each->prepare();
    for (int step = 0; step < 4; ++step) {
      other.pieces().write_back();
      for (const std::int32_t rank : {0, 1, 2}) CHECK(stale(other, rank) > 0);
      const test_data data(samples, static_cast<std::uint64_t>(1 + step % 2));
      const auto whole = data.batch<towers>();
      const step_result found = one.step(whole, 1e-2), wanted = other.step(whole, 1e-2);
      CHECK(found.loss == wanted.loss);
      CHECK(found.gradient_norm == wanted.gradient_norm);
      // A rank that updates all that it holds has its copies by then; who gets weights from others makes them
      // at the next step.
      CHECK(stale(one, 2) == 0);
      CHECK((stale(one, 0) > 0) == (zero > 0));
    }
    CHECK(one.weights() == other.weights());
  }
}
