// SPDX-License-Identifier: Apache-2.0
#include <motet/front/trained/picture_speaker.hpp>

#include "layer_laws.hpp"
#include "unit/runtime/small_sight.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

using token_list = std::vector<std::int32_t>;
using speaker_of_sight = picture_speaker<small_sight>;
constexpr std::int32_t begin = 21;

std::vector<float> drawn_weights() {
  return laws::narrowed<float>(
      laws::random_weights(layer::parameters_of<small_sight>(), small_sight::parameter_size));
}

// The logits of all rows decide, one picture alone.
std::int32_t next_word(const std::vector<float>& weights, const float* pixels, const token_list& said) {
  pictured_text text(5, 1);
  text.show();
  text.say({&begin, 1}, pictured_text::said::given);
  text.say(said, pictured_text::said::given);
  text.end();
  std::vector<float> logits(as_size(text.rows() * 23));
  laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
    small_sight::logits::infer(ctx, motet::weights<fp32>{weights.data()}, text.with({pixels, 1}),
                               view<float, 23>(logits.data(), text.rows()));
  });
  return static_cast<std::int32_t>(std::max_element(logits.end() - 23, logits.end()) - (logits.end() - 23));
}

}  // namespace

TEST_CASE("each sentence is the likeliest word again and again, whoever else is spoken of") {
  const std::vector<float> weights = drawn_weights();
  const laws::picture_batch shown(6, 1, 4);
  cpu::device device(2);
  speaker_of_sight speaker(device, weights.data());
  std::vector<token_list> wanted(6);
  for (std::size_t p = 0; p < 6; ++p)
    while (wanted[p].size() < 8)
      wanted[p].push_back(next_word(weights, shown.pixels.data() + 16 * p, wanted[p]));
  const auto said = speaker.say(shown.input, {.begin = begin, .end = -1, .most = 8}, 1);
  CHECK(said == wanted);

  // A token of some sentences becomes their end.
  const std::int32_t end = wanted[2][1];
  for (token_list& each : wanted) each.erase(std::find(each.begin(), each.end(), end), each.end());
  CHECK(speaker.say(shown.input, {.begin = begin, .end = end, .most = 8}, 1) == wanted);
  CHECK(speaker.say(pictures{}, {.begin = begin, .end = end, .most = 8}, 1).empty());
}

TEST_CASE("sentences that do not fit behind a picture are refused") {
  const std::vector<float> weights = drawn_weights();
  const laws::picture_batch shown(1, 1, 4);
  cpu::device device(1);
  CHECK_THROWS_WITH_AS(
      speaker_of_sight(device, weights.data()).say(shown.input, {.begin = begin, .end = 22, .most = 11}, 1),
      doctest::Contains("a picture and 11 words have 15 rows, longer than 14"), error);
}
