// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/parameters/normal_draws.hpp>

#include <doctest/doctest.h>
#include <motet/backend/cpu/parameters/normal_draws.hpp>

#include "laws/cpu_run.hpp"
#include "laws/cuda_run.hpp"

namespace motet {
using laws::grid;

namespace {

template <class T>
bool same_bits(const grid<T>& a, const grid<T>& b) {
  for (isize r = 0; r < a.rows; ++r)
    if (std::memcmp(a.data.data() + r * a.stride, b.data.data() + r * b.stride,
                    static_cast<std::size_t>(a.width) * sizeof(T)) != 0)
      return false;
  return true;
}
template <class T>
grid<T> on_cpu(const random_stream& draws, isize first, isize width, float scale, isize rows, isize columns) {
  grid<T> want(rows, columns);
  laws::cpu_run_foretold(
      1, [&](cpu::context& ctx) { draw_normals(ctx, draws, first, width, scale, want.view()); });
  return want;
}

}  // namespace

TEST_CASE_TEMPLATE("a GPU draws the same bits as the CPU", T, float, double) {
  const random_stream draws(77, "weights");
  for (const isize first : {isize{0}, (isize{1} << 33) + 5})
    for (const isize columns : {1, 2, 31, 700})
      for (const isize gap : {0, 3})
        for (const bool cut : {false, true}) {
          const isize rows = columns == 700 ? 13 : 5, width = columns + (cut ? 6 : 0);
          const laws::on_gpu<T> to(rows, columns, columns + gap);
          laws::gpu_run_foretold(
              [&](motet::cuda::context& ctx) { draw_normals(ctx, draws, first, width, 0.02f, to.all()); });
          CHECK(same_bits(to.back(), on_cpu<T>(draws, first, width, 0.02f, rows, columns)));
          CHECK(to.untouched());
        }
}

TEST_CASE("draws whose last bit is in doubt are made by the host; where they are many, so are all") {
  const random_stream draws(5, "doubtful");
  for (const isize at : {1784713, 837723, 33903349})
    for (const isize most : {isize{0}, motet::cuda::detail::doubtful_draws::most})
      for (const bool cut : {false, true}) {
        const laws::on_gpu<float> to(2, 40);
        laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
          motet::cuda::detail::draw_normals_noting(ctx, draws, at - 71, cut ? 60 : 40, 1.0f, to.all(), most);
        });
        CHECK(same_bits(to.back(), on_cpu<float>(draws, at - 71, cut ? 60 : 40, 1.0f, 2, 40)));
      }
}

}  // namespace motet
