// SPDX-License-Identifier: Apache-2.0
// labels: threads
// races: front/edges and front/trained/seeing_painter
// A language model's rows enter a drawer, and what it lost goes back through the language model to the eye.
#include <motet/front/trainer.hpp>

#include "deviation.hpp"
#include "hand_plans.hpp"
#include "layer_laws.hpp"
#include "unit/runtime/small_retelling.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

using all_learn = small_retelling<>;
using talk_kept = small_retelling<true, false>;  // frozen between an eye and a drawer that learn
using draw_alone = small_retelling<true>;        // what stands before the glue and the lens stays
constexpr motet::isize samples = 6;

launched_world alone() {
  const char* const words[] = {"program", "--threads", "2"};
  return launch(3, words);
}
// A drawer begins without hearing anything, so weights are drawn for it.
template <class Model>
void draw_weights(trainer<Model>& by) {
  auto state = by.state();
  const laws::reals drawn = laws::random_weights(Model::parameters(), Model::parameter_size);
  for (const parameter& each : Model::parameters())
    for (motet::isize i = each.offset; i < each.offset + each.size(); ++i)
      state.weights[as_size(i)] = static_cast<float>(drawn[as_size(i)]);
  by.set_state(state);
}
struct steps {
  std::vector<double> losses, norms;
  std::vector<float> weights;
};
template <class Model>
steps train(trainer<Model>& by) {
  steps out;
  draw_weights(by);
  for (std::uint64_t k = 0; k < 3; ++k) {
    const small_retold_text data(samples, 1 + k);
    const step_result found = by.step(data.get(), 1e-3);
    out.losses.push_back(found.loss);
    out.norms.push_back(found.gradient_norm);
  }
  out.weights = by.weights();
  return out;
}
template <class Model>
void check_plans_are_one_rank(std::initializer_list<plan> plans) {
  const launched_world world = alone();
  trainer<Model> one(world, {.batch = samples});
  const steps want = train(one);
  for (const plan& how : plans) {
    CAPTURE(how.schedule.view());
    CAPTURE(how.cluster.ranks);
    trainer<Model> many(world, how, {.batch = samples});
    const steps got = train(many);
    CHECK(laws::off_by(got.losses, want.losses) <= 1e-5);
    CHECK(laws::off_by(got.norms, want.norms) <= 1e-5 * want.norms[0]);
    CHECK(laws::off_by(got.weights, want.weights) <= 1e-4);
  }
}
// Where each module is, from its first rank on, and how it is cut.
struct cut {
  int first = 0;
  degrees split{};
  int microbatches = 1;
};
plan chain(int ranks, const char* schedule, const std::array<cut, 5>& cuts) {
  std::vector<module_plan> modules;
  for (std::size_t k = 0; k < cuts.size(); ++k)
    modules.push_back(laws::in_groups(
        1, on_ranks(all_learn::names[k].data(), cuts[k].first, cuts[k].split, cuts[k].microbatches)));
  return laws::of(ranks, schedule, modules);
}

// What stands before the language model and behind it computes in the gaps of its two stages.
plan filled(const char* schedule, const std::array<cut, 5>& cuts, int draw_slices) {
  plan out = chain(2, schedule, cuts);
  for (motet::isize k = 0; k < 5; ++k) out.modules[k].fills = k != 2;
  out.modules[4].chunks = draw_slices;
  return out;
}

}  // namespace

TEST_CASE("each module's gradient is the slope that differences have along it, over both edges") {
  const launched_world world = alone();
  trainer_options how{.batch = samples};
  how.optimizer.clip = 0;
  trainer<all_learn> train(world, how);
  draw_weights(train);
  const small_retold_text data(samples, 1);
  const auto begun = train.state();
  train.step(data.get(), 0);
  const auto moments = train.state();
  for (std::size_t k = 0; k < all_learn::size; ++k) {
    CAPTURE(all_learn::names[k]);
    // Its gradient; a first moment is a share of it.
    std::vector<std::pair<std::size_t, double>> gradient;
    double squares = 0;
    for (const parameter& each : all_learn::parameters())
      for (motet::isize i = each.offset; i < each.offset + each.size(); ++i)
        if (i >= all_learn::offsets[k] && i < all_learn::offsets[k] + all_learn::sizes[k]) {
          gradient.emplace_back(as_size(i), moments.first[as_size(i)] / (1 - optimizer_settings{}.beta1));
          squares += gradient.back().second * gradient.back().second;
        }
    const double length = std::sqrt(squares), by = 2e-4;
    CHECK(length > 1e-3);
    double losses[2];
    for (const int side : {0, 1}) {
      auto moved = begun;
      for (const auto& [at, slope] : gradient)
        moved.weights[at] += static_cast<float>((side == 0 ? -by : by) * slope / length);
      train.set_state(moved);
      losses[side] = train.step(data.get(), 0).loss;
    }
    CHECK(laws::off_by((losses[1] - losses[0]) / (2 * by), length) <= 1e-2 * length);
  }
}

