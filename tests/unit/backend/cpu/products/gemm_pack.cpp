// SPDX-License-Identifier: Apache-2.0
#include "../../../../laws/each_kernel.hpp"
#include "../../../../laws/grid.hpp"

#include <motet/backend/cpu/products/gemm_pack.hpp>

#include <vector>

namespace motet {
namespace {

using cpu::gemm_operand;
using laws::grid;

// These gather what each instruction set offers, so that one check serves all.
#define VARIANT(NAME)                                                                                \
  struct NAME##_packing {                                                                            \
    template <class T>                                                                               \
    using products = cpu::NAME::product_of<T>;                                                       \
    using split = cpu::NAME::panel_split;                                                            \
    static constexpr isize tile_rows = cpu::NAME::tile_rows, tile_vectors = cpu::NAME::tile_vectors; \
    template <class P, class... Rest>                                                                \
    static void panels(Rest... rest) {                                                               \
      cpu::NAME::pack_panels<P>(rest...);                                                            \
    }                                                                                                \
    template <class P, class... Rest>                                                                \
    static void rows(Rest... rest) {                                                                 \
      cpu::NAME::pack_rows<P>(rest...);                                                              \
    }                                                                                                \
    template <class P, class... Rest>                                                                \
    static void tiles(Rest... rest) {                                                                \
      cpu::NAME::pack_tiles<P>(rest...);                                                             \
    }                                                                                                \
    template <class P>                                                                               \
    static isize pitch(isize steps) {                                                                \
      return cpu::NAME::tile_pitch<P>(steps);                                                        \
    }                                                                                                \
  };

VARIANT(portable)
#if MOTET_INSTRUCTION_SETS > 1
VARIANT(avx2)
#endif
#if MOTET_INSTRUCTION_SETS > 2
VARIANT(avx512)
VARIANT(avx512_bf16)
#endif

template <class Packing, class Compute, class T>
void check_packing() {
  using product = typename Packing::template products<Compute>;
  using element = typename product::element;
  constexpr isize lanes = product::lanes, group = product::group;
  for (const bool turned : {false, true}) {
    for (const isize depth : {1, 2, 15, 16, 37}) {
      for (const isize columns : {1, 7, 16, 33, 100}) {
        CAPTURE(turned);
        CAPTURE(depth);
        CAPTURE(columns);
        const isize k = 3, column = 5, steps = (depth + group - 1) / group;
        grid<T> cells(turned ? column + columns : k + depth, turned ? k + depth : column + columns, 1);
        cells.random(1);
        const gemm_operand<T> from{cells.data.data(), cells.stride, turned};
        const auto value = [&](isize i, isize j) {
          return element(turned ? cells.at(column + j, k + i) : cells.at(k + i, column + j));
        };

        const typename Packing::split split((columns + lanes - 1) / lanes);
        const isize all = split.first(split.panels) * lanes;
        REQUIRE(all >= columns);
        std::vector<element> to(static_cast<std::size_t>(all * steps * group) + 1, element(-77.0f));
        Packing::template panels<product>(from, k, depth, column, columns, split, to.data());
        isize wrong = 0;
        for (isize p = 0; p < split.panels; ++p) {
          const isize first = split.first(p) * lanes, width = split.vectors(p) * lanes;
          CHECK(split.vectors(p) <= Packing::tile_vectors);
          CHECK(split.vectors(p) >= 1);
          for (isize s = 0; s < steps * group; ++s)
            for (isize j = 0; j < width; ++j) {
              const element got = to[static_cast<std::size_t>(first * steps * group +
                                                              (s / group * width + j) * group + s % group)];
              const bool there = s < depth && first + j < columns;
              wrong += static_cast<double>(got) != (there ? static_cast<double>(value(s, first + j)) : 0);
            }
        }
        CHECK(wrong == 0);
        CHECK(static_cast<double>(to.back()) == -77);
      }
    }
  }
  for (const isize depth : {1, 16, 37}) {
    for (const isize rows : {isize{1}, Packing::tile_rows, Packing::tile_rows + 3,
                             product::tiles_at_once * Packing::tile_rows}) {
      const isize steps = (depth + group - 1) / group;
      {  // row-major: whole rows with zero rows below
        grid<T> cells(rows + 2, depth + 3, 1);
        cells.random(2);
        const isize all = rows + 2, to_row = round_up(depth, group) + 1;
        std::vector<element> to(static_cast<std::size_t>(all * to_row), element(-77.0f));
        Packing::template rows<product>(gemm_operand<T>{cells.data.data(), cells.stride}, isize{2}, rows, all,
                                        isize{3}, depth, to.data(), to_row);
        for (isize r = 0; r < all; ++r) {
          for (isize s = 0; s < round_up(depth, group); ++s) {
            const double want =
                r < rows && s < depth ? static_cast<double>(element(cells.at(2 + r, 3 + s))) : 0;
            CHECK(static_cast<double>(to[static_cast<std::size_t>(r * to_row + s)]) == want);
          }
          CHECK(static_cast<double>(to[static_cast<std::size_t>(r * to_row + to_row - 1)]) == -77);
        }
      }
      {  // transposed: tiles of interleaved rows
        grid<T> cells(depth + 3, rows + 2, 1);
        cells.random(3);
        const isize tiles = (rows + Packing::tile_rows - 1) / Packing::tile_rows,
                    pitch = Packing::template pitch<product>(steps);
        std::vector<element> to(static_cast<std::size_t>(tiles * pitch) + 1, element(-77.0f));
        Packing::template tiles<product>(gemm_operand<T>{cells.data.data(), cells.stride, true}, isize{2},
                                         rows, isize{3}, depth, to.data());
        for (isize r = 0; r < tiles * Packing::tile_rows; ++r) {
          for (isize s = 0; s < steps * group; ++s) {
            const double want =
                r < rows && s < depth ? static_cast<double>(element(cells.at(3 + s, 2 + r))) : 0;
            const isize at = r / Packing::tile_rows * pitch +
                             (s / group * Packing::tile_rows + r % Packing::tile_rows) * group + s % group;
            CHECK(static_cast<double>(to[static_cast<std::size_t>(at)]) == want);
          }
        }
        CHECK(static_cast<double>(to.back()) == -77);
      }
    }
  }
}

template <class Packing>
void check_all_types() {
  check_packing<Packing, float, float>();
  check_packing<Packing, float, bf16>();
  check_packing<Packing, double, double>();
  check_packing<Packing, bf16, bf16>();
  check_packing<Packing, bf16, float>();
}

TEST_CASE("blocks are packed as the kernels read them, with zeros where nothing is") {
  check_all_types<portable_packing>();
#if MOTET_INSTRUCTION_SETS > 1
  if (cpu::kernel_available(cpu::kernel_kind::avx2)) check_all_types<avx2_packing>();
#endif
#if MOTET_INSTRUCTION_SETS > 2
  if (cpu::kernel_available(cpu::kernel_kind::avx512)) check_all_types<avx512_packing>();
  if (cpu::kernel_available(cpu::kernel_kind::avx512_bf16)) check_all_types<avx512_bf16_packing>();
#endif
}

TEST_CASE("panels are as even as they can be") {
  for (isize vectors = 1; vectors < 40; ++vectors) {
    const cpu::portable::panel_split split(vectors);
    isize sum = 0, least = 100, most = 0;
    for (isize p = 0; p < split.panels; ++p) {
      CHECK(split.first(p) == sum);
      sum += split.vectors(p);
      least = std::min(least, split.vectors(p)), most = std::max(most, split.vectors(p));
    }
    CHECK(sum == vectors);
    CHECK(most - least <= 1);
    CHECK(most <= cpu::portable::tile_vectors);
  }
}

}  // namespace
}  // namespace motet
