// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/context.hpp>
#include <motet/backend/cuda/device/sm_share.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
int processors() {
  int count = 0;
  motet::cuda::check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0),
                     "cudaDeviceGetAttribute");
  return count;
}
template <class... Wanted>
std::string refusal(const Wanted&... wanted) {
  try {
    const motet::cuda::sm_shares made(wanted...);
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
  for (int s = 0; s < 4; ++s) {
    CHECK(shares.processors(s) == 32);
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

TEST_CASE("shares may differ") {
  const std::vector<std::vector<int>> all = {{96, 32}, {32, 96}, {64, 32, 24}, {8, 112}, {16, 8, 8}, {128}};
  for (const std::vector<int>& sizes : all) {
    const motet::cuda::sm_shares shares(sizes);
    REQUIRE(shares.count() == static_cast<int>(sizes.size()));
    std::vector<cudaStream_t> streams;
    for (int s = 0; s < shares.count(); ++s) {
      CHECK(shares.processors(s) == sizes[static_cast<std::size_t>(s)]);
      streams.push_back(shares.make_stream(s));
    }
#if !defined(__CUDACC__)
    for (std::size_t s = 0; s < streams.size(); ++s) {
      CHECK(emulation::processors_of(streams[s]) == sizes[s]);
      for (std::size_t other = 0; other < streams.size(); ++other)
        CHECK(emulation::meet(streams[s], streams[other]) == (s == other));
    }
#endif
    for (const cudaStream_t each : streams) cudaStreamDestroy(each);
  }
}

#if !defined(__CUDACC__)
TEST_CASE("where a chip makes no large groups, shares are of smaller ones") {
  // the third call: after what is asked of the chip, in steps of 32
  emulation::refuse("cuDevSmResourceSplitByCount", cudaErrorUnknown, 2);
  const motet::cuda::sm_shares shares(std::vector<int>{96, 32});
  CHECK(shares.processors(0) == 96);
  const cudaStream_t stream = shares.make_stream(0);
  CHECK(emulation::processors_of(stream) == 96);
  cudaStreamDestroy(stream);
}
#endif

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
  CHECK(has(refusal(0, 8), "shares of no multiprocessors were wanted"));

  const std::string parts = refusal(std::vector<int>{96, 44});
  CHECK(has(parts, "MT-B15"));
  CHECK(has(parts, "shares of 96, 44 multiprocessors were wanted, as 35 steps of 4, "));
  const std::string many = refusal(std::vector<int>{96, 64});  // each would do
  CHECK(has(many, "MT-B15"));
  CHECK(has(many, "shares of 96, 64 multiprocessors were wanted, as 5 steps of 32, "));
#if !defined(__CUDACC__)
  CHECK(has(parts, "15 of 8 can be had; this GPU has 132, in multiples of 8, 15 shares at most"));
  CHECK(has(many, "4 of 32 can be had; this GPU has"));
#endif
  CHECK(has(refusal(std::vector<int>{96, 0}), "shares of 96, 0 multiprocessors were wanted"));
  CHECK(has(refusal(std::vector<int>{-8, 16}), "MT-B15"));
  CHECK(has(refusal(std::vector<int>{2000000000, 2000000000, 8}), "MT-B15"));
}

TEST_CASE("lanes have whole steps of the chip by their shares, and one at least") {
#if !defined(__CUDACC__)
  using sizes = std::vector<int>;
  const auto dealt = [](const std::vector<double>& shares, int of = 0) {
    return motet::cuda::sizes_of_lanes(shares, of);
  };
  CHECK(dealt({0.75, 0.25}).sizes == sizes{88, 32});
  CHECK(dealt({0.75, 0.25}, 64).sizes == sizes{48, 16});
  CHECK(dealt({0.99, 0.01}, 64).sizes == sizes{56, 8});
  // The first lane is there for a loss alone.
  CHECK(dealt({0, 0.5, 0.5}, 32).sizes == sizes{16, 16});
  CHECK(dealt({0, 0.5, 0.5}, 32).of_lane == sizes{0, 0, 1});
  CHECK_THROWS_WITH_AS(dealt({0.5, 0.5}, 8),
                       doctest::Contains("2 lanes want a share of 8 multiprocessors at least, there are 1"),
                       motet::error);
#endif
}

TEST_CASE("shares that were made are found again") {
  const int size = motet::cuda::sm_shares::steps_of_gpu().size;
  motet::cuda::share_ladder ladder;
  const auto wide = ladder.of({3 * size, size});
  CHECK(ladder.of({size, 3 * size}) != wide);
  CHECK(ladder.of({3 * size, size}) == wide);
  CHECK(ladder.rungs() == 2);
}

TEST_CASE("more streams than queues are told") {
  CHECK(motet::cuda::advise_connections(2).empty());
  const char* const set = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  if (set == nullptr) CHECK(has(motet::cuda::advise_connections(9), "CUDA_DEVICE_MAX_CONNECTIONS"));
}
