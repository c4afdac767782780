// SPDX-License-Identifier: Apache-2.0
// labels: threads
// races: front/edges and tests of nets
// An eye joins squares of its rows before they go on, or sees pictures of any shape: on one rank, and by
// plans, where rows change ranks.
#include <motet/front/trainer.hpp>
#include <motet/plan/prove/plan_for.hpp>

#include <motet/nn/layers/pictured_text.hpp>

#include "deviation.hpp"
#include "unit/runtime/small_edges.hpp"

#include <doctest/doctest.h>

using namespace motet;
using namespace motet::strategy;

namespace {

constexpr vit_config sight{.image = 8,
                           .patch = 2,
                           .channels = 1,
                           .width = 8,
                           .layers = 2,
                           .heads = 2,
                           .hidden = 12,
                           .pool = pool_kind::first};
constexpr vit_config any_shape = [] {
  vit_config c = sight;
  c.most_patches = 5;
  return c;
}();
using eye = vit_rows<sight, true, 2, 2>;
using shaped_eye = vit_rows<any_shape, true, 2>;
template <class Eye>
using speech = model<modules<module<"eye", Eye>, module<"glue", projector<Eye::embedding, 16>>,
                             module<"talk", fed_decoder<small_sight_words, 2 * Eye::rows_of_picture>>>,
                     edge<"eye", "glue">, edge<"glue", "talk">, loss<next_token, "talk">>;
using joined_speech = speech<eye>;
using shaped_speech = speech<shaped_eye>;
constexpr motet::isize samples = 6;

static_assert(eye::rows_of_picture == 4 && eye::embedding == 32);

// Samples of none to two pictures before two words, of which the second is asked for.
template <class Eye>
struct text {
  static constexpr bool shapes = Eye::config.most_patches > 0;
  pictured_text words{Eye::rows_of_picture, shapes ? 1 : 0};
  picture_grids grids{4, 1};
  std::vector<float> pixels;
  motet::isize shown = 0;
  explicit text(std::uint64_t seed) {
    const random_stream draw(seed, "text");
    words.clear();
    for (std::int32_t s = 0; s < samples; ++s) {
      for (std::int32_t k = 0; k < (s + 1) % 3; ++k, ++shown) {
        if (!shapes) {
          words.show();
          continue;
        }
        const auto down = 1 + draw.below(900 + static_cast<std::uint64_t>(shown), 2);
        grids.add(down, 1 + draw.below(950 + static_cast<std::uint64_t>(shown), 5 / down));
        words.show(0, grids.rows_of(shown));
      }
      const std::int32_t both[]{s, (s * 5 + 3) % 23};
      words.say(std::span(both).first(1), pictured_text::said::given);
      words.say(std::span(both).last(1), pictured_text::said::asked);
      words.end();
    }
    for (motet::isize i = 0; i < shown * 64; ++i)
      pixels.push_back(static_cast<float>(draw.normal(static_cast<std::uint64_t>(i))));
  }
  typename speech<Eye>::batch get() const {
    return words.apart(shapes ? grids.with(pixels.data()) : pictures{pixels.data(), shown});
  }
};
struct steps {
  std::vector<double> losses, norms;
  std::vector<float> weights;
};
template <class Eye>
steps train(trainer<speech<Eye>>& by) {
  steps out;
  for (std::uint64_t k = 0; k < 4; ++k) {
    const text<Eye> data(1 + k);
    const step_result found = by.step(data.get(), 1e-2);
    out.losses.push_back(found.loss);
    out.norms.push_back(found.gradient_norm);
  }
  out.weights = by.weights();
  return out;
}
launched_world alone() {
  const char* const words[] = {"program", "--threads", "2"};
  return launch(3, words);
}
template <class Eye>
void check_plans() {
  const launched_world world = alone();
  trainer<speech<Eye>> one(world, {.batch = samples});
  const steps want = train<Eye>(one);
  const auto plans = {
      plan_for<speech<Eye>, on<"eye", ranks<0, 1>, strategy::microbatches<3>, group<1>>,
               on<"glue", ranks<0, 1>, strategy::microbatches<3>, group<1>>,
               on<"talk", ranks<1, 3>, stages<2>, strategy::microbatches<3>, group<1>>,
               by<one_f_one_b>>::value(),
      plan_for<speech<Eye>, on<"eye", ranks<0, 2>, stages<2>, strategy::microbatches<2>, group<1>>,
               on<"glue", ranks<1, 2>, strategy::microbatches<2>, group<1>>,
               on<"talk", ranks<2, 3>, strategy::microbatches<2>, group<1>>, by<one_f_one_b>>::value(),
      // Rows change ranks in pieces.
      plan_for<speech<Eye>, on<"eye", ranks<0, 3>, data<3>, group<1>>,
               on<"glue", ranks<3, 5>, data<2>, group<1>>, on<"talk", ranks<3, 5>, data<2>, group<1>>,
               by<one_f_one_b>>::value(),
      // Ranks have parts of heads there, and parts of rows here.
      plan_for<speech<Eye>, on<"eye", ranks<0, 2>, tensor<2>, group<1>>,
               on<"glue", ranks<2, 4>, data<2>, group<1>>, on<"talk", ranks<2, 4>, context<2>, group<1>>,
               by<one_f_one_b>>::value()};
  for (const plan& how : plans) {
    trainer<speech<Eye>> many(world, how, {.batch = samples});
    const steps got = train<Eye>(many);
    CHECK(laws::off_by(got.losses, want.losses) <= 1e-5);
    CHECK(laws::off_by(got.norms, want.norms) <= 1e-4);
    CHECK(laws::off_by(got.weights, want.weights) <= 1e-4);
  }
}

}  // namespace

TEST_CASE("any plan is one rank, where squares of rows go on") { check_plans<eye>(); }
TEST_CASE("any plan is one rank, where pictures have any shape") {
  check_plans<shaped_eye>();
  // Squares, and rows for another shape, are refused.
  const launched_world world = alone();
  trainer<shaped_speech> by(world, {.batch = samples});
  text<shaped_eye> data(1);
  CHECK_THROWS_WITH_AS(by.step(data.words.apart({data.pixels.data(), data.shown}), 0),
                       doctest::Contains("pictures come without grids"), error);
  data.grids.clear();
  for (motet::isize k = 0; k < data.shown; ++k) data.grids.add(1, 5);
  CHECK_THROWS_WITH_AS(by.step(data.get(), 0), doctest::Contains("MT-R19"), error);
}

TEST_CASE("eye, glue and words learn through joined rows") {
  const launched_world world = alone();
  const text<eye> data(9);
  trainer<joined_speech> by(world, {.batch = samples, .optimizer = {.clip = 0}});
  const double before = by.step(data.get(), 0).loss;
  for (int k = 0; k < 60; ++k) by.step(data.get(), 1e-2);
  CHECK(by.step(data.get(), 0).loss < 0.2 * before);
}

TEST_CASE("places for rows that are not joined are refused") {
  const launched_world world = alone();
  trainer<joined_speech> by(world, {.batch = 1});
  pictured_text words{17};
  words.clear();
  const std::int32_t one = 1;
  words.show();
  words.say({&one, 1}, pictured_text::said::asked);
  words.end();
  const std::vector<float> pixels(64, 0.5f);
  CHECK_THROWS_AS(by.step(words.apart({pixels.data(), 1}), 0), error);
}
