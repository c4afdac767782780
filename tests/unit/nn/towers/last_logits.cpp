// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/towers/last_logits.hpp>

#include "laws/cpu_run.hpp"
#include "layer_laws.hpp"
#include "unit/runtime/small_talk.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {
constexpr decoder_config limited{
    .vocabulary = 9, .context = 8, .width = 8, .layers = 1, .heads = 2, .mix = {.experts = 2, .capacity = 1}};
}

TEST_CASE("the logits of last rows are those rows of all logits") {
  using two = continued<small_talk::logits>;
  static_assert(two::first::parameter_size == small_talk::parameter_size && two::check_rows().ok());
  static_assert(std::is_same_v<two::first, two::later> && two::layers == 2 && two::key_heads == 2 &&
                two::head_width == 4);
  const laws::reals drawn =
      laws::random_weights(layer::parameters_of<small_talk>(), small_talk::parameter_size);
  const std::vector<float> weights = laws::narrowed<float>(drawn);
  const small_text data(6, 3);
  const sequences seq = data.get().seq;
  std::vector<float> all(as_size(seq.rows() * 23)), last(as_size(seq.samples * 23)), wanted;
  for (const int threads : {1, 3}) {
    laws::cpu_run_foretold(threads, [&](cpu::context& ctx) {
      small_talk::logits::infer(ctx, motet::weights<fp32>{weights.data()}, data.get(),
                                view<float, 23>(all.data(), seq.rows()));
      two::first::infer(ctx, motet::weights<fp32>{weights.data()}, data.get(),
                        view<float, 23>(last.data(), seq.samples));
    });
    wanted.clear();
    for (motet::isize s = 0; s < seq.samples; ++s)
      wanted.insert(wanted.end(), all.begin() + (seq.end(s) - 1) * 23, all.begin() + seq.end(s) * 23);
    CHECK(laws::off_by(last, wanted, true) <= 1e-5);
  }
}

TEST_CASE("experts of limited capacity are found out") {
  constexpr verdict found = continued<decoder<limited>::logits>::check_rows();
  CHECK(found.why == reason::capacity_of_rows);
}
