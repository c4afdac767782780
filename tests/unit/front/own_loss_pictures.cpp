// SPDX-License-Identifier: Apache-2.0
// races: front/edges and front/own_loss
// A language model that sees learns by any plan what it learns on one rank.
#include <motet/front/trainer.hpp>

#include <motet/plan/prove/plan_for.hpp>

#include "deviation.hpp"
#include "layer_laws.hpp"
#include "unit/runtime/allocations.hpp"
#include "unit/runtime/small_sight.hpp"

#include <doctest/doctest.h>

using namespace motet;
using namespace motet::strategy;

namespace {

launched_world alone() {
  const char* const words[] = {"program", "--threads", "2"};
  return launch(3, words);
}
struct steps {
  std::vector<double> losses, norms;
  std::vector<float> weights;
};
steps train(trainer<small_seen_speech>& by) {
  steps out;
  for (std::uint64_t k = 0; k < 4; ++k) {
    const small_seen_text data(8, 1 + k);
    const step_result found = by.step({data.get()}, 1e-3);
    out.losses.push_back(found.loss);
    out.norms.push_back(found.gradient_norm);
  }
  out.weights = by.weights();
  return out;
}
void check_same(const steps& got, const steps& want) {
  CHECK(laws::off_by(got.losses, want.losses) <= 1e-5);
  CHECK(laws::off_by(got.norms, want.norms) <= 1e-4);
  CHECK(laws::off_by(got.weights, want.weights) <= 1e-4);
}
const steps& of_one_rank() {
  static const steps found = [] {
    const launched_world world = alone();
    trainer<small_seen_speech> one(world, {.batch = 8});
    return train(one);
  }();
  return found;
}
void check_plan_is_one_rank(const plan& how) {
  CAPTURE(how.modules[0].on.split().stages);
  CAPTURE(how.modules[0].on.split().data);
  CAPTURE(how.modules[0].on.split().tensor);
  const launched_world world = alone();
  trainer<small_seen_speech> many(world, how, {.batch = 8});
  check_same(train(many), of_one_rank());
}

}  // namespace

TEST_CASE("the loss is that of the net alone") {
  const launched_world world = alone();
  trainer<small_seen_speech> one(world, {.batch = 8});
  for (std::uint64_t k = 0; k < 2; ++k) {
    const small_seen_text data(8, 1 + k);
    const std::vector<float> now = one.weights();
    const laws::reals w(now.begin(), now.end()), none(w.size(), 0.0);
    const auto found = laws::evaluate<fp64>(laws::tower_subject<small_sight>{data.get()}, laws::way::whole, 1,
                                            w, {}, laws::reals(8, 1.0), none);
    double loss = 0;
    for (const double each : found.y) loss += each;
    const step_result step = one.step({data.get()}, 1e-2);
    CHECK(laws::off_by(step.loss, loss) <= 1e-6 * loss);
    CHECK(laws::off_by(step.gradient_norm, laws::size_of(found.g)) <= 1e-5 * laws::size_of(found.g));
  }
}

TEST_CASE("any plan is one rank, and parts are the whole") {
  check_plan_is_one_rank(
      plan_for<small_seen_speech,
               on<"talk", ranks<0, 2>, stages<2>, strategy::microbatches<4>, group<1>>>::value());
  check_plan_is_one_rank(plan_for<small_seen_speech, on<"talk", ranks<0, 3>, data<3>>>::value());
  check_plan_is_one_rank(plan_for<small_seen_speech, on<"talk", ranks<0, 2>, tensor<2>>>::value());
  check_plan_is_one_rank(plan_for<small_seen_speech, on<"talk", ranks<0, 2>, context<2>>>::value());
  const launched_world world = alone();
  trainer<small_seen_speech> parts(world, {.batch = 8, .parts = 4});
  check_same(train(parts), of_one_rank());
}

TEST_CASE("after the first, a step allocates nothing, whatever it sees") {
  const launched_world world = alone();
  trainer<small_seen_speech> train(world, {.batch = 8});
  const small_seen_text data(8), other(8, 2);
  train.step({data.get()}, 1e-3);
  const long before = allocations.load();
  train.step({other.get()}, 1e-3);
  CHECK(allocations.load() == before);
}

TEST_CASE("pictures and their places that do not fit are refused, and weights stay") {
  const launched_world world = alone();
  trainer<small_seen_speech> train(world, {.batch = 8});
  const small_seen_text good(8);
  const std::vector<float> before = train.weights();
  const auto refusal = [&](auto&& spoil) -> std::string {
    small_seen_text data = good;
    pictured_tokens batch = data.get();
    spoil(data, batch);
    try {
      train.step({batch}, 1e-3);
    } catch (const error& problem) {
      return problem.what();
    }
    return {};
  };
  const auto says = [&](const std::string& text, auto&& spoil) {
    const std::string said = refusal(spoil);
    CHECK_MESSAGE(said.find(text) != std::string::npos, said);
    CHECK_MESSAGE(said.find("MT-R15") != std::string::npos, said);
  };
  const std::size_t first = 1;  // behind the row of a class token
  REQUIRE(good.places[first] >= 0);
  says("is kept for a picture", [&](small_seen_text& data, auto&) {
    for (std::size_t i = 0; i < data.ids.size(); ++i)
      if (data.ids[i] >= 0) {
        data.ids[i] = -1;
        break;
      }
  });
  says("has 3 rows without a token", [&](small_seen_text& data, auto&) {
    std::size_t last = 0;  // of the first sample that has a picture
    while (good.picture_offsets[last + 1] == 0) ++last;
    const auto own = as_size(5 * good.picture_offsets[last + 1]);
    if (good.picture_offsets[last + 1] == 1) data.ids[as_size(data.places[own - 1])] = 0;
    else data.ids[as_size(data.places[4])] = 0;
  });
  says("wants row", [&](small_seen_text& data, auto&) { data.places[first + 1] += 1; });
  says("pictures came", [&](auto&, pictured_tokens& batch) { batch.seen.samples -= 1; });
  says("the vocabulary has 23", [&](small_seen_text& data, auto&) {
    for (std::int32_t& each : data.ids)
      if (each >= 0) each = 23;
  });
  says("target", [&](small_seen_text& data, auto&) {
    for (std::int32_t& each : data.targets)
      if (each >= 0) each = 99;
  });
  CHECK(refusal([](small_seen_text& data, auto&) { data.pixels[0] = std::nanf(""); }).find("MT-R01") !=
        std::string::npos);
  CHECK(train.weights() == before);
}
