// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/front/trained/seeing_painter.hpp>

#include <motet/front/trainer.hpp>

#include "deviation.hpp"
#include "layer_laws.hpp"
#include "unit/runtime/small_retelling.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

using draw = fed_drawer<small_retold, 16, small_sight_words.context>;
using retold =
    model<modules<module<"eye", vit_rows<small_sight_eye, true, 2>>, module<"glue", projector<8, 16, 12>>,
                  module<"talk", fed_decoder_rows<small_sight_words, 10>>, module<"draw", draw>>,
          edge<"eye", "glue">, edge<"glue", "talk">, edge<"talk", "draw">, loss<denoise, "draw">>;
using tell = seeing_decoder_rows<picture_rows<small_sight_eye>, projector<8, 16, 12>, small_sight_words, 2>;
using paints = seeing_painter<tell, draw>;
static_assert(paints::parameter_size == retold::parameter_size && tell::embedding == 16);

std::vector<float> some_weights() {
  return laws::narrowed<float>(laws::random_weights(retold::parameters(), retold::parameter_size));
}

}  // namespace

TEST_CASE("in one net words and pictures tell a drawer what they tell it as modules") {
  const char* const words[] = {"program", "--threads", "2"};
  const launched_world world = launch(3, words);
  trainer<retold> train(world, {.batch = 5});
  auto state = train.state();
  state.weights = some_weights();
  train.set_state(state);
  const small_retold_text data(5, 3);
  const auto batch = data.get();
  paints by(train.device(), state.weights.data());
  const double lost = by.loss(data.data.get(), std::get<2>(batch));
  CHECK(train.step(batch, 0).loss == doctest::Approx(lost).epsilon(1e-5));
  // The same picture of another sample's words is lost in another way.
  const small_seen_text other(5, 4);
  CHECK(by.loss(other.get(), std::get<2>(batch)) != doctest::Approx(lost).epsilon(1e-5));
}

TEST_CASE("a seed and the sample say what is painted, whatever is painted beside it") {
  const std::vector<float> weights = some_weights();
  cpu::device two(2), one(1);
  paints by(two, weights.data()), again(one, weights.data());
  const small_seen_text four(4, 3), first(1, 3);
  for (const float guidance : {1.0f, 2.5f}) {
    const painting how{.seed = 4, .steps = 3, .guidance = guidance};
    const std::vector<float> all = by.paint(four.get(), how);
    REQUIRE(all.size() == 4 * 64);
    CHECK(by.paint(four.get(), how) == all);
    CHECK(laws::off_by(again.paint(four.get(), how), all) <= 1e-4);
    CHECK(laws::off_by(by.paint(first.get(), how), std::vector<float>(all.begin(), all.begin() + 64)) <=
          1e-4);
    CHECK(by.paint(four.get(), {.seed = 5, .steps = 3, .guidance = guidance}) != all);
  }
}

TEST_CASE("guidance leads from a picture of anything to one of the sample, and beyond") {
  const std::vector<float> weights = some_weights();
  cpu::device device(2);
  painter<draw> by(device, weights.data() + tell::parameter_size);
  const std::vector<float> rows = laws::narrowed<float>(laws::random_reals(3 * 16, "rows"));
  const std::vector<motet::isize> heard{0, 3}, none{0, 0};
  const auto once = [&](const std::vector<motet::isize>& offsets, float guidance) {
    return by.paint(rows, offsets, {.seed = 1, .steps = 1, .guidance = guidance});
  };
  const std::vector<float> without = once(none, 1), with = once(heard, 1);
  CHECK(without != with);
  CHECK(laws::off_by(once(heard, 0), without) <= 1e-5);
  std::vector<float> want;
  for (std::size_t i = 0; i < with.size(); ++i) want.push_back(without[i] + 3 * (with[i] - without[i]));
  CHECK(laws::off_by(once(heard, 3), want) <= 1e-4);
  CHECK(by.paint(rows, {}).empty());
}

TEST_CASE("what cannot be painted is told") {
  const std::vector<float> weights = some_weights();
  cpu::device device(1);
  paints by(device, weights.data());
  const std::vector<std::int32_t> strange{3, 23}, many(15, 1), unasked(15, -1);
  const auto words = [&](const std::vector<std::int32_t>& ids) {
    return pictured_tokens{
        {{ids.data(), {1, static_cast<motet::isize>(ids.size()), nullptr}}, unasked.data(), 1}, {}};
  };
  CHECK_THROWS_WITH_AS(by.paint(words(many)), doctest::Contains("has 15 rows, longer than 14"), error);
  CHECK_THROWS_WITH_AS(by.paint(words(strange)), doctest::Contains("23"), error);
  CHECK_THROWS_WITH_AS(by.paint(words({1}), {.steps = 0}), doctest::Contains("steps 0"), error);
  const std::vector<float> pixels(128);
  CHECK_THROWS_WITH_AS(by.loss(words({1}), {{pixels.data(), 2}}), doctest::Contains("2 pictures, and 1"),
                       error);
  painter<draw> alone(device, weights.data());
  const std::vector<motet::isize> offsets{0, 15};
  CHECK_THROWS_WITH_AS(alone.paint(std::vector<float>(15 * 16), offsets),
                       doctest::Contains("brings 15 rows, the net hears 14"), error);
}
