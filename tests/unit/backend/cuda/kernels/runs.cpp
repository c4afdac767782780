// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/launch.hpp>
#include <motet/backend/cuda/kernels/runs.hpp>

#include <doctest/doctest.h>

#include "laws/cuda_run.hpp"

namespace motet {
using laws::grid, laws::distance;

static_assert(motet::cuda::run_size<bf16> == 8 && motet::cuda::run_size<float, bf16> == 8 &&
              motet::cuda::run_size<float> == 4 && motet::cuda::run_size<double> == 2);
static_assert(sizeof(motet::cuda::detail::piece<bf16, 8>) == 16 &&
              alignof(motet::cuda::detail::piece<float, 2>) == 8);

namespace {

template <class T, int N, class X, class Y>
struct move_runs {
  const X* from;
  Y* to;
  isize count;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize i = self.number() * N; i < count; i += self.all() * N)
      motet::cuda::store_run(to + i, motet::cuda::load_run<T, N>(from + i));
  }
};

template <class T, int N, class X, class Y>
void moved() {
  const auto from = grid<X>(1, 64).random(N);
  const laws::on_gpu<X> there(from);
  const laws::on_gpu<Y> to(1, 64);
  motet::cuda::launch(laws::gpu().stream(), {1, 32, 0}, move_runs<T, N, X, Y>{there.data(), to.data(), 64});
  laws::gpu().finish();
  grid<Y> want(1, 64);
  for (isize c = 0; c < 64; ++c) want.at(0, c) = Y(static_cast<float>(from(0, c)));
  CHECK(distance(to.back(), want) == 0);
}

}  // namespace

TEST_CASE("runs move and convert") {
  moved<float, 8, bf16, float>();
  moved<float, 8, float, bf16>();
  moved<float, 4, float, float>();
  moved<float, 2, bf16, bf16>();
  moved<float, 1, float, bf16>();
  moved<double, 2, double, double>();
  moved<bf16, 8, bf16, bf16>();
}

TEST_CASE("rows fit runs when their first element, width and stride do") {
  alignas(16) float room[64] = {};
  CHECK(motet::cuda::in_runs<4>(matrix<float>{room, 2, 8, 12}));
  CHECK_FALSE(motet::cuda::in_runs<4>(matrix<float>{room + 1, 2, 8, 12}));
  CHECK_FALSE(motet::cuda::in_runs<4>(matrix<float>{room, 2, 7, 12}));
  CHECK_FALSE(motet::cuda::in_runs<4>(matrix<float>{room, 2, 8, 13}));
  CHECK(motet::cuda::in_runs<2>(matrix<float>{room + 2, 2, 6, 10}));
  CHECK_FALSE(motet::cuda::in_runs<8>(matrix<const bf16>{reinterpret_cast<const bf16*>(room) + 4, 1, 8, 8}));
  CHECK(motet::cuda::in_runs<8>(matrix<const bf16>{}));
}

}  // namespace motet
