// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/kernels/group_sums.hpp>

#include <doctest/doctest.h>

#include "laws/cuda_run.hpp"

namespace motet {
using laws::grid, laws::distance;

TEST_CASE_TEMPLATE("columns are summed in chunks, always in the same order", X, float, bf16, double) {
  using sum = std::conditional_t<sizeof(X) == 8, double, float>;
  std::uint64_t seed = 1;
  for (const isize rows : {0, 1, 7, 64, 65, 700, 8300})
    for (const isize width : {1, 45, 136, 520}) {
      if ((rows > 100 && width > 200) || (rows > 1000 && width > 1)) continue;
      const isize gap = seed % 2 == 0 ? 8 : 1;
      const auto x = grid<X>(rows, width, gap).random(++seed);
      const auto before = grid<sum>(1, width).random(seed + 100);
      grid<double> want(1, width);
      for (isize c = 0; c < width; ++c) {
        want.at(0, c) = before(0, c);
        for (isize r = 0; r < rows; ++r) want.at(0, c) += x(r, c);
      }
      const laws::on_gpu<X> there(x);
      std::vector<std::vector<sum>> twice;
      for (int run = 0; run < 2; ++run) {
        const laws::on_gpu<sum> to(before);
        laws::gpu_run_foretold([&](motet::cuda::context& ctx) { sum_columns(ctx, there.all(), to.data()); });
        CHECK(distance(to.back(), want) < (sizeof(sum) == 8 ? 1e-12 : 2e-5));
        CHECK(to.untouched());
        twice.push_back(to.back().data);
      }
      CHECK(twice[0] == twice[1]);
    }
}

}  // namespace motet
