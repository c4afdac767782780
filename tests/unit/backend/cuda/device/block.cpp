// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/block.hpp>
#include <motet/backend/cuda/device/launch.hpp>
#include <motet/tensor/dtype.hpp>

#include "cuda_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace motet {
namespace {

void run(const auto& kernel, const motet::cuda::grid& shape) {
  motet::cuda::launch(laws::gpu().stream(), shape, kernel);
  laws::gpu().finish();
}

struct places {
  isize* to;  // seven for each thread
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    isize* const at = to + self.number() * 7;
    at[0] = self.thread();
    at[1] = self.threads();
    at[2] = self.lane();
    at[3] = self.warp() * 100 + self.warps();
    at[4] = self.block();
    at[5] = self.blocks();
    at[6] = self.all();
  }
};
TEST_CASE("a thread knows its place") {
  const laws::flat_on_gpu<isize> to(3 * 96 * 7);
  run(places{to.data()}, {3, 96, 0});
  const auto found = to.back();
  for (isize i = 0; i < 3 * 96; ++i) {
    const isize* const at = found.data() + i * 7;
    const isize t = i % 96;
    CHECK(laws::off_by(std::vector<isize>(at, at + 7),
                       std::vector<isize>{t, 96, t % 32, t / 32 * 100 + 3, i / 96, 3, 288}) == 0);
  }
}

struct swapped {
  int* to;
  double* wide;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const int mine = static_cast<int>(self.number());
    to[mine] = self.shuffle(mine, 5) + self.shuffle_xor(mine, 3);
    wide[mine] = self.shuffle_xor(0.5 + mine, 16);
  }
};
TEST_CASE("shuffles stay within the warp") {
  const laws::flat_on_gpu<int> to(128);
  const laws::flat_on_gpu<double> wide(128);
  run(swapped{to.data(), wide.data()}, {2, 64, 0});
  std::vector<int> want;
  std::vector<double> want_wide;
  for (int i = 0; i < 128; ++i)
    want.push_back(i / 32 * 32 + 5 + (i ^ 3)), want_wide.push_back(0.5 + (i ^ 16));
  CHECK(laws::off_by(to.back(), want) == 0);
  CHECK(laws::off_by(wide.back(), want_wide) == 0);
}

// The sum and the largest of each row, one block for each row, twice with the same scratch.
template <class T>
struct over_rows {
  const T* x;
  T *sums, *most;
  isize width;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    T* const scratch = self.template shared<T>(motet::cuda::warp_size);
    T sum = 0, top = x[self.block() * width];
    for (isize c = self.thread(); c < width; c += self.threads()) {
      const T value = x[self.block() * width + c];
      sum += value;
      top = top < value ? value : top;
    }
    sum = motet::cuda::block_sum(self, sum, scratch);
    top = motet::cuda::block_max(self, top, scratch);
    sums[self.number()] = sum;
    most[self.number()] = top;
  }
};
TEST_CASE_TEMPLATE("sums and maxima of a block, on every thread and every time the same", T, float, double) {
  const isize rows = 3, width = 501;
  laws::grid<T> x(rows, width);
  x.random(7, 2, -5);
  const laws::on_gpu<T> on(x);
  for (const int threads : {32, 64, 160, 1024}) {
    const laws::flat_on_gpu<T> sums(rows * threads), most(rows * threads);
    const over_rows<T> kernel{on.data(), sums.data(), most.data(), width};
    run(kernel, {rows, threads, motet::cuda::block_scratch<T>});
    const auto first = sums.back(), top = most.back();
    for (isize r = 0; r < rows; ++r) {
      double sum = 0, largest = -1e9;
      for (isize c = 0; c < width; ++c) sum += x(r, c), largest = std::max(largest, x(r, c));
      for (isize t = 0; t < threads; ++t) {
        const auto at = static_cast<std::size_t>(r * threads + t);
        CHECK(laws::off_by(first[at], sum) < 1e-5 * std::abs(sum));
        CHECK(static_cast<double>(top[at]) == largest);
      }
    }
    run(kernel, {rows, threads, motet::cuda::block_scratch<T>});
    CHECK(laws::off_by(sums.back(), first) == 0);
  }
}

struct counted {
  float* f;
  double* d;
  int* i;
  unsigned long long* u;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    self.atomic_add(f, 1.0f);
    self.atomic_add(d, 0.5);
    self.atomic_add(i, -1);
    self.atomic_add(u, 1ull << 33);
  }
};
TEST_CASE("atomic sums miss nobody") {
  const laws::flat_on_gpu<float> f({0});
  const laws::flat_on_gpu<double> d({0});
  const laws::flat_on_gpu<int> i({0});
  const laws::flat_on_gpu<unsigned long long> u({0});
  run(counted{f.data(), d.data(), i.data(), u.data()}, {5, 64, 0});
  CHECK(f.back()[0] == 320);
  CHECK(d.back()[0] == 160);
  CHECK(i.back()[0] == -320);
  CHECK(u.back()[0] == 320ull << 33);
}

template <class T>
struct doubled {
  const T* from;
  T* to;
  isize packs;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize i = self.number(); i < packs; i += self.all()) {
      motet::cuda::pack<T> values = motet::cuda::load_pack(from + i * motet::cuda::pack<T>::size);
      for (int k = 0; k < motet::cuda::pack<T>::size; ++k) values.of[k] = values.of[k] + values.of[k];
      motet::cuda::store_pack(to + i * motet::cuda::pack<T>::size, values);
    }
  }
};
TEST_CASE("packs are sixteen bytes") {
  static_assert(sizeof(motet::cuda::pack<float>) == 16 && motet::cuda::pack<double>::size == 2 &&
                motet::cuda::pack<bf16>::size == 8);
  const laws::flat_on_gpu<int> from(std::vector<int>(1000, 21)), to(1000);
  run(doubled<int>{from.data(), to.data(), 250}, {1, 64, 0});
  CHECK(laws::off_by(to.back(), std::vector<int>(1000, 42)) == 0);
  const auto* const even = reinterpret_cast<const float*>(4096);
  CHECK(motet::cuda::in_packs(even, 8, 12));
  CHECK(!motet::cuda::in_packs(even + 1, 8, 12));
  CHECK(!motet::cuda::in_packs(even, 6, 12));
  CHECK(!motet::cuda::in_packs(even, 8, 10));
}

}  // namespace
}  // namespace motet
