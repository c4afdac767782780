// SPDX-License-Identifier: Apache-2.0
// labels: threads
// A model whose samples have losses of their own: a decoder that learns to say next tokens.
#include <motet/front/trainer.hpp>

#include <motet/plan/prove/plan_for.hpp>

#include "deviation.hpp"
#include "layer_laws.hpp"
#include "unit/runtime/allocations.hpp"
#include "unit/runtime/small_talk.hpp"

#include <doctest/doctest.h>

using namespace motet;
using namespace motet::strategy;

static_assert(small_speech::size == 1 && small_speech::trainable_size == small_talk::parameter_size);

namespace {

launched_world alone() {
  const char* const words[] = {"program", "--threads", "2"};
  return launch(3, words);
}

// The loss and the length of its gradient at these weights, by the net alone, in double.
std::pair<double, double> wanted(const std::vector<float>& at, const small_text& data) {
  const laws::reals w(at.begin(), at.end()), none(w.size(), 0.0);
  const labelled_tokens batch = data.get();
  const auto found = laws::evaluate<fp64>(laws::tower_subject<small_talk>{batch}, laws::way::whole, 1, w, {},
                                          laws::reals(as_size(batch.seq.samples), 1.0), none);
  double loss = 0;
  for (const double each : found.y) loss += each;
  return {loss, laws::size_of(found.g)};
}
struct steps {
  std::vector<double> losses, norms;
  std::vector<float> weights;
};
steps train(trainer<small_speech>& by) {
  steps out;
  for (std::uint64_t k = 0; k < 4; ++k) {
    const small_text data(8, 1 + k);
    const step_result found = by.step({data.get()}, 1e-3);
    out.losses.push_back(found.loss);
    out.norms.push_back(found.gradient_norm);
  }
  out.weights = by.weights();
  return out;
}
const steps& of_one_rank() {
  static const steps found = [] {
    const launched_world world = alone();
    trainer<small_speech> one(world, {.batch = 8});
    return train(one);
  }();
  return found;
}
void check_plan_is_one_rank(const plan& how, bool by_rows = false) {
  CAPTURE(how.modules[0].on.split().stages);
  CAPTURE(how.modules[0].on.split().data);
  CAPTURE(how.modules[0].on.split().tensor);
  const launched_world world = alone();
  trainer<small_speech> many(world, how, {.batch = 8, .rooms = {.by_rows = by_rows}});
  const steps &want = of_one_rank(), got = train(many);
  CHECK(laws::off_by(got.losses, want.losses) <= 1e-5);
  CHECK(laws::off_by(got.norms, want.norms) <= 1e-4);
  CHECK(laws::off_by(got.weights, want.weights) <= 1e-4);
}

}  // namespace

TEST_CASE("the loss is the mean over all targets of the step, and its gradient that of the small_talk") {
  const launched_world world = alone();
  trainer<small_speech> one(world, {.batch = 8});
  for (std::uint64_t k = 0; k < 3; ++k) {
    const small_text data(8, 1 + k);
    const auto [loss, norm] = wanted(one.weights(), data);
    const step_result found = one.step({data.get()}, 1e-2);
    CHECK(laws::off_by(found.loss, loss) <= 1e-6 * loss);
    CHECK(laws::off_by(found.gradient_norm, norm) <= 1e-5 * norm);
  }
}

TEST_CASE("what is learned is said: four samples by heart") {
  const launched_world world = alone();
  trainer<small_speech> one(world, {.batch = 4, .optimizer = {.decay = 0}});
  const small_text data(4, 9);
  double loss = 0;
  for (int k = 0; k < 100; ++k) loss = one.step({data.get()}, 1e-2).loss;
  CHECK(loss < 0.1);
}

TEST_CASE("any plan is one rank, parts too: each part by itself, in the memory of one") {
  check_plan_is_one_rank(plan_for<small_speech, on<"talk", ranks<0, 2>, stages<2>>>::value());
  check_plan_is_one_rank(
      plan_for<small_speech,
               on<"talk", ranks<0, 2>, stages<2>, strategy::microbatches<4>, group<1>>>::value());
  check_plan_is_one_rank(plan_for<small_speech, on<"talk", ranks<0, 3>, data<3>>>::value());
  check_plan_is_one_rank(plan_for<small_speech, on<"talk", ranks<0, 2>, tensor<2>>>::value());
  check_plan_is_one_rank(plan_for<small_speech, on<"talk", ranks<0, 2>, context<2>>>::value());
  check_plan_is_one_rank(
      plan_for<small_speech,
               on<"talk", ranks<0, 4>, data<2>, tensor<2>, strategy::microbatches<2>, group<1>>>::value());
  const launched_world world = alone();
  trainer<small_speech> whole(world, {.batch = 8}), parts(world, {.batch = 8, .parts = 4});
  const steps got = train(parts);
  CHECK(laws::off_by(got.losses, of_one_rank().losses) <= 1e-5);
  CHECK(laws::off_by(got.weights, of_one_rank().weights) <= 1e-4);
  CHECK(parts.memory()[0].total() < whole.memory()[0].total());
}

namespace {
const plan in_turns =
    plan_for<small_speech, on<"talk", ranks<0, 2>, stages<2>, strategy::microbatches<4>, group<1>>>::value();
// Eight short samples, of which one may be seven times as long.
small_text conversations(motet::isize long_one = -1) {
  small_text made(0);
  for (motet::isize s = 0; s < 8; ++s) {
    for (motet::isize k = 0; k < (s == long_one ? 7 : 1); ++k) {
      made.ids.push_back(static_cast<std::int32_t>((3 * s + k) % 23));
      made.targets.push_back(static_cast<std::int32_t>((3 * s + k + 1) % 23));
      ++made.asked;
    }
    made.offsets.push_back(static_cast<motet::isize>(made.ids.size()));
  }
  return made;
}
}  // namespace

