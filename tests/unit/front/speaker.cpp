// SPDX-License-Identifier: Apache-2.0
#include <motet/front/speaker.hpp>

#include "deviation.hpp"
#include "layer_laws.hpp"
#include "unit/runtime/small_talk.hpp"

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
  for (motet::index s = 0; s < seq.samples; ++s) {
    const motet::index rows = seq.rows_of(s);
    const std::int32_t* const from = data.ids.data() + seq.begin(s);
    std::vector<float> alone(as_size(rows * 23));
    says.logits({from, {1, rows, nullptr}}, alone.data());
    const auto begin = together.begin() + seq.begin(s) * 23;
    CHECK(laws::off_by(alone, std::vector<float>(begin, begin + rows * 23)) <= 1e-4);
    const auto last = alone.end() - 23;
    CHECK(says.next({from, as_size(rows)}) == std::max_element(last, alone.end()) - last);
  }
  const std::vector<std::int32_t> long_one(8, 1);
  CHECK_THROWS_WITH_AS(says.next(long_one), doctest::Contains("sample 0 has 8 tokens, longer than 7"), error);
  CHECK_THROWS_WITH_AS(says.next(std::vector<std::int32_t>{3, 23}),
                       doctest::Contains("token 1 of sample 0 is 23, the vocabulary has 23."), error);
  says.logits({nullptr, {0, 1, nullptr}}, nullptr);
}
