// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/parameters/normal_draws.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/each_kernel.hpp"
#include "../../../../laws/grid.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::grid;

namespace {

template <class T>
isize differing(const random_stream& draws, isize first, isize width, float scale, const grid<T>& found) {
  isize count = 0;
  for (isize r = 0; r < found.rows; ++r)
    for (isize c = 0; c < found.width; ++c) {
      const auto want = static_cast<T>(
          static_cast<float>(draws.normal(static_cast<std::uint64_t>(first + r * width + c))) * scale);
      const T has = found.data[static_cast<std::size_t>(r * found.stride + c)];
      count += std::memcmp(&want, &has, sizeof(T)) != 0;
    }
  return count;
}

}  // namespace

TEST_CASE_TEMPLATE(
    "draws are those of the stream, bit by bit, by every set of kernels and any number of threads", T, float,
    double) {
  const random_stream draws(77, "weights");
  laws::with_each_kernel([&] {
    for (const int threads : {1, 3})
      for (const isize first : {isize{0}, isize{5}, (isize{1} << 33) + 1})
        for (const isize columns : {1, 2, 7, 33, 2100})
          for (const isize gap : {0, 3}) {
            const isize rows = columns > 1000 ? 3 : 5, width = columns + (columns % 2 == 0 ? 0 : 11);
            grid<T> to(rows, columns, gap);
            cpu_run_foretold(threads, [&](cpu::context& ctx) {
              draw_normals(ctx, draws, first, width, 0.02f, to.view());
            });
            CHECK(differing(draws, first, width, 0.02f, to) == 0);
            CHECK(to.gaps_intact());
          }
  });
}

TEST_CASE("draws whose last bit is in doubt are the library's") {
  // The first one's nearest float is not that of the shorter way.
  const random_stream draws(5, "doubtful");
  for (const isize at : {1784713, 837723, 27547705, 33903349, 11267325}) {
    const auto words = draws.block(static_cast<std::uint64_t>(at) / 2);
    const bool second = at % 2 != 0;
    REQUIRE_FALSE(normal_near(second ? words[2] : words[0], second ? words[3] : words[1]).certain());
    laws::with_each_kernel([&] {
      grid<float> to(1, 40);
      cpu_run_foretold(1, [&](cpu::context& ctx) { draw_normals(ctx, draws, at - 21, 40, 1.0f, to.view()); });
      CHECK(differing(draws, at - 21, 40, 1.0f, to) == 0);
    });
  }
}

TEST_CASE("nothing is drawn of nothing, or in a dry run") {
  const random_stream draws(5, "none");
  grid<float> to(2, 3);
  to.fill(7);
  cpu::context dry;
  draw_normals(dry, draws, 0, 3, 1.0f, to.view());
  cpu_run_foretold(2,
                   [&](cpu::context& ctx) { draw_normals(ctx, draws, 0, 3, 1.0f, to.view().slice(0, 0)); });
  CHECK(to(1, 2) == 7);
}

}  // namespace motet
