// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/launch.hpp>

#include "cuda_run.hpp"

#include <doctest/doctest.h>

namespace motet {
namespace {

struct fill_squares {
  float* to;
  isize count;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize i = self.number(); i < count; i += self.all()) to[i] = static_cast<float>(i * i);
  }
};
// A block has as much shared memory as it may have, and uses each byte of it.
struct uses_all {
  static constexpr int most_threads = 256;
  static constexpr isize room = 200 * 1024;
  unsigned* to;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    auto* const at = self.template shared<unsigned>(room / 4);
    for (isize i = self.thread(); i < room / 4; i += self.threads())
      at[i] = static_cast<unsigned>(i) + static_cast<unsigned>(self.block());
    self.barrier();
    unsigned sum = 0;
    for (isize i = self.thread(); i < room / 4; i += self.threads()) sum += at[room / 4 - 1 - i];
    self.atomic_add(to + self.block(), sum);
  }
};

TEST_CASE("a kernel runs on every thread of its grid, in the order of the stream") {
  const auto stream = laws::gpu().stream();
  for (const isize blocks : {1, 7, 300}) {
    const laws::flat_on_gpu<float> to(5000);
    motet::cuda::launch(stream, {blocks, 96, 0}, fill_squares{to.data(), 4999});
    laws::gpu().finish();
    auto found = to.back();
    CHECK(found[4999] != found[4999]);
    found.pop_back();
    std::vector<float> squares;
    for (isize i = 0; i < 4999; ++i) squares.push_back(static_cast<float>(i * i));
    CHECK(laws::off_by(found, squares) == 0);
  }
  motet::cuda::launch(stream, {0, 96, 0}, fill_squares{nullptr, 0});
}

TEST_CASE("a block may ask for more shared memory than is usual") {
  const laws::flat_on_gpu<unsigned> to({0, 0});
  motet::cuda::launch(laws::gpu().stream(), {2, 256, uses_all::room}, uses_all{to.data()});
  laws::gpu().finish();
  const auto words = static_cast<unsigned>(uses_all::room / 4);
  for (unsigned b = 0; b < 2; ++b) CHECK(to.back()[b] == words * (words - 1) / 2 + words * b);
}

TEST_CASE("a launch that no GPU takes is refused at once") {
  const laws::flat_on_gpu<unsigned> to({0});
  const auto stream = laws::gpu().stream();
  CHECK_THROWS_WITH(motet::cuda::launch(stream, {1, 2048, 0}, fill_squares{nullptr, 0}),
                    doctest::Contains("[MT-B10]"));
  CHECK_THROWS_WITH(motet::cuda::launch(stream, {1, 32, 1 << 20}, fill_squares{nullptr, 0}),
                    doctest::Contains("[MT-B10]"));
  // A launch that was refused leaves nothing behind.
  motet::cuda::launch(stream, {1, 32, 0}, fill_squares{nullptr, 0});
  laws::gpu().finish();
}

TEST_CASE("blocks for some work") {
  CHECK(motet::cuda::blocks_for(0, 256) == 0);
  CHECK(motet::cuda::blocks_for(1, 256) == 1);
  CHECK(motet::cuda::blocks_for(256, 256) == 1);
  CHECK(motet::cuda::blocks_for(257, 256) == 2);
  CHECK(motet::cuda::blocks_for(isize{1} << 40, 256) == 132 * 16);
  CHECK(motet::cuda::blocks_for(1000, 1, 10) == 10);
}

}  // namespace
}  // namespace motet
