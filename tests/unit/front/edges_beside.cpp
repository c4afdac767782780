// SPDX-License-Identifier: Apache-2.0
// labels: threads
// races: front/edges and tests of nets
// A language model that looks at rows of another module: by any plan that leaves its samples whole it learns
// what it learns on one rank.
#include <motet/front/trainer.hpp>
#include <motet/plan/prove/require_plan.hpp>

#include "deviation.hpp"
#include "unit/runtime/small_hearing.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr motet::isize samples = 11;
using hearing = small_hearing<>;
// Of its two blocks the second one looks.
using ear_kept = small_hearing<frozen<sound_rows<small_hearing_ear, 2>>, 2>;

launched_world alone() {
  const char* const words[] = {"program", "--threads", "1"};
  return launch(3, words);
}
struct steps {
  std::vector<double> losses, norms;
  std::vector<float> weights;
};
template <class Model>
steps train(trainer<Model>& by) {
  steps out;
  for (std::uint64_t k = 0; k < 3; ++k) {
    const small_heard_text data(samples, 1 + k);
    const step_result found = by.step({data.sounds(), data.words()}, 1e-3);
    out.losses.push_back(found.loss);
    out.norms.push_back(found.gradient_norm);
  }
  out.weights = by.weights();
  return out;
}
template <class Model>
const steps& of_one_rank() {
  static const steps found = [] {
    const launched_world world = alone();
    trainer<Model> one(world, {.batch = samples});
    return train(one);
  }();
  return found;
}
template <class Model>
void check_plan_is_one_rank(const plan& how) {
  const launched_world world = alone();
  trainer<Model> many(world, how, {.batch = samples});
  const steps got = train(many), &want = of_one_rank<Model>();
  CHECK(laws::off_by(got.losses, want.losses) <= 1e-5);
  CHECK(laws::off_by(got.norms, want.norms) <= 1e-4);
  CHECK(laws::off_by(got.weights, want.weights) <= 1e-4);
}

// The ear on its ranks, the language model on those from `first` on; both with so many microbatches.
plan parted(const degrees& ear, const degrees& talk, int parts, std::int32_t first) {
  plan out;
  out.schedule = "1f1b";
  out.modules.push(on_ranks("ear", 0, ear, parts));
  out.modules.push(on_ranks("talk", first, talk, parts));
  out.modules[0].group = out.modules[1].group = 1;
  out.cluster.ranks =
      std::max(static_cast<std::int32_t>(ear.size()), first + static_cast<std::int32_t>(talk.size()));
  return out;
}

using untied = small_parted_hearing<>;
using untied_kept = small_parted_hearing<frozen<sound_rows<small_hearing_ear, 2>>>;

}  // namespace

TEST_CASE("an ear that does not learn stays, one that does moves") {
  const auto moved = []<class Model>(std::type_identity<Model>) {
    const auto begin = static_cast<std::ptrdiff_t>(Model::offsets[0]),
               size = static_cast<std::ptrdiff_t>(Model::template module_at<0>::net::parameter_size);
    const launched_world world = alone();
    const std::vector<float> before = trainer<Model>(world, {.batch = samples}).weights(),
                             &after = of_one_rank<Model>().weights;
    return !std::equal(after.begin() + begin, after.begin() + begin + size, before.begin() + begin);
  };
  CHECK(moved(std::type_identity<hearing>()));
  CHECK_FALSE(moved(std::type_identity<ear_kept>()));
}

TEST_CASE("replicas, microbatches, tensor members and an ear on ranks of its own are one rank") {
  for (const plan& how :
       {parted({.data = 2}, {.data = 2}, 1, 0), parted({}, {}, 4, 1),
        parted({.stages = 2}, {.data = 2}, 3, 2), parted({.tensor = 2}, {.tensor = 2}, 2, 0),
        parted({.data = 3}, {.tensor = 2}, 2, 1)})
    check_plan_is_one_rank<hearing>(how);
  for (const degrees& talk : {degrees{.data = 2}, degrees{.tensor = 2}})
    check_plan_is_one_rank<ear_kept>(parted({}, talk, 2, 1));
}

TEST_CASE("stages hand the rows on, and bring their gradients back") {
  for (plan how : {parted({}, {.stages = 3}, 4, 1), parted({.stages = 2}, {.stages = 2}, 3, 0),
                   parted({.data = 2}, {.stages = 2, .data = 2}, 2, 0),
                   parted({.tensor = 2}, {.stages = 2, .tensor = 2}, 2, 2)}) {
    check_plan_is_one_rank<untied>(how);
    // What a stage needs for backward may be made again, from all that came.
    for (module_plan& each : how.modules) each.remade = list<std::uint8_t>(each.on.split().stages, 1);
    check_plan_is_one_rank<untied>(how);
  }
  // Backward in two parts.
  plan halves = parted({}, {.stages = 2}, 4, 1);
  halves.schedule = "zb_h1";
  check_plan_is_one_rank<untied>(halves);
  for (const degrees& talk : {degrees{.stages = 2}, degrees{.stages = 2, .data = 2}})
    check_plan_is_one_rank<untied_kept>(parted({}, talk, 2, 1));
}

TEST_CASE("plans that would cut samples are refused") {
  const launched_world world = alone();
  CHECK_THROWS_WITH_AS(
      trainer<untied>(world, parted({}, {.context = 2}, 1, 1), {.batch = samples}),
      doctest::Contains("blocks that look at rows of another module have their samples whole"), error);
}

TEST_CASE("both ends of the edge count the same rows, and no sample has too many") {
  const launched_world world = alone();
  trainer<hearing> one(world, {.batch = samples});
  small_heard_text data(samples, 1);
  ++data.rows.back();
  CHECK_THROWS_AS(one.step({data.sounds(), data.words()}, 1e-3), error);
}
