// SPDX-License-Identifier: Apache-2.0
#include <motet/front/trained/speaker.hpp>

#include "deviation.hpp"
#include "layer_laws.hpp"
#include "unit/runtime/small_talk.hpp"

#include <motet/nn/towers/fed_decoder.hpp>
#include <motet/runtime/stage/fed_inputs.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("samples together have the logits of each alone; the likeliest is next; long ones are refused") {
  const laws::reals drawn =
      laws::random_weights(layer::parameters_of<small_talk>(), small_talk::parameter_size);
  const std::vector<float> weights = laws::narrowed<float>(drawn);
  cpu::device device(2);
  speaker<small_talk> says(device, weights.data());
  const small_text data(5, 3);
  const sequences seq = data.get().seq;
  std::vector<float> together(as_size(seq.rows() * 23));
  says.logits(data.get(), together.data());
  for (motet::isize s = 0; s < seq.samples; ++s) {
    const motet::isize rows = seq.rows_of(s);
    const std::int32_t* const from = data.ids.data() + seq.begin(s);
    std::vector<float> alone(as_size(rows * 23));
    says.logits({from, {1, rows, nullptr}}, alone.data());
    const auto begin = together.begin() + seq.begin(s) * 23;
    CHECK(laws::off_by(alone, std::vector<float>(begin, begin + rows * 23)) <= 1e-4);
    const auto last = alone.end() - 23;
    CHECK(says.next({from, as_size(rows)}) == std::max_element(last, alone.end()) - last);
  }
  const std::vector<std::int32_t> long_one(8, 1);
  CHECK_THROWS_WITH_AS(says.next(long_one), doctest::Contains("it has 8 rows, there is room for 7"), error);
  std::vector<float> room(8 * 23);
  CHECK_THROWS_WITH_AS(says.logits({long_one.data(), {1, 8, nullptr}}, room.data()),
                       doctest::Contains("sample 0 has 8 tokens, longer than 7"), error);
  CHECK_THROWS_WITH_AS(says.next({}), doctest::Contains("it has no tokens"), error);
  CHECK_THROWS_WITH_AS(says.say(std::vector<std::int32_t>{}), doctest::Contains("[MT-R16]"), error);
  CHECK_THROWS_WITH_AS(says.next(std::vector<std::int32_t>{3, 23}),
                       doctest::Contains("token 1 of sample 0 is 23, the vocabulary has 23."), error);
  says.logits({nullptr, {0, 1, nullptr}}, nullptr);
}

TEST_CASE("many tokens are said until one ends them, a bound or the context; a seed says all") {
  const std::vector<float> weights = laws::narrowed<float>(
      laws::random_weights(layer::parameters_of<small_talk>(), small_talk::parameter_size));
  cpu::device device(2), other(3);
  speaker<small_talk> says(device, weights.data()), again(other, weights.data());
  const std::vector<std::int32_t> prompt{4, 2};
  // The last token needs no place in the context.
  const said_tokens greedy = says.say(prompt);
  CHECK(greedy.tokens.size() == 6);
  CHECK(greedy.prompt == 2);
  CHECK(greedy.prompt_seconds > 0);
  CHECK(greedy.tokens_per_second() > 0);
  std::vector<std::int32_t> heard, said = prompt;
  says.say(prompt, {.most = 3}, [&](std::int32_t token) { heard.push_back(token); });
  CHECK(heard == std::vector<std::int32_t>(greedy.tokens.begin(), greedy.tokens.begin() + 3));
  CHECK(says.say(prompt, {.end = greedy.tokens[0]}).tokens.size() == 1);
  CHECK(says.say(prompt, {.most = 1}).tokens_per_second() == 0);
  const std::vector<std::int32_t> full(7, 1);
  CHECK(says.say(full).tokens.size() == 1);

  const saying lively{.temperature = 2, .top_k = 12, .top_p = 0.95f, .seed = 11};
  const std::vector<std::int32_t> drawn = says.say(prompt, lively).tokens;
  CHECK(drawn == says.say(prompt, lively).tokens);
  CHECK(drawn == again.say(prompt, lively).tokens);
  // Tokens are said by hand, one after the other.
  for (const std::int32_t token : drawn) {
    CHECK(says.next(said, lively) == token);
    if (said.size() == 7) break;
    said.push_back(token);
  }
  int differ = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    differ += drawn != says.say(prompt, {.temperature = 2, .top_k = 12, .top_p = 0.95f, .seed = seed}).tokens;
  CHECK(differ >= 6);
  CHECK_THROWS_WITH_AS(says.say(prompt, {.top_p = 2}), doctest::Contains("[MT-R17]"), error);
  CHECK_THROWS_WITH_AS(says.say(std::vector<std::int32_t>{23}), doctest::Contains("[MT-R15]"), error);
}

