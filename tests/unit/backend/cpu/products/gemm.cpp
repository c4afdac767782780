// SPDX-License-Identifier: Apache-2.0
#include "../../../../laws/activation_reference.hpp"
#include "../../../../laws/each_kernel.hpp"
#include "../../../../laws/grid.hpp"

#include <motet/backend/cpu/products/gemm.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace motet {
namespace {

using cpu::epilogue_mode, cpu::gemm_epilogue, cpu::gemm_operand;
using laws::grid, laws::with_each_kernel;

// Scratch memory with a mark behind its end.
class marked_scratch {
 public:
  marked_scratch()
      : memory_(static_cast<std::size_t>(cpu::gemm_scratch_bytes) + 64 + 4096, std::byte{0x5a}) {}
  std::byte* data() { return memory_.data() + offset(); }
  bool end_intact() {
    return std::all_of(data() + cpu::gemm_scratch_bytes, memory_.data() + memory_.size(),
                       [](std::byte b) { return b == std::byte{0x5a}; });
  }

 private:
  std::size_t offset() const { return (64 - reinterpret_cast<std::uintptr_t>(memory_.data()) % 64) % 64; }
  std::vector<std::byte> memory_;
};
marked_scratch scratch;

template <class T>
struct operand {
  grid<T> cells;
  bool transposed;
  operand(isize rows, isize columns, bool turn, std::uint64_t seed, isize gap)
      : cells(turn ? columns : rows, turn ? rows : columns, gap), transposed(turn) {
    cells.random(seed);
  }
  double operator()(isize i, isize j) const { return transposed ? cells(j, i) : cells(i, j); }
  operator gemm_operand<T>() const { return {cells.data.data(), cells.stride, transposed}; }
};

// Rounding of the operands, of the sum and of the result may do this to one element of the product.
template <class Compute, class A, class B, class Out>
double allowed(double magnitudes, double want, isize k) {
  const bool rounds_operands = sizeof(Compute) == 2 && (sizeof(A) == 4 || sizeof(B) == 4);
  const double of_operands = rounds_operands ? 0x1p-7 : 0;
  const double of_sum =
      sizeof(Compute) == 8 ? 0x1p-52 * 4 : 0x1p-23 * (2 + std::sqrt(static_cast<double>(k)) / 4);
  const double of_result = sizeof(Out) == 2 ? 0x1p-8 : 0;
  return magnitudes * (of_operands + of_sum) + std::abs(want) * of_result +
         (sizeof(Compute) == 8 ? 1e-15 : 1e-6);
}

template <class Compute, class A, class B, class Out>
void check_product(isize m, isize n, isize k, bool turn_a, bool turn_b, bool accumulate, isize gap) {
  using sum = std::conditional_t<std::is_same_v<Compute, double>, double, float>;
  const operand<A> a(m, k, turn_a, 1, gap);
  const operand<B> b(k, n, turn_b, 2, gap + 1);
  grid<Out> out(m, n, gap);
  out.random(3);
  const grid<Out> before = out;
  gemm_epilogue<sum> epilogue;
  epilogue.accumulate = accumulate;
  cpu::gemm<Compute>(m, n, k, gemm_operand<A>(a), gemm_operand<B>(b), out.data.data(), out.stride, epilogue,
                     scratch.data());
  isize wrong = 0;
  for (isize i = 0; i < m; ++i) {
    for (isize j = 0; j < n; ++j) {
      double want = accumulate ? before(i, j) : 0, magnitudes = std::abs(want);
      for (isize l = 0; l < k; ++l) want += a(i, l) * b(l, j), magnitudes += std::abs(a(i, l) * b(l, j));
      wrong += !(std::abs(out(i, j) - want) <= allowed<Compute, A, B, Out>(magnitudes, want, k));
    }
  }
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(turn_a);
  CAPTURE(turn_b);
  CHECK(wrong == 0);
  CHECK(out.gaps_intact());
}

template <class Compute, class A, class B, class Out>
void check_products() {
  with_each_kernel([] {
    const random_stream draw(7, "shapes");
    for (std::uint64_t turn = 0; turn < 40; ++turn) {
      const auto size = [&](std::uint64_t which, std::uint32_t bound) {
        return static_cast<isize>(draw.below(turn * 8 + which, bound));
      };
      check_product<Compute, A, B, Out>(size(0, 40), size(1, 120), size(2, 70), turn % 2 != 0,
                                        turn / 2 % 2 != 0, turn / 4 % 2 != 0, size(3, 4));
    }
    // several blocks of k
    for (const isize k : {513, 1100})
      check_product<Compute, A, B, Out>(19, 50, k, k == 513, k != 513, true, 1);
    // several strips of a transposed A
    check_product<Compute, A, B, Out>(90, 33, 21, true, true, false, 0);
    // several blocks of columns
    check_product<Compute, A, B, Out>(3, 5300, 3, false, false, true, 0);
    for (const isize none : {0, 1, 2})
      check_product<Compute, A, B, Out>(none == 0 ? 0 : 5, none == 1 ? 0 : 5, none == 2 ? 0 : 5, false, true,
                                        none != 0, 0);
    CHECK(scratch.end_intact());
  });
}

TEST_CASE("products of fp32 against plain loops in double, every kernel") {
  check_products<float, float, float, float>();
}
TEST_CASE("products of fp64") { check_products<double, double, double, double>(); }
TEST_CASE("products of bf16 activations with fp32 weights") { check_products<bf16, bf16, float, bf16>(); }
TEST_CASE("products of bf16 with bf16 into fp32") { check_products<bf16, bf16, bf16, float>(); }
TEST_CASE("products of fp32 gradients taken in bf16") { check_products<bf16, float, float, float>(); }
TEST_CASE("products of bf16 operands taken in fp32") { check_products<float, bf16, float, bf16>(); }

TEST_CASE("small whole numbers multiply exactly, whatever the kernel and the types") {
  with_each_kernel([] {
    const isize m = 23, n = 61, k = 37;
    grid<bf16> a(m, k), b(n, k);
    for (isize i = 0; i < m; ++i)
      for (isize l = 0; l < k; ++l) a.at(i, l) = bf16(static_cast<float>((i * 7 + l * 3) % 17 - 8));
    for (isize j = 0; j < n; ++j)
      for (isize l = 0; l < k; ++l) b.at(j, l) = bf16(static_cast<float>((j * 5 + l * 11) % 15 - 7));
    grid<float> out(m, n);
    cpu::gemm<bf16>(m, n, k, gemm_operand<bf16>{a.data.data(), k}, gemm_operand<bf16>{b.data.data(), k, true},
                    out.data.data(), n, gemm_epilogue<float>{}, scratch.data());
    for (isize i = 0; i < m; ++i) {
      for (isize j = 0; j < n; ++j) {
        double want = 0;
        for (isize l = 0; l < k; ++l) want += a(i, l) * b(j, l);
        CHECK(out(i, j) == want);
      }
    }
  });
}

// The whole product at once, and piece by piece as threads would share it: the same bits.
template <class Compute, class A, class B, class Out>
void check_pieces(isize k, bool turn, bool accumulate) {
  const std::vector<isize> rows{0, 7, 8, 40, 61, 97}, columns{0, 5, 69, 101, 117};
  const isize m = rows.back(), n = columns.back();
  const operand<A> a(m, k, turn, 1, 2);
  const operand<B> b(k, n, !turn, 2, 1);
  grid<Out> whole(m, n, 3);
  whole.random(3);
  grid<Out> pieces = whole;
  gemm_epilogue<std::conditional_t<std::is_same_v<Compute, double>, double, float>> epilogue;
  epilogue.accumulate = accumulate;
  const auto multiply = [&](grid<Out>& out, isize row, isize row_end, isize column, isize column_end) {
    gemm_operand<A> left = a;
    gemm_operand<B> right = b;
    left.data += left.transposed ? row : row * left.stride;
    right.data += right.transposed ? column * right.stride : column;
    cpu::gemm<Compute>(row_end - row, column_end - column, k, left, right, &out.at(row, column), out.stride,
                       epilogue, scratch.data());
  };
  multiply(whole, 0, m, 0, n);
  for (std::size_t i = 1; i < rows.size(); ++i)
    for (std::size_t j = 1; j < columns.size(); ++j)
      multiply(pieces, rows[i - 1], rows[i], columns[j - 1], columns[j]);
  isize different = 0;
  for (isize i = 0; i < m; ++i)
    for (isize j = 0; j < n; ++j) different += pieces(i, j) != whole(i, j);
  CAPTURE(k);
  CAPTURE(turn);
  CAPTURE(accumulate);
  CHECK(different == 0);
}

TEST_CASE("an element does not depend on the rows and columns that are multiplied beside it") {
  with_each_kernel([] {
    for (const isize k : {33, 1100})  // one block of k, and several
      for (const bool turn : {false, true})
        for (const bool accumulate : {false, true}) {
          check_pieces<float, float, float, float>(k, turn, accumulate);
          check_pieces<bf16, bf16, float, bf16>(k, turn, accumulate);
          check_pieces<bf16, bf16, bf16, float>(k, turn, accumulate);
          check_pieces<double, double, double, double>(k, turn, accumulate);
        }
  });
}

template <class Compute, class T, class Out>
void check_residual_in_place(isize k, bool with_bias) {
  using sum = std::conditional_t<std::is_same_v<Compute, double>, double, float>;
  const isize m = 37, n = 70;
  const operand<T> a(m, k, false, 1, 2), b(k, n, true, 2, 1);
  grid<sum> bias(1, n);
  bias.random(3);
  grid<Out> residual(m, n, 1), beside(m, n, 1);
  residual.random(4);
  grid<Out> in_place = residual;
  const auto multiply = [&](const grid<Out>& from, grid<Out>& out) {
    gemm_epilogue<sum, Out, Out> epilogue;
    if (with_bias) epilogue.bias = bias.data.data();
    epilogue.residual = from.data.data(), epilogue.residual_stride = from.stride;
    cpu::gemm<Compute>(m, n, k, gemm_operand<T>(a), gemm_operand<T>(b), out.data.data(), out.stride, epilogue,
                       scratch.data());
  };
  multiply(residual, beside);
  multiply(in_place, in_place);
  CAPTURE(k);
  CAPTURE(with_bias);
  CHECK(in_place.data == beside.data);
}

TEST_CASE("a residual in the place of the output gives the same bits as one elsewhere") {
  with_each_kernel([] {
    for (const isize k : {32, 33, 1100})
      for (const bool with_bias : {false, true}) {
        check_residual_in_place<float, float, float>(k, with_bias);
        check_residual_in_place<bf16, bf16, float>(k, with_bias);
        check_residual_in_place<double, double, double>(k, with_bias);
      }
  });
}

TEST_CASE("the scratch memory is large enough for the largest blocks") {
  with_each_kernel([] {
    const auto run = [](auto compute, auto out_value, isize m, isize n, isize k, bool turn) {
      using T = decltype(compute);
      using sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
      const grid<T> a(turn ? k : m, turn ? m : k), b(k, n);
      grid<decltype(out_value)> out(m, n);
      const grid<sum> bias(1, n);
      gemm_epilogue<sum, sum, sum, epilogue_mode::forward> epilogue;
      epilogue.bias = bias.data.data();
      epilogue.kind = activation::relu;
      cpu::gemm<T>(m, n, k, gemm_operand<T>{a.data.data(), a.stride, turn}, gemm_operand<T>{b.data.data(), n},
                   out.data.data(), n, epilogue, scratch.data());
    };
    for (const bool turn : {false, true}) {
      run(1.0f, 1.0f, 70, 1300, 513, turn);
      run(1.0, 1.0, 70, 1300, 257, turn);
      run(bf16(1.0f), bf16(1.0f), 70, 1300, 513, turn);
      run(1.0f, bf16(1.0f), 530, 180, 515, turn);
      run(1.0f, 1.0f, 9, 21000, 2, turn);
      run(1.0, 1.0, 9, 21000, 2, turn);
      run(bf16(1.0f), 1.0f, 9, 21000, 2, turn);
    }
    CHECK(scratch.end_intact());
  });
}

enum class parts : int {
  none,
  bias = 1,
  residual = 2,
  in_place = 4,
  accumulate = 8,
  pre = 16,
  replayed = 32
};

template <class Compute, class T, class Out, class Residual, class Pre, epilogue_mode Mode>
void check_epilogue(isize m, isize n, isize k, activation kind, int wanted) {
  using sum = std::conditional_t<std::is_same_v<Compute, double>, double, float>;
  const auto has = [&](parts part) { return (wanted & static_cast<int>(part)) != 0; };
  const operand<T> a(m, k, false, 1, 2), b(k, n, true, 2, 0);
  grid<sum> bias(1, n);
  bias.random(3);
  grid<Residual> residual(m, n, 1);
  residual.random(4, 2);
  grid<Out> out(m, n, 3);
  out.random(5, 2);
  const grid<Out> before = out;
  grid<Pre> pre(m, n, 2), replayed(m, n, 1);
  if (Mode == epilogue_mode::backward) pre.random(6, 4);
  const grid<Pre> saved = pre;
  const bool replays_in_place = has(parts::replayed) && has(parts::pre);

  gemm_epilogue<sum, Residual, Pre, Mode> epilogue;
  epilogue.kind = kind;
  epilogue.accumulate = has(parts::accumulate);
  if (has(parts::bias)) epilogue.bias = bias.data.data();
  if (has(parts::residual))
    epilogue.residual = residual.data.data(), epilogue.residual_stride = residual.stride;
  if constexpr (std::is_same_v<Residual, Out>) {
    if (has(parts::in_place)) epilogue.residual = out.data.data(), epilogue.residual_stride = out.stride;
  }
  if (Mode == epilogue_mode::backward || has(parts::pre))
    epilogue.pre = pre.data.data(), epilogue.pre_stride = pre.stride;
  if (has(parts::replayed)) {
    epilogue.replayed = replays_in_place ? pre.data.data() : replayed.data.data();
    epilogue.replayed_stride = replays_in_place ? pre.stride : replayed.stride;
  }
  cpu::gemm<Compute>(m, n, k, gemm_operand<T>(a), gemm_operand<T>(b), out.data.data(), out.stride, epilogue,
                     scratch.data());

  const auto near = [](double got, double want, double magnitude, std::size_t bytes) {
    const double precision = sizeof(Compute) == 4 || sizeof(Compute) == 2 ? 2e-6
                             : Mode == epilogue_mode::backward            ? 1e-9
                                                                          : 1e-12;
    return std::abs(got - want) <= precision * magnitude + (bytes == 2 ? 0x1p-8 * std::abs(want) : 0);
  };
  isize wrong = 0, wrong_pre = 0;
  for (isize i = 0; i < m; ++i) {
    for (isize j = 0; j < n; ++j) {
      double v = has(parts::bias) ? bias(0, j) : 0, magnitude = 1 + std::abs(v);
      for (isize l = 0; l < k; ++l) v += a(i, l) * b(l, j), magnitude += std::abs(a(i, l) * b(l, j));
      if constexpr (Mode == epilogue_mode::forward) {
        if (has(parts::pre)) wrong_pre += !near(pre(i, j), v, magnitude, sizeof(Pre));
        v = laws::activation_reference(kind, v);
      } else if constexpr (Mode == epilogue_mode::backward) {
        v *= laws::slope_reference(kind, saved(i, j));
        magnitude *= 10;  // the slope of the reference comes from differences
        if (has(parts::replayed)) {
          const double want = laws::activation_reference(kind, saved(i, j));
          wrong_pre +=
              !near(replays_in_place ? pre(i, j) : replayed(i, j), want, 1 + std::abs(want), sizeof(Pre));
        }
      }
      if (has(parts::residual)) v += residual(i, j), magnitude += 2;
      if (has(parts::in_place) && std::is_same_v<Residual, Out>) v += before(i, j), magnitude += 2;
      if (has(parts::accumulate)) v += before(i, j), magnitude += 2;
      wrong += !near(out(i, j), v, magnitude, sizeof(Out));
    }
  }
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(static_cast<int>(kind));
  CAPTURE(wanted);
  CHECK(wrong == 0);
  CHECK(wrong_pre == 0);
  CHECK(out.gaps_intact());
  CHECK(pre.gaps_intact());
  CHECK(replayed.gaps_intact());
}

template <class Compute, class T, class Out, class Residual, class Pre>
void check_epilogues() {
  const auto some = [](auto... part) { return (0 | ... | static_cast<int>(part)); };
  with_each_kernel([&] {
    for (const isize k : {0, 7, 530}) {
      const isize m = k == 530 ? 9 : 14, n = k == 530 ? 35 : 53;
      for (const int wanted :
           {some(), some(parts::bias), some(parts::bias, parts::residual), some(parts::bias, parts::in_place),
            some(parts::residual, parts::accumulate), some(parts::accumulate, parts::bias),
            some(parts::in_place, parts::accumulate)})
        check_epilogue<Compute, T, Out, Residual, Pre, epilogue_mode::linear>(m, n, k, activation::none,
                                                                              wanted);
      for (const activation kind : {activation::none, activation::gelu, activation::gelu_tanh,
                                    activation::quick_gelu, activation::relu, activation::silu}) {
        for (const int wanted : {some(), some(parts::bias, parts::pre), some(parts::bias, parts::residual),
                                 some(parts::pre, parts::in_place), some(parts::accumulate)})
          check_epilogue<Compute, T, Out, Residual, Pre, epilogue_mode::forward>(m, n, k, kind, wanted);
        for (const int wanted :
             {some(), some(parts::replayed), some(parts::replayed, parts::pre, parts::residual),
              some(parts::in_place, parts::accumulate)})
          check_epilogue<Compute, T, Out, Residual, Pre, epilogue_mode::backward>(m, n, k, kind, wanted);
      }
    }
    CHECK(scratch.end_intact());
  });
}

TEST_CASE("every piece of the epilogue in fp32") { check_epilogues<float, float, float, float, float>(); }
TEST_CASE("every piece of the epilogue with bf16 beside fp32") {
  check_epilogues<bf16, bf16, bf16, float, bf16>();
  check_epilogues<bf16, bf16, float, float, bf16>();
}
TEST_CASE("every piece of the epilogue in fp64") {
  check_epilogues<double, double, double, double, double>();
}

TEST_CASE("the output may take the place of what backward reads") {
  // dx over pre: sums that are gathered in the output would overwrite it.
  with_each_kernel([] {
    for (const isize k : {20, 600}) {
      const isize m = 11, n = 40;
      const operand<float> a(m, k, false, 1, 0), b(k, n, false, 2, 0);
      grid<float> beside(m, n), out(m, n);
      out.random(3, 3);
      const grid<float> pre = out;
      gemm_epilogue<float, float, float, epilogue_mode::backward> epilogue;
      epilogue.kind = activation::silu;
      grid<float> copy = pre;
      epilogue.pre = copy.data.data(), epilogue.pre_stride = n;
      cpu::gemm<float>(m, n, k, gemm_operand<float>(a), gemm_operand<float>(b), beside.data.data(), n,
                       epilogue, scratch.data());
      epilogue.pre = out.data.data();
      cpu::gemm<float>(m, n, k, gemm_operand<float>(a), gemm_operand<float>(b), out.data.data(), n, epilogue,
                       scratch.data());
      CHECK(laws::distance(out, beside) < 1e-6);
    }
  });
}

}  // namespace
}  // namespace motet
