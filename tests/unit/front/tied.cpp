// SPDX-License-Identifier: Apache-2.0
// labels: threads
// races: front/adapters
// A table of tokens that is the last product, too: one parameter, by any plan that leaves it whole.
#include <motet/format/checkpoint/checkpoint.hpp>
#include <motet/front/trainer.hpp>

#include <motet/front/trained/speaker.hpp>
#include <motet/plan/prove/plan_for.hpp>

#include "deviation.hpp"
#include "unit/runtime/small_talk.hpp"

#include <doctest/doctest.h>

#include <filesystem>

using namespace motet;
using namespace motet::strategy;

namespace {

constexpr decoder_config tied_config = [] {
  decoder_config c = small_talk_config;
  c.tied = true;
  return c;
}();
using tied_talk = decoder<tied_config>;
using tied_speech = model<join<next_token, module<"talk", tied_talk>>>;

launched_world alone() {
  const char* const words[] = {"program", "--threads", "2"};
  return launch(3, words);
}
struct steps {
  std::vector<double> losses, norms;
  std::vector<float> weights;
};
template <class Trainer>
steps train(Trainer& by, std::uint64_t from = 0, std::uint64_t to = 5) {
  steps out;
  for (std::uint64_t k = from; k < to; ++k) {
    const step_result found = by.step({small_text(8, 1 + k).get()}, 1e-2);
    out.losses.push_back(found.loss);
    out.norms.push_back(found.gradient_norm);
  }
  out.weights = by.weights();
  return out;
}
const steps& of_one_rank() {
  static const steps found = [] {
    const launched_world world = alone();
    trainer<tied_speech> one(world, {.batch = 8});
    return train(one);
  }();
  return found;
}
void check_close(const steps& got, const steps& want) {
  CHECK(laws::off_by(got.losses, want.losses) <= 1e-5);
  CHECK(laws::off_by(got.norms, want.norms) <= 1e-4);
  CHECK(laws::off_by(got.weights, want.weights) <= 1e-4);
}

}  // namespace

TEST_CASE("any plan that leaves the table whole is one rank") {
  const launched_world world = alone();
  plan shared = plan_for<tied_speech, on<"talk", ranks<0, 3>, data<3>>>::value();
  shared.modules[0].zero = 1;
  plan again = plan_for<tied_speech, on<"talk", ranks<0, 2>, data<2>>>::value();
  again.modules[0].remade.resize(1, 1);
  for (const plan& how : {plan_for<tied_speech, on<"talk", ranks<0, 3>, data<3>>>::value(), shared, again,
                          plan_for<tied_speech, on<"talk", ranks<0, 2>, tensor<2>>>::value(),
                          plan_for<tied_speech, on<"talk", ranks<0, 2>, context<2>>>::value()}) {
    trainer<tied_speech> many(world, how, {.batch = 8});
    check_close(train(many), of_one_rank());
  }
  trainer<tied_speech> parts(world, {.batch = 8, .parts = 4});
  check_close(train(parts), of_one_rank());
}

TEST_CASE("a plan that parts the table is refused, and one that sums its gradients one by one") {
  const launched_world world = alone();
  CHECK_THROWS_WITH_AS(
      trainer<tied_speech>(world, plan_for<tied_speech, on<"talk", ranks<0, 2>, stages<2>>>::value(),
                           {.batch = 8}),
      doctest::Contains("talk is tied, and stages = 2. Take stages = 1"), error);
  plan summed = plan_for<tied_speech, on<"talk", ranks<0, 2>, data<2>>>::value();
  summed.modules[0].zero = 2;
  CHECK_THROWS_WITH_AS(trainer<tied_speech>(world, summed, {.batch = 8}),
                       doctest::Contains("talk is tied, and zero = 2. Take stages = 1"), error);
}

TEST_CASE("another plan goes on from a checkpoint that has one table") {
  const std::filesystem::path run = std::filesystem::temp_directory_path() / "motet_tied";
  std::filesystem::remove_all(run);
  const launched_world world = alone();
  {
    trainer<tied_speech> first(world, plan_for<tied_speech, on<"talk", ranks<0, 2>, tensor<2>>>::value(),
                               {.batch = 8});
    train(first, 0, 2);
    first.save(run, "talk", json{});
  }
  trainer<tied_speech> second(world, {.batch = 8});
  second.load(checkpoint(run), "talk");
  const steps got = train(second, 2);
  CHECK(laws::off_by(got.weights, of_one_rank().weights) <= 1e-4);
  std::filesystem::remove_all(run);
}

TEST_CASE("rows that follow one by one have the logits of all rows at once") {
  cpu::device device(2);
  speaker<tied_talk> says(device, of_one_rank().weights.data());
  const std::vector<std::int32_t> prompt{3, 1, 4};
  const said_tokens said = says.say(prompt, {.most = 3});
  std::vector<std::int32_t> all = prompt;
  for (const std::int32_t each : said.tokens) {
    CHECK(says.next(all) == each);
    all.push_back(each);
  }
  CHECK(all.size() == 6);
}
