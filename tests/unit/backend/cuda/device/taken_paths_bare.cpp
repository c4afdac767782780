// SPDX-License-Identifier: Apache-2.0
// A program that was built without cuBLASLt and without cuDNN.
#define MOTET_CUBLASLT 0
#undef MOTET_HAS_CUDNN
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/attention.hpp>
#include <motet/backend/cuda/device.hpp>
#include <motet/backend/cuda/products/linear.hpp>

#include "laws/cuda_run.hpp"
#include "laws/grid.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr const char* no_products =
    "motet: some products run by slower kernels: product: this program was built without cuBLASLt. Build "
    "with cuBLASLt, take widths of a multiple of "
    "8, or a newer library (docs/backend/cuda.md); MOTET_QUIET=1 says nothing [MT-B32]";
constexpr const char* no_attention =
    "motet: attention runs by own kernels, as cuDNN cannot be used: attention: this program was built "
    "without cuDNN from 9.17 on. Install cuDNN 9.17 "
    "or newer where the loader or LD_LIBRARY_PATH finds it, build with MOTET_CUDNN=ON; MOTET_QUIET=1 says "
    "nothing [MT-B30]";

}  // namespace

TEST_CASE("without libraries own kernels do all, and each library is missed once") {
  const laws::on_gpu<bf16> x(laws::grid<bf16>(16, 96).random(1)), y(16, 32);
  const laws::on_gpu<float> weight(laws::grid<float>(32, 96).random(2)), lse(16, 2);
  const laws::gpu_room room(0, 1 << 20);
  motet::cuda::context ctx = room.context();
  motet::cuda::taken_paths& paths = laws::gpu().part<motet::cuda::taken_paths>();
  warnings::of_process().forget();
  for (int k = 0; k < 3; ++k) {
    linear_forward(ctx, {16, 1, nullptr}, x.all(), matrix<const float>(weight.all()), nullptr, y.all());
    const auto part = [&](motet::isize i) { return matrix<const bf16>(x.all().columns(i * 32, 32)); };
    const sequences samples{2, 8, nullptr};
    attention_forward(ctx, samples, samples, {2, 2, 16, mask_kind::full, 0}, part(0), part(1), part(2),
                      y.all(), lse.all());
  }
  laws::gpu().finish();
  CHECK(paths.summary() == "attention by own matrix kernels 3, product by own matrix kernel 3");
  CHECK(warnings::of_process().said() == std::vector<std::string>{no_products, no_attention});
}