TEST_CASE("times frame what is said, where a model tells them") {
  const std::vector<float> weights = laws::narrowed<float>(
      laws::random_weights(layer::parameters_of<small_talk>(), small_talk::parameter_size));
  cpu::device device(1);
  speaker<small_talk> says(device, weights.data());
  const time_tokens times{.first = 14, .words = 11, .latest_begin = 3};
  // By hand, without a cache. The first is a time, though without a rule it is none in every text.
  bool words = false;
  for (std::int32_t begin = 0; begin < 6; ++begin) {
    std::vector<std::int32_t> all{begin}, said;
    words = words || says.say(all).tokens.front() < times.first;
    const std::vector<std::int32_t> told = says.say(all, {.times = times}).tokens;
    REQUIRE(told.size() == 7);
    for (const std::int32_t token : told) {
      std::vector<float> logits(all.size() * 23);
      says.logits({all.data(), {1, std::ssize(all), nullptr}}, logits.data());
      const std::span<float> last(logits.end() - 23, logits.end());
      keep_timely(last, said, times);
      CHECK(std::max_element(last.begin(), last.end()) - last.begin() == token);
      all.push_back(token), said.push_back(token);
      if (all.size() == 8) break;
    }
    CHECK((said[0] >= 14 && said[0] <= 17 && said[1] < 13));
  }
  CHECK(words);
  const std::vector<std::int32_t> prompt{4, 2};
  // Tokens that are drawn keep to the rule, too.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto drawn = says.say(prompt, {.temperature = 9, .seed = seed, .times = times}).tokens;
    CHECK((drawn[0] >= 14 && drawn[0] <= 17 && drawn[1] < 13));
  }
  CHECK_THROWS_WITH_AS(says.say(prompt, {.times = {.first = 23}}),
                       doctest::Contains("times from token 23 on, of a vocabulary of 23"), error);
  CHECK_THROWS_WITH_AS(says.next(prompt, {.times = times}), doctest::Contains("use say()"), error);
}

TEST_CASE("weights that learn between calls are heard") {
  std::vector<float> weights = laws::narrowed<float>(
      laws::random_weights(layer::parameters_of<small_talk>(), small_talk::parameter_size));
  cpu::device device(1);
  speaker<small_talk, mixed_bf16> says(device, weights.data());
  const std::vector<std::int32_t> prompt{4, 2};
  const std::vector<std::int32_t> before = says.say(prompt, {.temperature = 3}).tokens;
  for (float& each : weights) each = -each;
  const std::vector<std::int32_t> after = says.say(prompt, {.temperature = 3}).tokens;
  speaker<small_talk, mixed_bf16> fresh(device, weights.data());
  CHECK(after == fresh.say(prompt, {.temperature = 3}).tokens);
  CHECK(after != before);
}

TEST_CASE("a language model that others feed speaks after their rows, by the cache as anew") {
  using fed = fed_decoder<small_talk_config, 3>;
  const std::vector<float> weights =
      laws::narrowed<float>(laws::random_weights(layer::parameters_of<fed>(), fed::parameter_size));
  cpu::device device(2);
  speaker<fed> says(device, weights.data());
  std::vector<float> rows(2 * 16);
  const random_stream draws(3, "rows");
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(draws.normal(i));
  const std::int32_t places[] = {0, 2};
  const motet::isize row_offsets[] = {0, 2};
  std::vector<std::int32_t> text{-1, 4, -1};
  const auto asked = [&] {
    return placed_tokens{{{text.data(), {1, static_cast<motet::isize>(text.size()), nullptr}}},
                         row_offsets,
                         places,
                         {rows.data(), nullptr}};
  };
  const std::vector<std::int32_t> said = says.say_after(asked()).tokens;
  CHECK(said.size() == 5);
  for (const std::int32_t token : said) {
    CHECK(says.say_after(asked(), {.most = 1}).tokens == std::vector<std::int32_t>{token});
    text.push_back(token);
    if (text.size() == 7) break;
  }
  // The rows matter.
  text.resize(3);
  for (float& each : rows) each = -3 * each;
  CHECK(says.say_after(asked()).tokens != said);
  text[1] = 23;
  CHECK_THROWS_WITH_AS(says.say_after(asked()), doctest::Contains("[MT-R15]"), error);
}
