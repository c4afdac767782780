// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/device_trainer.hpp>

#include <unit/runtime/allocations.hpp>
#include <unit/runtime/small_model.hpp>

#include <doctest/doctest.h>

#include <limits>

using namespace motet;
using idx = motet::index;

TEST_CASE("training lowers the loss of a batch that it sees again and again") {
  cpu::device device(2);
  small_trainer train(device, {.batch = 7});
  train.prepare();
  const small_batch data(7);
  const double first = train.step(data.get(), 3e-3).loss;
  double last = first;
  for (int i = 0; i < 30; ++i) last = train.step(data.get(), 3e-3).loss;
  CHECK(first > 1.5);
  CHECK(last < 0.5 * first);
  CHECK(train.updates() == 31);
}

TEST_CASE("a step allocates nothing") {
  for (const idx parts : {1, 3}) {
    CAPTURE(parts);
    cpu::device device(2);
    small_trainer train(device, {.batch = 7, .parts = parts});
    train.prepare();
    const small_batch data(7), other(7, 2);
    train.step(data.get(), 1e-3);
    const long before = allocations.load();
    for (int i = 0; i < 2; ++i) {
      train.step(data.get(), 1e-3);
      train.step(other.get(), 1e-3);
    }
    CHECK(allocations.load() == before);
  }
  const long before = allocations.load();
  ::operator delete(::operator new(1));
  CHECK(allocations.load() == before + 1);  // the count counts
}

TEST_CASE("a batch in parts gives what the whole batch gives, negatives included") {
  const small_batch data(9);
  cpu::device device(2);
  small_trainer whole(device, {.batch = 9, .parts = 1});
  whole.prepare();
  const step_result expected = whole.step(data.get(), 1e-3);
  for (const idx parts : {2, 4, 9}) {
    CAPTURE(parts);
    small_trainer cut(device, {.batch = 9, .parts = parts});
    cut.prepare();
    const step_result found = cut.step(data.get(), 1e-3);
    CHECK(found.loss == doctest::Approx(expected.loss).epsilon(1e-6));
    CHECK(found.gradient_norm == doctest::Approx(expected.gradient_norm).epsilon(1e-5));
    // First moments are a tenth of the clipped gradient.
    double difference = 0, size = 0;
    for (idx i = 0; i < small_model::trainable_size; ++i) {
      const double a = static_cast<double>(whole.first()[i]), b = static_cast<double>(cut.first()[i]);
      difference += (a - b) * (a - b);
      size += a * a;
    }
    CHECK(std::sqrt(difference / size) < 1e-5);
  }
}

TEST_CASE("the number of threads changes only rounding") {
  const small_batch data(8);
  double loss[2], norm[2];
  for (const int threads : {1, 3}) {
    cpu::device device(threads);
    small_trainer train(device, {.batch = 8});
    train.prepare();
    train.step(data.get(), 1e-3);
    const step_result second = train.step(data.get(), 1e-3);
    loss[threads / 3] = second.loss;
    norm[threads / 3] = second.gradient_norm;
  }
  CHECK(loss[0] == doctest::Approx(loss[1]).epsilon(1e-5));
  CHECK(norm[0] == doctest::Approx(norm[1]).epsilon(1e-4));
}

TEST_CASE("what is not finite is named, and the weights stay") {
  cpu::device device(1);
  small_trainer train(device, {.batch = 4});
  train.prepare();
  small_batch data(4);
  train.step(data.get(), 1e-3);
  const auto weights_now = [&] {
    return std::vector<float>(train.weights(), train.weights() + small_model::parameter_size);
  };
  const std::vector<float> before = weights_now();
  const auto message_of = [&] {
    try {
      train.step(data.get(), 1e-3);
    } catch (const error& problem) {
      CHECK(std::string_view(problem.code()) == "MT-R01");
      return std::string(problem.what());
    }
    return std::string();
  };

  data.pixels[3 * 64 + 5] = std::numeric_limits<float>::quiet_NaN();
  std::string text = message_of();
  CHECK(text.find("the input of \"picture\", sample 1") != std::string::npos);
  CHECK(text.find("step 2") != std::string::npos);
  CHECK(weights_now() == before);
  CHECK(train.updates() == 1);

  // A good batch goes on as if nothing had happened.
  data.pixels[3 * 64 + 5] = 0;
  CHECK(std::isfinite(train.step(data.get(), 1e-3).loss));

  const auto found =
      std::find_if(train.parameters().begin(), train.parameters().end(),
                   [](const parameter& p) { return p.name == "caption.blocks.0.mlp.up.weight"; });
  REQUIRE(found != train.parameters().end());
  train.weights()[found->offset + 3] = std::numeric_limits<float>::infinity();
  text = message_of();
  CHECK(text.find("weight caption.blocks.0.mlp.up.weight, element 3 is inf") != std::string::npos);
}

TEST_CASE("a plan tells the bytes that are taken") {
  cpu::device device(2);
  small_trainer train(device, {.batch = 6});
  const training_plan plan = train.plan();
  CHECK(plan.weights == small_model::parameter_size * 4);
  CHECK(plan.gradients == small_model::trainable_size * 4);
  CHECK(plan.optimizer == small_model::trainable_size * 8);
  CHECK(plan.arena > 0);
  CHECK(plan.scratch > 0);
  CHECK(plan.flops > 0);
  CHECK(plan.flops_run == plan.flops);
  small_trainer parts(device, {.batch = 6, .parts = 3});
  CHECK(parts.plan().arena < plan.arena);
  CHECK(parts.plan().flops_run > 1.2 * parts.plan().flops);
  // FLOPs grow with the tokens of a batch.
  const small_batch data(6);
  CHECK(train.flops(data.get()) < plan.flops);
}

TEST_CASE("the temperature stops at ln 100") {
  cpu::device device(1);
  small_trainer train(device, {.batch = 4});
  train.prepare();
  const auto at = std::find_if(train.parameters().begin(), train.parameters().end(),
                               [](const parameter& p) { return p.name == "join.log_scale"; });
  train.weights()[at->offset] = 10;
  const small_batch data(4);
  train.step(data.get(), 1e-3);
  CHECK(train.weights()[at->offset] == doctest::Approx(4.6051702));
}

TEST_CASE("a batch beyond the plan is refused") {
  cpu::device device(1);
  small_trainer train(device, {.batch = 3});
  train.prepare();
  const small_batch data(4);
  CHECK_THROWS_WITH_AS(train.step(data.get(), 1e-3), doctest::Contains("MT-R03"), error);
  CHECK_THROWS_WITH_AS(small_trainer(device, {.batch = 3, .parts = 4}), doctest::Contains("MT-R02"), error);
}

TEST_CASE("embedding gives rows of length one") {
  cpu::device device(2);
  small_trainer train(device, {.batch = 5});
  train.prepare();
  const small_batch data(5);
  std::vector<float> features(5 * 8);
  train.embed<1>(std::get<1>(data.get()), features.data());
  for (int s = 0; s < 5; ++s) {
    double sum = 0;
    for (int k = 0; k < 8; ++k)
      sum += static_cast<double>(features[static_cast<std::size_t>(8 * s + k)]) *
             static_cast<double>(features[static_cast<std::size_t>(8 * s + k)]);
    CHECK(sum == doctest::Approx(1).epsilon(1e-5));
  }
}
