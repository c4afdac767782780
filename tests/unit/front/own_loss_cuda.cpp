// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/front/cuda_ranks.hpp>

#include "deviation.hpp"
#include "unit/runtime/small_talk.hpp"

#include <doctest/doctest.h>

// A model whose samples have losses of their own, on a GPU: the same calls, the same numbers.

using namespace motet;

namespace {

template <class Numbers>
void compare(const trainer_options& how, const plan* spread, double tolerance) {
  const char* const words[] = {"program", "--threads", "1"};
  const launched_world world = launch(3, words);
  trainer<small_speech, Numbers> wanted(world, {.batch = 6});
  using on_gpu = trainer<small_speech, Numbers, motet::cuda::device>;
  on_gpu found = spread != nullptr ? on_gpu(world, *spread, how) : on_gpu(world, how);
  // A batch comes again, whose work was recorded, and other questions of the same words.
  for (std::uint64_t k = 0; k < 6; ++k) {
    const small_text data(6, 1 + k % 2, k < 4 ? 1000 : 5000);
    const step_result a = found.step({data.get()}, 1e-3), b = wanted.step({data.get()}, 1e-3);
    CHECK(laws::off_by(a.loss, b.loss) <= tolerance * b.loss);
    if (k == 0) CHECK(laws::off_by(a.gradient_norm, b.gradient_norm) <= tolerance * b.gradient_norm);
  }
}

}  // namespace

TEST_CASE("a language model learns on a GPU as on processors, whole, in parts and in bf16") {
  compare<fp32>({.batch = 6}, nullptr, 1e-4);
  compare<fp32>({.batch = 6, .parts = 3, .ahead = true}, nullptr, 1e-4);
  compare<fp32>({.batch = 6, .parts = 3, .ahead = true, .rooms = {.by_rows = true}}, nullptr, 1e-4);
  compare<mixed_bf16>({.batch = 6}, nullptr, 3e-2);
}

TEST_CASE("and on ranks that share a GPU") {
  plan spread;
  spread.cluster.ranks = 2;
  spread.modules.push(on_ranks("talk", 0, {.stages = 2}, 2));
  spread.modules[0].group = 1;
  compare<fp32>({.batch = 6, .processors = {0}}, &spread, 1e-4);
  compare<fp32>({.batch = 6, .processors = {0}, .rooms = {.by_rows = true}}, &spread, 1e-4);
}
