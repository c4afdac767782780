// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <doctest/doctest.h>
#include <motet/backend/cuda/products/product_settings.hpp>

#include "laws/cuda_run.hpp"

namespace motet {

TEST_CASE("an engine has one set of settings, and says when work is recorded") {
  auto& engine = laws::gpu();
  auto& settings = engine.part<motet::cuda::product_settings>();
  CHECK(!settings.tf32);
  CHECK(!settings.autotune);
  settings.tf32 = true;
  CHECK(engine.part<motet::cuda::product_settings>().tf32);
  settings.tf32 = false;
  CHECK(!motet::cuda::capturing(engine));
  motet::cuda::check(cudaStreamBeginCapture(engine.stream(), cudaStreamCaptureModeThreadLocal),
                     "cudaStreamBeginCapture");
  CHECK(motet::cuda::capturing(engine));
  cudaGraph_t graph = nullptr;
  motet::cuda::check(cudaStreamEndCapture(engine.stream(), &graph), "cudaStreamEndCapture");
  cudaGraphDestroy(graph);
  CHECK(!motet::cuda::capturing(engine));
}

}  // namespace motet
