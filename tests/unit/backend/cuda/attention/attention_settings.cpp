// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/attention_settings.hpp>

#include <motet/backend/cuda/attention/attention.hpp>

#include <doctest/doctest.h>

#include "cuda_run.hpp"

namespace motet {

TEST_CASE("a library where there is one, its sums in any order, until the engine's part is changed") {
  motet::cuda::engine one, other;
  auto& own = one.part<motet::cuda::attention_settings>();
  CHECK(own.library == (MOTET_CUDNN_ATTENTION != 0));
  CHECK_FALSE(own.deterministic);
  own.library = false;
  own.deterministic = true;
  CHECK(&one.part<motet::cuda::attention_settings>() == &own);
  CHECK(one.part<motet::cuda::attention_settings>().deterministic);
  CHECK_FALSE(other.part<motet::cuda::attention_settings>().deterministic);
}

TEST_CASE("attention heeds them: without the library its own kernels run") {
  laws::gpu().part<motet::cuda::attention_settings>().library = false;
  const laws::on_gpu<bf16> q(laws::grid<bf16>(4, 16).random(1)), y(4, 16);
  const laws::on_gpu<float> lse(4, 1);
#if !defined(__CUDACC__)
  const long before = emulation::done_so_far().kernels;
#endif
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    attention_forward(ctx, {1, 4, nullptr}, {1, 4, nullptr}, attention_shape{1, 1, 16, mask_kind::full},
                      q.all(), q.all(), q.all(), y.all(), lse.all());
  });
#if !defined(__CUDACC__)
  CHECK(emulation::done_so_far().kernels == before + 1);
#endif
  for (isize r = 0; r < 4; ++r) CHECK(std::isfinite(y.back()(r, 0)));
}

}  // namespace motet
