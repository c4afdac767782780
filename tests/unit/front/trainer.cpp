// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/front/trainer.hpp>

#include <motet/format/checkpoint.hpp>
#include <motet/plan/prove/plan_for.hpp>

#include "deviation.hpp"
#include "single_rank.hpp"
#include "unit/runtime/allocations.hpp"
#include "unit/runtime/small_model.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace motet;
using namespace motet::strategy;

namespace {

using layout = plan_for<small_model, on<"picture", ranks<0, 2>, stages<2>>,
                        on<"caption", ranks<1, 3>, data<2>>, by<batch_sync, strategy::microbatches<2>>>;

launched_world alone() {
  const char* const words[] = {"program", "--threads", "2"};
  return launch(3, words);
}
// The same numbers from the single rank that tests have.
struct steps {
  std::vector<double> losses, norms;
  std::vector<float> weights, features = std::vector<float>(8 * 8);
};
steps wanted() {
  single_rank<small_model, fp32> train(8, 1);
  const small_batch data(8);
  steps out;
  for (int k = 0; k < 4; ++k) {
    const step_result found = train.step(data.get(), 1e-3);
    out.losses.push_back(found.loss);
    out.norms.push_back(found.gradient_norm);
  }
  out.weights = train.weights;
  const small_batch few(2);
  train.embed<0>(std::get<0>(few.get()), out.features.data());
  return out;
}
void compare(trainer<small_model>& train, const steps& to, double tolerance) {
  const small_batch data(8), few(2);
  for (std::size_t k = 0; k < 4; ++k) {
    const step_result found = train.step(data.get(), 1e-3);
    CHECK(laws::off_by(found.loss, to.losses[k]) <= (tolerance + 1e-12) * to.losses[k]);
    CHECK(laws::off_by(found.gradient_norm, to.norms[k]) <= (10 * tolerance + 1e-12) * to.norms[k]);
  }
  CHECK(train.updates() == 4);
  std::vector<float> features(8 * 8);
  train.embed<"picture">(std::get<0>(few.get()), features.data());
  CHECK(laws::off_by(features, to.features) <= 100 * tolerance);
}
// Where a parameter begins in the flat order.
std::size_t at(std::string_view name) {
  for (const parameter& each : small_model::parameters())
    if (each.name == name) return static_cast<std::size_t>(each.offset);
  throw std::runtime_error("no such parameter");
}
std::string refusal(const plan& how, const trainer_options& options = {.batch = 8}) {
  try {
    const launched_world world = alone();
    trainer<small_model> train(world, how, options);
  } catch (const error& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace

TEST_CASE("one rank with two threads takes the steps of one thread") {
  const launched_world world = alone();
  const steps to = wanted();
  trainer<small_model> train(world, {.batch = 8});
  CHECK(train.is_main());
  CHECK(train.threads() == 2);
  CHECK(train.of().cluster.ranks == 1);
  compare(train, to, 1e-6);
  CHECK(laws::off_by(train.weights(), to.weights) <= 1e-4);
}

TEST_CASE("a batch in parts has the same loss and gradients, in less memory") {
  const launched_world world = alone();
  trainer<small_model> whole(world, {.batch = 8}), parts(world, {.batch = 8, .parts = 4});
  compare(parts, wanted(), 1e-5);
  CHECK(parts.memory()[0].stages.slots < whole.memory()[0].stages.slots);
  CHECK_THROWS_WITH_AS(trainer<small_model>(world, {.batch = 3, .parts = 4}),
                       doctest::Contains("a batch of 3 samples in 4 parts"), error);
}

TEST_CASE("blocks that are made again give the same numbers, from less memory and with more work") {
  const launched_world world = alone();
  const small_batch data(8);
  for (const bool spread : {false, true}) {
    INFO("spread " << spread);
    const auto made = [&](bool recompute) {
      const trainer_options how{.batch = 8, .recompute = recompute};
      return spread ? trainer<small_model>(world, layout::value(), how) : trainer<small_model>(world, how);
    };
    trainer<small_model> kept = made(false), again = made(true);
    const auto slots = [](const trainer<small_model>& of) {
      motet::index sum = 0;
      for (const rank_memory& each : of.memory()) sum += each.stages.slots;
      return sum;
    };
    CHECK(slots(again) < slots(kept));
    CHECK(again.work().places[0].backward_input > kept.work().places[0].backward_input);
    for (int k = 0; k < 2; ++k) CHECK(again.step(data.get(), 1e-3).loss == kept.step(data.get(), 1e-3).loss);
    CHECK(again.weights() == kept.weights());
  }
}

TEST_CASE("a plan over three ranks trains and embeds as one rank does") {
  const launched_world world = alone();
  trainer<small_model> train(world, layout::value(), {.batch = 8});
  CHECK(train.order().ranks() == 3);
  CHECK(train.memory().size() == 3);
  compare(train, wanted(), 1e-4);
}

TEST_CASE("what one plan saved another goes on from") {
  const launched_world world = alone();
  const std::filesystem::path run =
      std::filesystem::temp_directory_path() / ("motet-front-" + std::to_string(::getpid()));
  const small_batch data(8);
  trainer<small_model> one(world, {.batch = 8});
  one.step(data.get(), 1e-3);
  CHECK(std::filesystem::exists(one.save(run, "small", json{{"seen", 8}})));
  const double next = one.step(data.get(), 1e-3).loss;
  trainer<small_model> many(world, layout::value(), {.batch = 8, .seed = 2});
  const checkpoint from(run);
  many.load(from, "small");
  CHECK(many.updates() == 1);
  CHECK(laws::off_by(many.step(data.get(), 1e-3).loss, next) <= 1e-5 * next);
  // And by value.
  trainer<small_model> again(world, {.batch = 8, .seed = 3});
  again.set_state(many.state());
  CHECK(again.weights() == many.weights());
  std::filesystem::remove_all(run);
}

TEST_CASE("after the first, a step allocates nothing") {
  const launched_world world = alone();
  for (const motet::index parts : {1, 2}) {
    trainer<small_model> train(world, {.batch = 8, .parts = parts});
    const small_batch data(8), other(8, 2);
    train.step(data.get(), 1e-3);
    const long before = allocations.load();
    train.step(other.get(), 1e-3);
    train.step(data.get(), 1e-3);
    CHECK(allocations.load() == before);
  }
}

TEST_CASE("plans that do not fit the model, the batch or the ranks are refused before anything starts") {
  plan wrong = layout::value();
  wrong.modules[0].layers = {1, 2};
  CHECK(refusal(wrong).find("picture: got 1 + 2 = 3 on 2 stages") != std::string::npos);
  CHECK(refusal(layout::value(), {.batch = 3}).find("a batch of 3 samples in 4 parts") != std::string::npos);
  const char* const words[] = {"program", "--ranks", "2"};
  const launched_world two = launch(3, words);
  CHECK_THROWS_WITH_AS(trainer<small_model>(two, layout::value(), {.batch = 8}),
                       doctest::Contains("the plan is for 3 ranks, there are 2"), error);
}

TEST_CASE("what is not finite is named, and the weights stay") {
  const launched_world world = alone();
  trainer<small_model> train(world, {.batch = 8});
  small_batch data(8);
  const std::vector<float> before = train.weights();
  data.pixels[5 * 3 * 64 + 1] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH_AS(train.step(data.get(), 1e-3), doctest::Contains("the input of \"picture\", sample 5"),
                       error);
  CHECK(train.weights() == before);
  // A good batch goes on as if nothing had happened.
  data.pixels[5 * 3 * 64 + 1] = 0;
  CHECK(std::isfinite(train.step(data.get(), 1e-3).loss));
  flat_state<float> spoilt = train.state();
  spoilt.weights[at("caption.blocks.0.mlp.up.weight") + 3] = std::numeric_limits<float>::infinity();
  train.set_state(spoilt);
  CHECK_THROWS_WITH_AS(train.step(data.get(), 1e-3),
                       doctest::Contains("weight caption.blocks.0.mlp.up.weight, element 3 is inf"), error);
}

TEST_CASE("the temperature stops at ln 100, and stays as it is when a step is refused") {
  const launched_world world = alone();
  trainer<small_model> train(world, {.batch = 4});
  flat_state<float> hot = train.state();
  hot.weights[at("join.log_scale")] = 10;
  train.set_state(hot);
  small_batch data(4);
  data.pixels[5] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH_AS(train.step(data.get(), 1e-3), doctest::Contains("MT-R01"), error);
  CHECK(train.state().weights[at("join.log_scale")] == 10);
  data.pixels[5] = 0;
  train.step(data.get(), 1e-3);
  CHECK(train.state().weights[at("join.log_scale")] == doctest::Approx(4.6051702));
}

TEST_CASE("training lowers the loss of a batch that it sees again and again") {
  const launched_world world = alone();
  trainer<small_model> train(world, {.batch = 7});
  const small_batch data(7);
  const double first = train.step(data.get(), 3e-3).loss;
  double last = first;
  for (int i = 0; i < 30; ++i) last = train.step(data.get(), 3e-3).loss;
  CHECK(first > 1.5);
  CHECK(last < 0.5 * first);
  CHECK(train.updates() == 31);
  CHECK_THROWS_WITH_AS(train.step(small_batch(8).get(), 1e-3),
                       doctest::Contains("has 8 samples, planned for exactly 7"), error);
}
