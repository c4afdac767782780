// SPDX-License-Identifier: Apache-2.0
// labels: threads
// races: front/edges and tests of nets
// A model whose pictures have losses of their own: a net that learns to take noise away.
#include <motet/front/trainer.hpp>

#include <motet/plan/prove/plan_for.hpp>

#include "deviation.hpp"
#include "layer_laws.hpp"
#include "unit/runtime/allocations.hpp"
#include "unit/runtime/small_drawing.hpp"

#include <doctest/doctest.h>

using namespace motet;
using namespace motet::strategy;

static_assert(small_drawing::size == 1 && small_drawing::trainable_size == small_drawer::parameter_size);

namespace {

launched_world alone() {
  const char* const words[] = {"program", "--threads", "2"};
  return launch(3, words);
}
struct steps {
  std::vector<double> losses, norms;
  std::vector<float> weights;
};
steps train(trainer<small_drawing>& by) {
  steps out;
  for (std::uint64_t k = 0; k < 4; ++k) {
    const small_drawings data(8, 1 + k);
    const step_result found = by.step({data.get(k)}, 1e-2);
    out.losses.push_back(found.loss);
    out.norms.push_back(found.gradient_norm);
  }
  out.weights = by.weights();
  return out;
}
const steps& of_one_rank() {
  static const steps found = [] {
    const launched_world world = alone();
    trainer<small_drawing> one(world, {.batch = 8});
    return train(one);
  }();
  return found;
}
void check_plan_is_one_rank(const plan& how) {
  CAPTURE(how.modules[0].on.split().stages);
  CAPTURE(how.modules[0].on.split().data);
  CAPTURE(how.modules[0].on.split().tensor);
  const launched_world world = alone();
  trainer<small_drawing> many(world, how, {.batch = 8});
  const steps &want = of_one_rank(), got = train(many);
  CHECK(laws::off_by(got.losses, want.losses) <= 1e-5);
  CHECK(laws::off_by(got.norms, want.norms) <= 1e-4);
  CHECK(laws::off_by(got.weights, want.weights) <= 1e-4);
}

}  // namespace

TEST_CASE("the loss is the mean over all numbers of the step, and its gradient that of the net") {
  const launched_world world = alone();
  trainer<small_drawing> one(world, {.batch = 8});
  for (std::uint64_t k = 0; k < 3; ++k) {
    const small_drawings data(8, 1 + k);
    const std::vector<float> at = one.weights();
    const laws::reals w(at.begin(), at.end());
    const auto want = laws::evaluate<fp64>(laws::tower_subject<small_drawer>{data.get(k)}, laws::way::whole,
                                           1, w, {}, laws::reals(8, 1.0), laws::reals(w.size(), 0.0));
    double loss = 0;
    for (const double each : want.y) loss += each;
    const step_result found = one.step({data.get(k)}, 1e-2);
    CHECK(laws::off_by(found.loss, loss) <= 1e-6 * loss);
    CHECK(laws::off_by(found.gradient_norm, laws::size_of(want.g)) <= 1e-5 * laws::size_of(want.g));
  }
}

TEST_CASE("any plan is one rank, parts too, as noise is that of a picture's place in the step") {
  check_plan_is_one_rank(plan_for<small_drawing, on<"draw", ranks<0, 2>, stages<2>>>::value());
  check_plan_is_one_rank(
      plan_for<small_drawing,
               on<"draw", ranks<0, 2>, stages<2>, strategy::microbatches<4>, group<1>>>::value());
  check_plan_is_one_rank(plan_for<small_drawing, on<"draw", ranks<0, 3>, data<3>>>::value());
  check_plan_is_one_rank(
      plan_for<small_drawing,
               on<"draw", ranks<0, 4>, data<2>, stages<2>, strategy::microbatches<2>, group<1>>>::value());
  const launched_world world = alone();
  trainer<small_drawing> parts(world, {.batch = 8, .parts = 4});
  const steps got = train(parts);
  CHECK(laws::off_by(got.losses, of_one_rank().losses) <= 1e-5);
  CHECK(laws::off_by(got.weights, of_one_rank().weights) <= 1e-4);
}

TEST_CASE("after the first, a step allocates nothing") {
  const launched_world world = alone();
  trainer<small_drawing> train(world, {.batch = 8});
  const small_drawings data(8);
  train.step({data.get(0)}, 1e-3);
  const long before = allocations.load();
  train.step({data.get(1)}, 1e-3);
  CHECK(allocations.load() == before);
}

TEST_CASE("classes that the net lacks are refused, and so are given times, and weights stay") {
  const launched_world world = alone();
  trainer<small_drawing> train(world, {.batch = 4});
  small_drawings data(4);
  const auto refusal = [&](const drawn_pictures& batch) -> std::string {
    try {
      train.step({batch}, 1e-3);
    } catch (const error& problem) {
      return problem.what();
    }
    return {};
  };
  data.classes[2] = 2;
  const std::string said = refusal(data.get(0));
  CHECK(said.find("draw: picture 2 has class 2, the net knows 2, from 0 on") != std::string::npos);
  CHECK(said.find("[MT-R15]") != std::string::npos);
  data.classes[2] = -5;
  drawn_pictures batch = data.get(0);
  const float times[4] = {};
  batch.draws.times = times;
  CHECK(refusal(batch).find("times are given, and a net that learns draws its own") != std::string::npos);
  CHECK(train.updates() == 0);
  CHECK(refusal(data.get(0)).empty());
  CHECK(train.updates() == 1);
}
