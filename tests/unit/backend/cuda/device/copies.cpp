// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/copies.hpp>

#include <doctest/doctest.h>

#include "deviation.hpp"

#include <numeric>

using namespace motet;

namespace {

std::vector<int> back(const void* from, std::size_t count, cudaStream_t stream) {
  std::vector<int> out(count);
  motet::cuda::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  motet::cuda::check(cudaMemcpy(out.data(), from, count * sizeof(int), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return out;
}

}  // namespace

TEST_CASE("an array is copied once, and what it was then stays") {
  cudaStream_t stream = nullptr;
  motet::cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  {
    motet::cuda::host_copies copies;
    CHECK(copies.empty());
    std::vector<int> a(100), b(100, 7);
    std::iota(a.begin(), a.end(), 1);
    const std::vector<int> was = a;
    const void* const first = copies.copy_of(a.data(), 400, stream);
    a[3] = -1;  // on its way
    CHECK(copies.copy_of(a.data(), 400, stream) == first);
    CHECK(copies.copy_of(a.data(), 40, stream) == first);
    const void* const second = copies.copy_of(b.data(), 400, stream);
    CHECK(second != first);
    CHECK(back(first, 100, stream) == was);
    CHECK(back(second, 100, stream) == b);
    CHECK_FALSE(copies.empty());
    copies.leave(stream);
    copies.forget();
    CHECK(copies.empty());
    CHECK(back(copies.copy_of(a.data(), 400, stream), 100, stream) == a);
  }
  cudaStreamDestroy(stream);
}

TEST_CASE("more than there was room for, also of an array of which less was asked before") {
  cudaStream_t stream = nullptr;
  motet::cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  {
    motet::cuda::host_copies copies;
    std::vector<std::vector<int>> all;
    std::vector<const void*> there;
    for (int i = 0; i < 12; ++i) {
      all.emplace_back(40000, i);
      there.push_back(copies.copy_of(all.back().data(), 160000, stream));
    }
    const void* const small = copies.copy_of(all[0].data(), 8, stream);
    CHECK(small == there[0]);
    std::vector<int> large(50000, 3);
    CHECK(laws::off_by(back(copies.copy_of(large.data(), 4, stream), 1, stream), std::vector<int>{3}) == 0);
    CHECK(back(copies.copy_of(large.data(), 200000, stream), 50000, stream) == large);
    for (std::size_t i = 0; i < all.size(); ++i)
      CHECK(laws::off_by(back(there[i], 40000, stream), all[i]) == 0);
  }
  cudaStreamDestroy(stream);
}
