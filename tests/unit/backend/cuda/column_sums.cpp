// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <doctest/doctest.h>
#include <motet/backend/cuda/column_sums.hpp>

#include "laws/cuda_run.hpp"
#include "laws/grid.hpp"

namespace motet {
using laws::grid, laws::distance, laws::on_gpu, laws::flat_on_gpu;

TEST_CASE_TEMPLATE("sums of columns", T, float, bf16, double) {
  using master = std::conditional_t<std::is_same_v<T, double>, double, float>;
  for (const auto& [rows, width, gap] :
       {std::tuple<index, index, index>{0, 5, 0}, {1, 1, 0}, {3, 300, 0}, {70, 24, 8}, {130, 33, 1}, {700, 8, 0}, {8300, 3, 0}}) {
    CAPTURE(rows);
    const auto x = grid<T>(rows, width, gap).random(1);
    const auto before = grid<master>(1, width).random(2);
    const on_gpu<T> x_(x);
    const on_gpu<master> sums_(before), again_(before);
    for (const auto* to : {&sums_, &again_}) {
      const flat_on_gpu<master> partial(motet::cuda::detail::column_sum_numbers(rows, width));
      laws::gpu_run_planned([&](motet::cuda::context& ctx) {
        if (!ctx.measuring()) motet::cuda::detail::add_column_sums(ctx, x_.all(), partial.data(), to->data());
      });
    }
    grid<double> want(1, width);
    for (index c = 0; c < width; ++c) {
      want.at(0, c) = before(0, c);
      for (index r = 0; r < rows; ++r) want.at(0, c) += x(r, c);
    }
    CHECK(distance(sums_.back(), want) < (sizeof(master) == 8 ? 1e-12 : 2e-5));
    CHECK(sums_.back().data == again_.back().data);
  }
}

}  // namespace motet
