// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/each_run.hpp>
#include <motet/backend/cuda/kernels/samples.hpp>
#include <motet/tensor/random.hpp>

namespace motet::cuda {

namespace detail {

// Row r draws blocks from (first_row + r) * blocks on, one for each four columns. What draws less than
// `dropped` becomes zero.
template <class T, class X, class Y>
struct dropped {
  template <int N>
  using held = run<T, N>;
  matrix<const X> x;
  matrix<Y> y;
  std::uint64_t seed, key;
  const std::uint64_t* step;
  isize first_row, blocks;
  std::uint64_t below;
  T scale;

  template <int N>
  MOTET_HOST_DEVICE bool load(isize row, isize column, held<N>& kept) const {
    kept = load_run<T, N>(x.row(row) + column);
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(isize row, isize column, held<N>& kept) const {
    const random_stream draw(seed, key ^ ((*step + 1) * 0x9e3779b97f4a7c15ull));
    constexpr int each = N < 4 ? N : 4;
    MOTET_UNROLLED
    for (int b = 0; b < N / each; ++b) {
      const isize at = column + b * each;
      const auto words = draw.block(static_cast<std::uint64_t>((first_row + row) * blocks + at / 4));
      MOTET_UNROLLED
      for (int i = 0; i < each; ++i) {
        // Registers have no numbers that a program could count, so a word is chosen.
        const int which = static_cast<int>(at % 4) + i;
        const std::uint32_t word =
            which < 2 ? (which == 0 ? words.at[0] : words.at[1]) : (which == 2 ? words.at[2] : words.at[3]);
        T& value = kept.of[b * each + i];
        value = (each == 4 ? words.at[i] : word) < below ? T(0) : value * scale;
      }
    }
    store_run(y.row(row) + column, kept);
  }
};

}  // namespace detail

// Keeps each number with probability 1 - rate and scales what it keeps by 1 / (1 - rate). `key` tells the
// places in a net apart.
// y may be the memory of x; the backward pass is the same call on gradients. Floor: x is read once, y is
// written once; drawing takes about as long for bf16: some 60 instructions for four numbers.
template <class X, class Y>
void dropout_apply(context& ctx, const sequences& seq, double rate, std::uint64_t key, matrix<X> x,
                   matrix<Y> y) {
  ctx.note("dropout_apply", elements_in(x), bytes_in(x) + bytes_in(y));
  if (ctx.measuring()) return;
  if (!ctx.draws.dropout) rate = 0;
  using element = std::remove_const_t<X>;
  using number = arithmetic<X, Y>;
  constexpr int size = run_size<element, Y>;
  const double words = rate * 0x1p32;
  const std::uint64_t below = words <= 0        ? 0
                              : words >= 0x1p32 ? std::uint64_t{1} << 32
                                                : static_cast<std::uint64_t>(words);
  const detail::dropped<number, element, Y> operation{x,
                                                      y,
                                                      ctx.draws.seed,
                                                      key,
                                                      ctx.on->step(),
                                                      ctx.draws.first_row,
                                                      (x.width + 3) / 4,
                                                      below,
                                                      rate < 1 ? number(1 / (1 - rate)) : number(0)};
  for_each_run<size>(ctx, operation, seq.rows(), x.width, in_runs<size>(x) && in_runs<size>(y));
}

}  // namespace motet::cuda