TEST_CASE("rooms that follow rows: any plan is one rank") {
  check_plan_is_one_rank(in_turns, true);
  check_plan_is_one_rank(plan_for<small_speech, on<"talk", ranks<0, 2>, context<2>>>::value(), true);
  check_plan_is_one_rank(
      plan_for<small_speech,
               on<"talk", ranks<0, 4>, data<2>, tensor<2>, strategy::microbatches<2>, group<1>>>::value(),
      true);
}

TEST_CASE("rooms hold what the rows of a step need, and grow to the longest step") {
  const launched_world world = alone();
  trainer<small_speech> train(world, in_turns, {.batch = 8, .rooms = {.by_rows = true}});
  const std::vector<rank_memory> most = train.memory();
  isize largest = 0, sum = 0, widest = 0;
  for (const rank_memory& each : most) largest += each.stages.slots + each.stages.boundaries;
  train.prepare();
  CHECK(train.rooms() == std::vector<isize>(2, 0));
  std::vector<small_text> stream;
  for (isize step = 0; step < 8; ++step) stream.push_back(conversations(step == 5 ? 3 : -1));
  std::vector<small_speech::batch> batches;
  for (const small_text& each : stream) batches.push_back({each.get()});
  const auto room_of = [](const std::vector<rank_memory>& of) {
    isize bytes = 0;
    for (const rank_memory& each : of) bytes += each.stages.slots + each.stages.boundaries;
    return bytes;
  };
  for (const auto& each : batches) {
    const isize own = room_of(train.memory({&each, 1}));
    sum += own;
    widest = std::max(widest, own);
    train.step(each, 1e-3);
    CHECK(train.rooms()[0] + train.rooms()[1] == widest);
  }
  MESSAGE("rooms of " << largest << " bytes for the longest step there can be; of " << sum / 8
                      << " in the mean step, and " << widest << " in the longest");
  CHECK(room_of(train.memory(batches)) == widest);
  CHECK(sum / 8 * 3 < largest);
  CHECK(widest * 3 < largest * 2);
  // They are large enough now, whoever the long one is among.
  const small_text other = conversations(3);
  const long before = allocations.load();
  train.step({other.get()}, 1e-3);
  train.step(batches[0], 1e-3);
  CHECK(allocations.load() == before);
}

TEST_CASE("a step that finds no room is refused before it begins, and others go on") {
  const launched_world world = alone();
  const small_text short_ones = conversations(), one_long = conversations(3);
  trainer<small_speech> free(world, in_turns, {.batch = 8, .rooms = {.by_rows = true}});
  const small_speech::batch fits{short_ones.get()};
  isize most = 0;
  for (const rank_memory& each : free.memory({&fits, 1})) most = std::max(most, each.total());
  trainer<small_speech> train(world, in_turns, {.batch = 8, .rooms = {.by_rows = true, .most = most}});
  train.step(fits, 1e-3);
  const std::vector<float> before = train.weights();
  for (const char* const part : {"MT-R60", "rank ", " bytes for the rows of this step, ",
                                 " for a stage of talk; free are ", "the weights are as before this step"})
    CHECK_THROWS_WITH_AS(train.step({one_long.get()}, 1e-3), doctest::Contains(part), error);
  CHECK(train.weights() == before);
  CHECK(std::isfinite(train.step(fits, 1e-3).loss));
  CHECK_THROWS_WITH_AS(trainer<small_speech>(world, {.batch = 8, .rooms = {.most = most}}),
                       doctest::Contains("MT-R61"), error);
}

TEST_CASE("after the first, a step allocates nothing, whatever its rows") {
  const launched_world world = alone();
  trainer<small_speech> train(world, {.batch = 8});
  const small_text data(8), other(8, 2);
  train.step({data.get()}, 1e-3);
  const long before = allocations.load();
  train.step({other.get()}, 1e-3);
  CHECK(allocations.load() == before);
}

TEST_CASE("what a step costs is counted, the vocabulary too") {
  const launched_world world = alone();
  trainer<small_speech> train(world, {.batch = 8});
  CHECK(train.foretold_costs().flops() >
        6.0 * 8 * 7 * static_cast<double>(small_talk::parameter_size - 23 * 16));
  const small_text data(8);
  CHECK(train.flops({data.get()}) < train.foretold_costs().flops());
}

TEST_CASE("tokens and targets that the vocabulary lacks are refused, and weights stay") {
  const launched_world world = alone();
  trainer<small_speech> train(world, {.batch = 4});
  small_text data(4);
  const std::vector<float> before = train.weights();
  const auto refusal = [&](std::int32_t& at, std::int32_t value) -> std::string {
    const std::int32_t kept = at;
    at = value;
    std::string said;
    try {
      train.step({data.get()}, 1e-3);
    } catch (const error& problem) {
      said = problem.what();
    }
    at = kept;
    return said;
  };
  CHECK(refusal(data.ids[1], -1).find("talk: token") != std::string::npos);
  CHECK(refusal(data.ids.back(), 23).find("of sample 3 is 23, the vocabulary has 23") != std::string::npos);
  CHECK(refusal(data.targets[0], 40).find("talk: target 0 of sample 0 is 40") != std::string::npos);
  CHECK(refusal(data.targets[0], 40).find("[MT-R15]") != std::string::npos);
  CHECK(refusal(data.targets[0], -7).empty());
  CHECK(train.updates() == 1);
  CHECK(before.size() == train.weights().size());
}