TEST_CASE("any plan is one rank: modules apart, in stages, in replicas, and cut unlike") {
  check_plans_are_one_rank<all_learn>(
      {chain(5, "1f1b", {{{0}, {1}, {2}, {3}, {4}}}),
       chain(3, "gpipe", {{{0, {}, 3}, {0, {}, 3}, {1, {}, 3}, {2, {}, 3}, {2, {}, 3}}}),
       chain(4, "1f1b", {{{0, {}, 2}, {0, {}, 2}, {1, {.stages = 2}, 2}, {2, {}, 2}, {2, {.stages = 2}, 2}}}),
       chain(2, "1f1b",
             {{{0, {.data = 2}}, {0, {.data = 2}}, {0, {.data = 2}}, {0, {.data = 2}}, {0, {.data = 2}}}}),
       chain(4, "1f1b",
             {{{0, {}, 3}, {1, {.data = 2}}, {0, {.tensor = 2}, 2}, {3, {}, 6}, {1, {.data = 3}}}}),
       chain(3, "zb_h1", {{{0, {}, 3}, {0, {}, 3}, {0, {}, 3}, {0, {}, 3}, {1, {.stages = 2}, 3}}})});
}

TEST_CASE("a drawer in the gaps of a language model, and an eye beside it, are one rank") {
  const cut both{0, {.data = 2}}, stages{0, {.stages = 2}, 3}, parts{0, {.data = 2}, 3}, last{1, {}, 3};
  check_plans_are_one_rank<all_learn>({filled("1f1b", {{both, both, {0, {.stages = 2}, 6}, parts, parts}}, 1),
                                       filled("zb_h1", {{both, both, stages, last, last}}, 2),
                                       filled("gpipe", {{both, both, stages, both, both}}, 2)});
  check_plans_are_one_rank<talk_kept>({filled("1f1b", {{both, both, stages, both, both}}, 1)});
}

TEST_CASE("gradients go through a language model that stays, and end where nothing behind them learns") {
  const plan spread = chain(3, "1f1b", {{{0, {}, 2}, {0, {}, 2}, {1, {}, 3}, {2, {}, 3}, {2, {}, 3}}});
  check_plans_are_one_rank<talk_kept>({spread});
  check_plans_are_one_rank<draw_alone>({spread});
  const launched_world world = alone();
  trainer<talk_kept> train(world, {.batch = samples});
  draw_weights(train);
  const auto before = train.weights<"eye", "talk">();
  train.step(small_retold_text(samples, 1).get(), 1e-3);
  const auto after = train.weights<"eye", "talk">();
  const auto eye = talk_kept::sizes[0];
  CHECK(std::equal(before.begin() + eye, before.end(), after.begin() + eye));
  CHECK_FALSE(std::equal(before.begin(), before.begin() + eye, after.begin()));
}

TEST_CASE("rows that no language model made for a picture are refused, and so are too many") {
  const launched_world world = alone();
  trainer<all_learn> train(world, {.batch = samples});
  const small_retold_text data(samples, 1);
  auto batch = data.get();
  std::vector<motet::isize> offsets = data.data.offsets;
  for (std::size_t k = 3; k < offsets.size(); ++k) ++offsets[k];
  std::get<2>(batch).row_offsets = offsets.data();
  CHECK_THROWS_WITH_AS(train.step(batch, 1e-3), doctest::Contains("[MT-R19]"), error);
  offsets = data.data.offsets;
  for (std::size_t k = 3; k < offsets.size(); ++k) offsets[k] += 20;
  CHECK_THROWS_WITH_AS(train.step(batch, 1e-3), doctest::Contains("[MT-R03]"), error);
  CHECK(train.updates() == 0);
}
