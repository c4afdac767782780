// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/launch.hpp>
#include <motet/backend/cuda/kernels/warp_matrix.hpp>

#include <doctest/doctest.h>

#include "cuda_run.hpp"

namespace motet {
namespace {

using laws::grid, laws::on_gpu;

void run(const auto& kernel, isize bytes) {
  motet::cuda::launch(laws::gpu().stream(), {1, 32, bytes}, kernel);
  laws::gpu().finish();
}

constexpr int stride = 24;  // of rows of 16 in shared memory, which begin at multiples of 16 bytes

// 16 rows of 16, from memory to shared memory.
template <class Thread>
MOTET_HOST_DEVICE bf16* bring(Thread& self, const bf16* from) {
  bf16* const to = self.template shared<bf16>(16 * stride);
  motet::cuda::copy_in_background<16>(self, to + self.lane() / 2 * stride + self.lane() % 2 * 8,
                                      from + self.lane() * 8, true);
  motet::cuda::close_copies(self);
  motet::cuda::await_copies<0>(self);
  self.barrier();
  return to;
}

// c = a b; b lies as its rows (Across), or as its columns.
template <bool Across>
struct product {
  const bf16 *a, *b;
  float* c;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const bf16 *const left = bring(self, a), *const right = bring(self, b);
    const int lane = self.lane();
    std::uint32_t x[4], y[4];
    motet::cuda::load_tiles(self, x, left + lane % 16 * stride + lane / 16 * 8);
    if constexpr (Across) motet::cuda::load_tiles_across(self, y, right + lane % 16 * stride + lane / 16 * 8);
    else motet::cuda::load_tiles(self, y, right + (lane / 16 * 8 + lane % 8) * stride + lane / 8 % 2 * 8);
    for (int part = 0; part < 2; ++part) {
      float sum[4] = {1, 1, 1, 1};  // it is added to
      motet::cuda::multiply_tile(self, sum, x, y[2 * part], y[2 * part + 1]);
      for (int i = 0; i < 4; ++i) c[(lane / 4 + i / 2 * 8) * 16 + part * 8 + lane % 4 * 2 + i % 2] = sum[i];
    }
  }
};
template <bool Across>
void check_product() {
  const auto a = grid<bf16>(16, 16).random(11, 2), b = grid<bf16>(16, 16).random(12, 2);
  const on_gpu<bf16> a_there(a), b_there(b);
  const on_gpu<float> c(16, 16);
  run(product<Across>{a_there.data(), b_there.data(), c.data()}, 2 * 16 * stride * 2);
  grid<double> want(16, 16);
  for (isize i = 0; i < 16; ++i)
    for (isize j = 0; j < 16; ++j) {
      want.at(i, j) = 1;
      for (isize k = 0; k < 16; ++k) want.at(i, j) += a(i, k) * (Across ? b(k, j) : b(j, k));
    }
  CHECK(laws::distance(c.back(), want) < 1e-5);
}
TEST_CASE("a warp multiplies 16 x 16 by 16 x 8") {
  check_product<false>();
  check_product<true>();
}

// Each lane has this of four matrices of 8 x 8.
template <bool Across>
struct loads {
  const bf16* from;
  std::uint32_t* to;  // four for each lane
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const bf16* const tile = bring(self, from);
    std::uint32_t found[4];
    // Matrix l / 8 is the quarter of the tile in row l / 16, column l / 8 % 2.
    const bf16* const row =
        tile + (self.lane() / 16 * 8 + self.lane() % 8) * stride + self.lane() / 8 % 2 * 8;
    if constexpr (Across) motet::cuda::load_tiles_across(self, found, row);
    else motet::cuda::load_tiles(self, found, row);
    for (int i = 0; i < 4; ++i) to[self.lane() * 4 + i] = found[i];
  }
};
TEST_CASE("a register holds two neighbours of a row, or of a column") {
  const auto x = grid<bf16>(16, 16).random(5);
  const on_gpu<bf16> there(x);
  const laws::flat_on_gpu<std::uint32_t> rows(isize{128}), columns(isize{128});
  run(loads<false>{there.data(), rows.data()}, 16 * stride * 2);
  run(loads<true>{there.data(), columns.data()}, 16 * stride * 2);
  const auto by_rows = rows.back(), by_columns = columns.back();
  for (isize lane = 0; lane < 32; ++lane)
    for (isize i = 0; i < 4; ++i) {
      const isize g = lane / 4, t = lane % 4 * 2, row = i / 2 * 8, column = i % 2 * 8;
      const auto pair = [](bf16 low, bf16 high) {
        return static_cast<std::uint32_t>(low.bits) | static_cast<std::uint32_t>(high.bits) << 16;
      };
      CHECK(by_rows[static_cast<std::size_t>(lane * 4 + i)] ==
            pair(x.at(row + g, column + t), x.at(row + g, column + t + 1)));
      CHECK(by_columns[static_cast<std::size_t>(lane * 4 + i)] ==
            pair(x.at(row + t, column + g), x.at(row + t + 1, column + g)));
    }
}

