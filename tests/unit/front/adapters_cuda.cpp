// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/front/cuda_ranks.hpp>

#include "deviation.hpp"
#include "unit/runtime/small_talk.hpp"

#include <doctest/doctest.h>

// Adapters learn on a GPU as on processors, beside weights that rest.

using namespace motet;

namespace {

constexpr decoder_config adapted_config = [] {
  decoder_config c = small_talk_config;
  c.adapters = {.rank = 3, .alpha = 5, .out = true, .gate = true, .down = true};
  return c;
}();
using adapted_speech = model<join<next_token, module<"talk", decoder<adapted_config>>>>;

template <class Numbers>
void compare(const trainer_options& how, const plan* spread, double tolerance) {
  const char* const words[] = {"program", "--threads", "1"};
  const launched_world world = launch(3, words);
  trainer<adapted_speech, Numbers> wanted(world, {.batch = 6});
  using on_gpu = trainer<adapted_speech, Numbers, motet::cuda::device>;
  on_gpu found = spread != nullptr ? on_gpu(world, *spread, how) : on_gpu(world, how);
  const std::vector<float> before = found.weights();
  for (std::uint64_t k = 0; k < 4; ++k) {
    const small_text data(6, 1 + k % 2);
    const step_result a = found.step({data.get()}, 1e-2), b = wanted.step({data.get()}, 1e-2);
    CHECK(laws::off_by(a.loss, b.loss) <= tolerance * b.loss);
    if (k == 0) CHECK(laws::off_by(a.gradient_norm, b.gradient_norm) <= tolerance * b.gradient_norm);
  }
  const std::vector<float> after = found.weights();
  CHECK(std::equal(after.begin() + adapted_speech::trainable_size, after.end(),
                   before.begin() + adapted_speech::trainable_size));
  CHECK(after != before);
}

}  // namespace

TEST_CASE("adapters learn on a GPU as on processors, whole, by two ranks that share it, and in bf16") {
  compare<fp32>({.batch = 6}, nullptr, 1e-4);
  compare<mixed_bf16>({.batch = 6}, nullptr, 3e-2);
  plan spread;
  spread.cluster.ranks = 2;
  spread.modules.push(on_ranks("talk", 0, {.stages = 2}, 2));
  spread.modules[0].group = 1;
  compare<fp32>({.batch = 6, .processors = {0}}, &spread, 1e-4);
}
