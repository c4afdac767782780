// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/runtime/stage/plan_choices.hpp>

#include "hand_plans.hpp"
#include "pipeline_comparisons.hpp"

// Plans whose ranks replay what they compute, beside the same plans kernel by kernel.
namespace {

using picture = motet::module<
    "picture", vit<vit_config{.image = 8, .patch = 4, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>>;
using caption =
    motet::module<"caption",
                  text_tower<text_config{
                      .vocabulary = 20, .context = 6, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>>;
using towers = model<join<info_nce, picture, caption>>;
using experts_caption = motet::module<"caption", text_tower<text_config{.vocabulary = 20,
                                                                        .context = 6,
                                                                        .width = 8,
                                                                        .layers = 2,
                                                                        .heads = 2,
                                                                        .embedding = 8,
                                                                        .mix = {.experts = 4}}>>;
using expert_towers = model<join<info_nce, picture, experts_caption>>;

using laws::in_groups;
using laws::in_pieces;
using laws::of;
using laws::remade;
using laws::stashed;
using laws::with_zero;

struct recorded_course {
  std::vector<double> losses, norms;
  std::vector<float> weights;
  std::vector<long> replayed;  // by each rank
};

constexpr motet::isize recorded_samples = 8;
constexpr int recorded_steps = 6;
// Two batches in turn: captions of two kinds of lengths.
inline test_data recorded_data(int step) {
  return test_data(recorded_samples, static_cast<std::uint64_t>(1 + step % 2));
}
inline pipeline_config recorded_config(const plan& order_of) {
  pipeline_config config;
  config.batch = recorded_samples;
  config.modules = choices_of(order_of);
  config.deadline = 240;
  return config;
}

// Each rank replays this in so many steps: all that it computes but what came for the first time. Captions
// have two shapes. Where gradients are kept elsewhere, backward is not recorded.
inline std::vector<long> replays_of(const program& all, const plan& order_of) {
  std::vector<long> found(static_cast<std::size_t>(all.ranks()), 0);
  for (std::int32_t i = 0; i < all.instructions.size(); ++i) {
    const instruction& it = all.instructions[i];
    if (!is_forward(it.what) && !is_backward(it.what)) continue;
    const std::int32_t module = all.voices[it.voice].module;
    const bool elsewhere = order_of.modules[module].zero > 1 && order_of.modules[module].on.split().data > 1;
    if (is_backward(it.what) && elsewhere) continue;
    found[static_cast<std::size_t>(all.rank_of(i))] += recorded_steps - (module == 0 ? 1 : 2);
  }
  return found;
}

// Calls run(model, plan, recorded) for plans of all kinds; it gives a recorded_course and, by the way, the
// program.
template <class Model, class Run>
void compare_recorded(const plan& order_of, Run&& run) {
  score order;
  REQUIRE(write_plan(order_of, facts_of<Model>(), order).ok());
  std::vector<long> wanted, none(static_cast<std::size_t>(order_of.cluster.ranks), 0);
  const recorded_course plain = run(order, recorded_config(order_of), false,
                                    [&](const program& all) { wanted = replays_of(all, order_of); });
  const recorded_course replayed = run(order, recorded_config(order_of), true, [](const program&) {});
  REQUIRE(plain.losses.size() == static_cast<std::size_t>(recorded_steps));
  CHECK(replayed.losses == plain.losses);
  CHECK(replayed.norms == plain.norms);
  CHECK(replayed.weights == plain.weights);
  CHECK(plain.losses[0] != plain.losses[2]);
  CHECK(plain.replayed == none);
  CHECK(replayed.replayed == wanted);
}

inline std::vector<std::pair<const char*, plan>> plans_to_record() {
  return {
      {"1f1b", of(2, "1f1b",
                  {in_groups(1, on_ranks("picture", 0, {2, 1, 1, 1}, 2)),
                   in_groups(1, on_ranks("caption", 0, {2, 1, 1, 1}, 2))})},
      {"batch_sync with forwards that come again",
       of(4, "batch_sync",
          {stashed(1, on_ranks("picture", 0, {2, 1, 1, 1}, 4)), on_ranks("caption", 2, {2, 1, 1, 1}, 2)})},
      {"zb_h1", of(3, "zb_h1",
                   {in_groups(1, on_ranks("picture", 0, {2, 1, 1, 1}, 4)),
                    in_groups(1, on_ranks("caption", 2, {1, 1, 1, 1}, 4))})},
      {"remade",
       of(3, "batch_sync",
          {remade(on_ranks("picture", 0, {2, 1, 1, 1}, 2)), on_ranks("caption", 2, {1, 1, 1, 1}, 2)})},
      {"tensor", of(3, "batch_sync",
                    {on_ranks("picture", 0, {1, 1, 1, 2}, 2), on_ranks("caption", 2, {1, 1, 1, 1}, 2)})},
      {"tensor of ragged rows in pieces",
       of(3, "batch_sync",
          {on_ranks("picture", 2, {1, 1, 1, 1}, 2), in_pieces(3, on_ranks("caption", 0, {1, 1, 1, 2}, 2))})},
      {"context and tensor",
       of(4, "batch_sync", {on_ranks("picture", 0, {1, 1, 2, 2}), on_ranks("caption", 0, {2, 1, 2, 1})})},
      {"replicas", of(3, "batch_sync",
                      {on_ranks("picture", 0, {1, 2, 1, 1}, 2), on_ranks("caption", 2, {1, 1, 1, 1}, 2)})},
      {"replicas that share the optimizer",
       of(3, "batch_sync",
          {on_ranks("picture", 2, {1, 1, 1, 1}, 2), with_zero(1, on_ranks("caption", 0, {1, 2, 1, 1}, 2))})},
      {"replicas that share gradients",
       of(3, "batch_sync",
          {with_zero(2, on_ranks("picture", 0, {1, 2, 1, 1}, 2)), on_ranks("caption", 2, {1, 1, 1, 1}, 2)})},
  };
}

}  // namespace
