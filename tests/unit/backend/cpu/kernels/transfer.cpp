// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/backend/cpu/kernels/transfer.hpp>

#include "cpu_run.hpp"
#include "grid.hpp"

#include <vector>

namespace motet {

TEST_CASE("copies and sums of flat numbers are shared by the threads") {
  for (const int threads : {1, 3})
    for (const isize count : {0, 1, 100, 5000}) {
      std::vector<float> from(static_cast<std::size_t>(count)), to(from), back(from);
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
      laws::cpu_run_foretold(threads, [&](cpu::context& ctx) {
        cpu::upload(ctx, from.data(), to.data(), count);
        cpu::copy(ctx, to.data(), to.data(), count);
        cpu::accumulate(ctx, from.data(), to.data(), count);
        cpu::download(ctx, to.data(), back.data(), count);
        cpu::finish(ctx);
      });
      for (std::size_t i = 0; i < from.size(); ++i) CHECK(back[i] == 2 * from[i]);
    }
}

TEST_CASE("matrices are copied without their gaps, and numbers are added once") {
  laws::grid<float> from(7, 5, 3), to(7, 5, 1);
  from.random(1);
  double sum = 1;
  laws::cpu_run_foretold(3, [&](cpu::context& ctx) {
    cpu::copy(ctx, matrix<const float>(from.view()), to.view());
    cpu::add_number(ctx, 2.5, &sum);
  });
  CHECK(laws::distance(to, from) == 0);
  CHECK(to.gaps_intact());
  CHECK(sum == 3.5);
}

}  // namespace motet
