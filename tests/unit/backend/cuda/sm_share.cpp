// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/context.hpp>
#include <motet/backend/cuda/sm_share.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
int processors() {
  int count = 0;
  motet::cuda::check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
  return count;
}
std::string refusal(int count, int each) {
  try {
    const motet::cuda::sm_shares made(count, each);
  } catch (const error& problem) {
    return problem.what();
  }
  return "nothing was refused";
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("shares run what their streams are given") {
  const motet::cuda::sm_shares shares(4, 32);
  CHECK(shares.count() == 4);
  CHECK(shares.processors() == 32);
  for (int s = 0; s < 4; ++s) {
    const cudaStream_t stream = shares.make_stream(s);
#if !defined(__CUDACC__)
    CHECK(emulation::processors_of(stream) == 32);
#endif
    {
      motet::cuda::engine on(stream);
      const auto found = on.take_real();
      motet::cuda::check(cudaMemsetAsync(found.at(), 0, sizeof(double), on.stream()), "cudaMemsetAsync");
      CHECK(on.read(found) == 0);
    }
    cudaStreamDestroy(stream);
  }
}

TEST_CASE("what the chip does not split is refused, with what it does") {
  const std::string odd = refusal(4, 20);
  CHECK(has(odd, "MT-B15"));
  CHECK(has(odd, "4 shares of 20 multiprocessors were wanted"));
  CHECK(has(odd, "this GPU has " + std::to_string(processors()) + ", in multiples of 8"));
  CHECK(has(refusal(2, 4), "MT-B15"));   // below the smallest
  CHECK(has(refusal(40, 8), "MT-B15"));  // more ranks than shares
  CHECK(has(refusal(40, 8), "40 shares of 8"));
  CHECK(has(refusal(2, 1000), "MT-B15"));
  CHECK(has(refusal(1, 0), "MT-B15"));
}

TEST_CASE("more streams than queues are told") {
  CHECK(motet::cuda::advise_connections(2).empty());
  const char* const set = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  if (set == nullptr) CHECK(has(motet::cuda::advise_connections(9), "CUDA_DEVICE_MAX_CONNECTIONS"));
}
