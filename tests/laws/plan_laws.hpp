// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/runtime/save/pipeline_checkpoint.hpp>
#include <motet/runtime/stage/plan_choices.hpp>

#include "deviation.hpp"
#include "pipeline_comparisons.hpp"
#include "unit/plan/random_plans.hpp"

#include <cstdlib>
#include <memory>

// Any plan gives the single rank's loss, gradients and steps: plans drawn at random, and what they are
// compared with.
namespace {

using picture = motet::module<
    "picture", vit<vit_config{.image = 8, .patch = 4, .width = 16, .layers = 4, .heads = 4, .embedding = 8}>>;
using caption =
    motet::module<"caption",
                  text_tower<text_config{
                      .vocabulary = 20, .context = 6, .width = 12, .layers = 3, .heads = 3, .embedding = 8}>>;
using towers = model<join<info_nce, picture, caption>>;
constexpr motet::isize law_samples = 48;

class plan_maker {
 public:
  // ranks: exactly; 0: up to most_ranks.
  plan_maker(std::uint64_t seed, int most_ranks, int most_context, int ranks = 0)
      : roll_(seed), most_ranks_(most_ranks), most_context_(most_context), ranks_(ranks) {}
  // groups: losses of a step; 0: any.
  plan make(int groups = 0) {
    const list<module_facts> facts = facts_of<towers>();
    for (;;) {
      plan made = random_plan(roll_, facts, ranks_ > 0 ? ranks_ : most_ranks_);
      if (ranks_ > 0) made.cluster.ranks = ranks_;
      // A schedule that splits backward makes nothing again.
      const bool splits =
          made.schedule.view().starts_with("zb") || made.schedule.view().starts_with("dualpipe");
      bool fits = true;
      for (module_plan& each : made.modules) {
        if (splits) each.remade = {};
        each.zero = static_cast<int>(roll_.below(4));
        fits = fits && each.on.split().context <= most_context_ && (groups == 0 || each.groups() == groups);
      }
      if (fits && prove_plan(made, facts, law_samples).ok()) return made;
    }
  }

 private:
  laws::dice roll_;
  int most_ranks_, most_context_, ranks_;
};

std::string text_of(const plan& of) {
  std::string text = std::to_string(of.cluster.ranks) + " ranks, " + std::string(of.schedule.view());
  for (const module_plan& each : of.modules) {
    const degrees& split = each.on.split();
    text += "; " + std::string(each.name.view()) + " stages " + std::to_string(split.stages) + "x" +
            std::to_string(each.chunks) + " data " + std::to_string(split.data) + " context " +
            std::to_string(split.context) + " tensor " + std::to_string(split.tensor) + " microbatches " +
            std::to_string(each.microbatches) + "/" + std::to_string(each.group) + " stash " +
            std::to_string(each.stash) + " ahead " + std::to_string(each.ahead) + " zero " +
            std::to_string(each.zero) + " on";
    for (const std::int32_t rank : each.on.ranks()) text += " " + std::to_string(rank);
  }
  return text;
}

// Sums of 4 bytes in other orders: 1e-5 is what they keep to, but for one of some thousand drawn gradients,
// which came to 1.02e-5.
constexpr double gradient_rounding = 1.5e-5;

// Three steps of both from the same weights, then all weights and moments.
template <class Trained, class Before>
void check_steps(Trained& many, single_rank<towers, fp32>& one, const towers::batch& whole, Before before) {
  const std::vector<float> start = one.weights;
  for (int step = 0; step < 3; ++step) {
    before();
    const step_result wanted = one.step(whole, 1e-3), found = many.step(whole, 1e-3);
    // Adam makes steps of gradients that are zero but for rounding, so that weights differ from the second
    // step on.
    const double tolerance = step == 0 ? 1e-5 : 1e-4;
    CHECK(laws::off_by(found.loss, wanted.loss) <= tolerance * std::abs(wanted.loss));
    CHECK(laws::off_by(found.gradient_norm, wanted.gradient_norm) <= tolerance * wanted.gradient_norm);
  }
  const flat_state<float> state = many.state();
  CHECK(way_apart(state.weights, one.weights, start) <= 1e-3);
  CHECK(apart<towers>(state.first, one.first) <= 1e-4);
  CHECK(apart<towers>(state.second, one.second) <= 1e-4);
}

// Ranks that are few are teams of two threads, the others one thread each: a plan holds for both.
inline int threads_of(const plan& of) { return of.cluster.ranks <= 3 ? 2 : 1; }

// Loss and every gradient of a step, and after some steps all weights and moments, beside the single rank's.
template <class Host>
void compare(const plan& of) {
  using trained = pipeline_trainer<towers, cpu::device, fp32, Host>;
  const std::string text = text_of(of);
  CAPTURE(text);
  const test_data data(law_samples);
  const auto whole = data.batch<towers>();
  score order;
  REQUIRE(write_plan(of, facts_of<towers>(), order).ok());
  const motet::isize groups = order.voices()[0].joins();
  pipeline_config config;
  config.batch = law_samples;
  config.modules = choices_of(of);
  config.each.threads = threads_of(of);
  config.deadline = 120;
  {
    single_rank<towers, fp32> one(law_samples, groups);
    const double loss = one.differentiate(whole);
    config.update = false;
    trained many(order, config);
    many.prepare();
    for (int turn = 0; turn < 2; ++turn) {
      CHECK(laws::off_by(many.step(whole, 0).loss, loss) <= 1e-5 * std::abs(loss));
      CHECK(apart<towers>(many.gradients(), one.gradients) <= gradient_rounding);
    }
  }
  single_rank<towers, fp32> one(law_samples, groups);
  config.update = true;
  trained many(order, config);
  many.prepare();
  check_steps(many, one, whole, [] {});
}

// Another plan goes on from what one left, as the single rank does.
template <class Host>
void go_on(const plan& first, const plan& second, const std::filesystem::path& run) {
  using trained = pipeline_trainer<towers, cpu::device, fp32, Host>;
  const std::string text = text_of(first) + " | then | " + text_of(second);
  CAPTURE(text);
  const test_data data(law_samples);
  const auto whole = data.batch<towers>();
  const auto make = [](const plan& of) {
    score order;
    REQUIRE(write_plan(of, facts_of<towers>(), order).ok());
    pipeline_config config;
    config.batch = law_samples;
    config.modules = choices_of(of);
    config.deadline = 120;
    return std::make_unique<trained>(order, config);
  };
  // Both in groups of one size, so that the losses are the same.
  single_rank<towers, fp32> one(law_samples, first.modules[0].groups());
  std::vector<double> losses;
  for (int step = 0; step < 4; ++step) losses.push_back(one.step(whole, 1e-3).loss);
  {
    const auto many = make(first);
    many->prepare();
    for (int step = 0; step < 2; ++step)
      CHECK(laws::off_by(many->step(whole, 1e-3).loss, losses[static_cast<std::size_t>(step)]) <= 1e-4);
    save(*many, run, "towers", json{}, json{});
  }
  const auto many = make(second);
  many->prepare();
  const checkpoint from(run);
  load(*many, from, "towers");
  CHECK(many->updates() == 2);
  for (int step = 2; step < 4; ++step)
    CHECK(laws::off_by(many->step(whole, 1e-3).loss, losses[static_cast<std::size_t>(step)]) <= 1e-4);
  CHECK(way_apart(many->weights(), one.weights, single_rank<towers, fp32>(law_samples, 1).weights) <= 1e-3);
}

}  // namespace
