// SPDX-License-Identifier: Apache-2.0
// Linked with motet::compiled_ranks: what trains a model is elsewhere, under every number type, and trains
// models that it never saw.
#include <motet/front/ranks/compiled.hpp>

#include "unit/runtime/small_model.hpp"

#include <motet/schedule/write/batch_sync.hpp>

#include <doctest/doctest.h>

#if !defined(MOTET_COMPILED_RANKS)
#error "this test is of the compiled ranks"
#endif

using namespace motet;

namespace {
template <class Numbers>
void trains() {
  pipeline_config config;
  config.batch = 8;
  pipeline_trainer<small_model, cpu::device, Numbers, thread_ranks<local::world, local::endpoint>> train(
      batch_sync::write({{{2, 4, 4, 1}, {1, 2}}, 2}), config);
  train.prepare();
  const small_batch data(8);
  const double first = train.step(data.get(), 3e-3).loss;
  double last = first;
  for (int k = 0; k < 30; ++k) last = train.step(data.get(), 3e-3).loss;
  CHECK(first > 1.5);
  CHECK(last < 0.5 * first);
}
}  // namespace

TEST_CASE("fp32") { trains<fp32>(); }
TEST_CASE("bf16 with fp32 master weights") { trains<mixed_bf16>(); }
