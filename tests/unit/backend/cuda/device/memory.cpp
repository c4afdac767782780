// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/memory.hpp>

#include <doctest/doctest.h>

#include "deviation.hpp"

#include <utility>

namespace motet {
namespace {

std::size_t left() {
  std::size_t found = 0, all = 0;
  motet::cuda::check(cudaMemGetInfo(&found, &all), "cudaMemGetInfo");
  return found;
}

TEST_CASE("a buffer is memory of the GPU, and is given back once") {
  const std::size_t before = left();
  {
    motet::cuda::buffer<float> a(1 << 22), none, empty(0);
    CHECK(a.size() == 1 << 22);
    CHECK(empty.data() == nullptr);
    CHECK(before - left() >= std::size_t{1} << 24);
    cudaPointerAttributes facts;
    motet::cuda::check(cudaPointerGetAttributes(&facts, a.data()), "cudaPointerGetAttributes");
    CHECK(facts.type == cudaMemoryTypeDevice);
    float* const at = a.data();
    none = std::move(a);
    CHECK(none.data() == at);
    CHECK(a.data() == nullptr);
    motet::cuda::buffer<float> b(std::move(none));
    CHECK(b.size() == 1 << 22);
    CHECK(none.size() == 0);
  }
  CHECK(left() + (1 << 21) >= before);  // but for what the driver keeps
}

TEST_CASE("pinned memory is the host's, and the GPU may use it") {
  const motet::cuda::pinned_buffer<int> from(1000);
  const motet::cuda::pinned_buffer<int> back(1000);
  const motet::cuda::buffer<int> on(1000);
  for (int i = 0; i < 1000; ++i) from[i] = 3 * i;
  cudaPointerAttributes facts;
  motet::cuda::check(cudaPointerGetAttributes(&facts, from.data()), "cudaPointerGetAttributes");
  CHECK(facts.type == cudaMemoryTypeHost);
  motet::cuda::check(cudaMemcpyAsync(on.data(), from.data(), 4000, cudaMemcpyHostToDevice, nullptr),
                     "cudaMemcpyAsync");
  motet::cuda::check(cudaMemcpyAsync(back.data(), on.data(), 4000, cudaMemcpyDeviceToHost, nullptr),
                     "cudaMemcpyAsync");
  motet::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  CHECK(laws::off_by(std::vector<int>(back.data(), back.data() + 1000),
                     std::vector<int>(from.data(), from.data() + 1000)) == 0);
}

TEST_CASE("a full GPU says how much was wanted and how much is free") {
  CHECK_THROWS_WITH(motet::cuda::buffer<std::byte>(isize{1} << 46), doctest::Contains("[MT-B12]"));
  CHECK_THROWS_WITH(motet::cuda::buffer<std::byte>(isize{1} << 46),
                    doctest::Contains("a buffer of 70368744177664 bytes; "));
  CHECK(cudaGetLastError() == cudaSuccess);
}

}  // namespace
}  // namespace motet
