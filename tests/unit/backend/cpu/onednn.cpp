// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/onednn.hpp>

#include "../../../laws/grid.hpp"

#include <doctest/doctest.h>

#if defined(MOTET_HAS_ONEDNN) && MOTET_HAS_ONEDNN

#include <vector>

namespace motet {
namespace {

using cpu::gemm_operand;
using laws::grid;

template <class T, class Out>
void check(index m, index n, index k, bool turn_a, bool turn_b, bool accumulate, bool with_sgemm) {
  grid<T> a(turn_a ? k : m, turn_a ? m : k, 2), b(turn_b ? n : k, turn_b ? k : n, 1);
  a.random(1), b.random(2);
  grid<Out> out(m, n, 3);
  out.random(3);
  grid<double> want(m, n);
  for (index i = 0; i < m; ++i) {
    for (index j = 0; j < n; ++j) {
      double sum = accumulate ? out(i, j) : 0;
      for (index l = 0; l < k; ++l) sum += (turn_a ? a(l, i) : a(i, l)) * (turn_b ? b(j, l) : b(l, j));
      want.at(i, j) = sum;
    }
  }
  if constexpr (std::is_same_v<T, float> && std::is_same_v<Out, float>) {
    if (with_sgemm) {
      CHECK(cpu::onednn::sgemm(m, n, k, gemm_operand<float>{a.data.data(), a.stride, turn_a}, gemm_operand<float>{b.data.data(), b.stride, turn_b},
                               out.data.data(), out.stride, accumulate));
      CHECK(laws::distance(out, want) < laws::tolerance<Out>);
      CHECK(out.gaps_intact());
      return;
    }
  }
  const cpu::onednn::product product({m, n, k, a.stride, b.stride, out.stride, turn_a, turn_b, accumulate, cpu::onednn::data_type_of<T>,
                                      cpu::onednn::data_type_of<T>, cpu::onednn::data_type_of<Out>});
  std::vector<std::byte> scratch(static_cast<std::size_t>(product.scratch_bytes()) + 64);
  void* aligned = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) / 64 * 64);
  product(a.data.data(), b.data.data(), out.data.data(), aligned);
  CHECK(laws::distance(out, want) < laws::tolerance<Out>);
  CHECK(out.gaps_intact());
}

TEST_CASE("products by oneDNN: both operands turned or not, set or added, with strides") {
  for (const bool turn_a : {false, true})
    for (const bool turn_b : {false, true})
      for (const bool accumulate : {false, true}) {
        check<float, float>(13, 37, 29, turn_a, turn_b, accumulate, true);
        check<float, float>(13, 37, 29, turn_a, turn_b, accumulate, false);
        check<bf16, float>(13, 37, 29, turn_a, turn_b, accumulate, false);
        check<bf16, bf16>(16, 32, 64, turn_a, turn_b, accumulate, false);
      }
}

}  // namespace
}  // namespace motet

#else

TEST_CASE("without oneDNN its header is empty") { CHECK(true); }

#endif
