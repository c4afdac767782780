// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/kernels/prefix.hpp>

#include <doctest/doctest.h>

#include <cuda_run.hpp>

namespace motet {
namespace {

template <class T>
struct sum_before {
  const T* from;
  T *to, *total;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    T* const scratch = self.template shared<T>(motet::cuda::warp_size);
    for (int round = 0; round < 2; ++round) {
      const int at = round * self.threads() + self.thread();
      T all = 0;
      to[at] = motet::cuda::block_prefix(self, from[at], all, scratch);
      if (self.thread() == self.threads() / 2) total[round] = all;
    }
  }
};

TEST_CASE_TEMPLATE("each thread gets the sum of those before", T, int, isize) {
  for (const int threads : {32, 64, 96, 1024}) {
    CAPTURE(threads);
    std::vector<T> from(static_cast<std::size_t>(2 * threads));
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>((i * 7919) % 101);
    const laws::flat_on_gpu<T> there(from), to(2 * threads), total(2);
    motet::cuda::launch(laws::gpu().stream(), {1, threads, motet::cuda::block_scratch<T>},
                        sum_before<T>{there.data(), to.data(), total.data()});
    laws::gpu().finish();
    const auto found = to.back(), all = total.back();
    for (int round = 0; round < 2; ++round) {
      T sum = 0;
      std::vector<T> want;
      const auto first = found.begin() + round * threads;
      for (int i = 0; i < threads; ++i) {
        want.push_back(sum);
        sum += from[static_cast<std::size_t>(round * threads + i)];
      }
      CHECK(laws::off_by(std::vector<T>(first, first + threads), want) == 0);
      CHECK(all[static_cast<std::size_t>(round)] == sum);
    }
  }
}

}  // namespace
}  // namespace motet
