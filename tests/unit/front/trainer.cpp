// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/front/trainer.hpp>

#include <motet/plan/prove/plan_for.hpp>

#include "deviation.hpp"
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
// The same numbers from the trainer of one device.
struct steps {
  std::vector<double> losses, norms;
  std::vector<float> weights, features = std::vector<float>(8 * 8);
};
steps wanted(motet::index parts = 1) {
  cpu::device device(2);
  small_trainer train(device, {.batch = 8, .parts = parts});
  train.prepare();
  const small_batch data(8);
  steps out;
  for (int k = 0; k < 4; ++k) {
    const step_result found = train.step(data.get(), 1e-3);
    out.losses.push_back(found.loss);
    out.norms.push_back(found.gradient_norm);
  }
  out.weights.assign(train.weights(), train.weights() + small_model::parameter_size);
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

TEST_CASE("one rank with two threads takes the steps of one device") {
  const launched_world world = alone();
  const steps to = wanted();
  trainer<small_model> train(world, {.batch = 8});
  CHECK(train.is_main());
  CHECK(train.threads() == 2);
  CHECK(train.of().cluster.ranks == 1);
  compare(train, to, 1e-8);
  CHECK(laws::off_by(train.weights(), to.weights) <= 1e-6);
}

TEST_CASE("a batch in parts has the same loss and gradients, in less memory") {
  const launched_world world = alone();
  trainer<small_model> whole(world, {.batch = 8}), parts(world, {.batch = 8, .parts = 4});
  compare(parts, wanted(), 1e-5);
  CHECK(parts.memory()[0].stages.slots < whole.memory()[0].stages.slots);
  CHECK_THROWS_WITH_AS(trainer<small_model>(world, {.batch = 3, .parts = 4}),
                       doctest::Contains("a batch of 3 samples in 4 parts"), error);
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
  data.pixels[5 * 3 * 64 + 1] = 0;
  CHECK(std::isfinite(train.step(data.get(), 1e-3).loss));
}
