// SPDX-License-Identifier: Apache-2.0
#include "../../../../laws/each_kernel.hpp"
#include "../../../../laws/grid.hpp"

#include <motet/backend/cpu/products/gemm_kernel.hpp>

#include <vector>

namespace motet {
namespace {

using laws::grid;

// One tile through the kernel that `choose` gives, against plain loops.
template <class T, class Choose>
void check_tile(const Choose& choose, isize rows, isize columns, isize lanes, isize steps, bool accumulate) {
  const isize vectors = (columns + lanes - 1) / lanes;
  const auto tile = choose(rows, vectors);
  REQUIRE(tile.rows >= rows);
  const isize width = vectors * lanes;
  grid<T> a(tile.rows, steps, 1), b(steps, width), c(rows, columns, 2);
  a.random(1), b.random(2), c.random(3);
  const grid<T> before = c;
  tile.run(steps, a.data.data(), a.stride, 1, b.data.data(), c.data.data(), c.stride, rows, columns,
           accumulate, {});
  grid<double> want(rows, columns);
  for (isize i = 0; i < rows; ++i) {
    for (isize j = 0; j < columns; ++j) {
      double sum = accumulate ? before(i, j) : 0;
      for (isize s = 0; s < steps; ++s) sum += a(i, s) * b(s, j);
      want.at(i, j) = sum;
    }
  }
  CAPTURE(rows);
  CAPTURE(columns);
  CAPTURE(steps);
  CHECK(laws::distance(c, want) < laws::tolerance<T>);
  CHECK(c.gaps_intact());  // columns and rows that C lacks are not written
}

template <class T, class Choose>
void check_tiles(const Choose& choose, isize most_rows, isize most_vectors, isize lanes) {
  for (isize rows = 1; rows <= most_rows; ++rows)
    for (isize columns = 1; columns <= most_vectors * lanes; columns += columns == 1 ? 1 : lanes / 2 + 1)
      for (const isize steps : {0, 1, 9}) check_tile<T>(choose, rows, columns, lanes, steps, steps % 2 != 0);
  check_tile<T>(choose, most_rows, most_vectors * lanes, lanes, 33, true);
}

#define CHECK_NAMESPACE(NAME, T)                                              \
  check_tiles<T>(                                                             \
      [](isize rows, isize vectors) {                                         \
        return cpu::NAME::choose_tile<cpu::NAME::products<T>>(rows, vectors); \
      },                                                                      \
      cpu::NAME::tile_rows, cpu::NAME::tile_vectors, cpu::NAME::products<T>::lanes)

TEST_CASE_TEMPLATE("every tile of every kernel, whole and cut, sets or adds the product", T, float, double) {
  CHECK_NAMESPACE(portable, T);
#if MOTET_INSTRUCTION_SETS > 1
  if (cpu::kernel_available(cpu::kernel_kind::avx2)) CHECK_NAMESPACE(avx2, T);
#endif
#if MOTET_INSTRUCTION_SETS > 2
  if (cpu::kernel_available(cpu::kernel_kind::avx512)) CHECK_NAMESPACE(avx512, T);
#endif
}

#if MOTET_INSTRUCTION_SETS > 2
TEST_CASE("tiles of pairs of bf16") {
  if (!cpu::kernel_available(cpu::kernel_kind::avx512_bf16)) return;
  using product = cpu::avx512_bf16::products<bf16>;
  const isize steps = 5, rows = 7, columns = 40, width = 48;
  const auto tile = cpu::avx512_bf16::choose_tile<product>(rows, 3);
  grid<bf16> a(tile.rows, 2 * steps), b(2 * steps, width);
  a.random(1), b.random(2);
  std::vector<bf16> pairs;
  for (isize s = 0; s < steps; ++s)
    for (isize j = 0; j < width; ++j) pairs.push_back(b.at(2 * s, j)), pairs.push_back(b.at(2 * s + 1, j));
  grid<float> c(rows, columns, 3);
  tile.run(steps, a.data.data(), a.stride, 2, pairs.data(), c.data.data(), c.stride, rows, columns, false,
           {});
  grid<double> want(rows, columns);
  for (isize i = 0; i < rows; ++i) {
    for (isize j = 0; j < columns; ++j) {
      double sum = 0;
      for (isize l = 0; l < 2 * steps; ++l) sum += a(i, l) * b(l, j);
      want.at(i, j) = sum;
    }
  }
  CHECK(laws::distance(c, want) < 1e-6);
  CHECK(c.gaps_intact());
}
#endif

}  // namespace
}  // namespace motet