// Three groups of copies, each read when it must have come; those of odd lanes are not wanted.
struct copies {
  const bf16* from;  // 3 x 256
  bf16* to;          // as well
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    bf16* const shared = self.template shared<bf16>(3 * 256);
    for (int part = 0; part < 3; ++part) {
      const int at = part * 256 + self.lane() * 8;
      const bool wanted = self.lane() % 2 == 0;
      if (part != 1) motet::cuda::copy_in_background<16>(self, shared + at, from + at, wanted);
      else
        for (int i = 0; i < 8; i += 2)
          motet::cuda::copy_in_background<4>(self, shared + at + i, from + at + i, wanted);
      motet::cuda::close_copies(self);
    }
    const auto show = [&](int part) {
      self.barrier();
      for (int i = 0; i < 8; ++i)
        to[part * 256 + i * 32 + self.lane()] = shared[part * 256 + i * 32 + self.lane()];
    };
    motet::cuda::await_copies<2>(self);
    show(0);
    motet::cuda::await_copies<1>(self);
    show(1);
    motet::cuda::await_copies<0>(self);
    show(2);
  }
};
TEST_CASE("copies in the background bring what is wanted, and zeros") {
  const auto x = grid<bf16>(1, 3 * 256).random(6, 1, 3);
  const on_gpu<bf16> there(x);
  const on_gpu<bf16> found(1, 3 * 256);
  run(copies{there.data(), found.data()}, 3 * 256 * 2);
  auto want = x;
  for (isize i = 0; i < 3 * 256; ++i)
    if (i / 8 % 2 != 0) want.at(0, i) = bf16(0.0f);
  CHECK(laws::distance(found.back(), want) == 0);
}

struct narrowed {
  float low, high;
  bf16* to;
  std::uint32_t* both;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    if (self.lane() != 0) return;
    motet::cuda::store_pair(self, to, low, high);
    *both = motet::cuda::narrow_pair(self, low, high);
  }
};
TEST_CASE("two numbers are rounded to the nearest, the first one lies lower") {
  for (const float low : {1.00390625f, 1.01171875f, -3.1415927f})  // two of them lie halfway
    for (const float high : {0.1f, 65504.0f}) {
      const laws::flat_on_gpu<bf16> to({bf16(0.0f), bf16(0.0f)});
      const laws::flat_on_gpu<std::uint32_t> both({0u});
      run(narrowed{low, high, to.data(), both.data()}, 0);
      const auto pair = to.back();
      CHECK(pair[0].bits == bf16(low).bits);
      CHECK(pair[1].bits == bf16(high).bits);
      CHECK(both.back()[0] ==
            (static_cast<std::uint32_t>(bf16(low).bits) | static_cast<std::uint32_t>(bf16(high).bits) << 16));
    }
}

}  // namespace
}  // namespace motet
