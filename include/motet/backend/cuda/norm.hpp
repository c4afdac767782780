// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/each_run.hpp>
#include <motet/backend/cuda/group_sums.hpp>
#include <motet/backend/cuda/row_walk.hpp>
#include <motet/backend/cuda/samples.hpp>
#include <motet/nn/operations.hpp>

#include <cmath>

namespace motet::cuda {
namespace detail {

// Mean first, then squares of what is left, from registers.
template <class T, int N, int Runs, bool Block, class X, class M, class Y, class S>
struct norm_rows {
  static constexpr int most_threads = Block ? 512 : 256;
  bool centred;
  matrix<const X> x;
  const M *gain, *bias;
  T epsilon;
  matrix<Y> y;
  matrix<S> stats;

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    T* const scratch = self.template shared<T>(Block ? warp_size : 0);
    const T share = T(1) / static_cast<T>(x.width);
    for_rows<N, Runs, Block>(self, x.rows, x.width, [&](index r, const auto& part) {
      const held_row<T, N, Runs, X> row(part, x.row(r));
      T mean = 0;
      if (centred) {
        T sum[1] = {};
        part.each([&](int k, index column) {
          const auto v = row.at(k, column);
          MOTET_UNROLLED
          for (int i = 0; i < N; ++i) sum[0] += v.of[i];
        });
        row_sums<Block>(self, sum, scratch);
        mean = sum[0] * share;
      }
      T square[1] = {};
      part.each([&](int k, index column) {
        const auto v = row.at(k, column);
        MOTET_UNROLLED
        for (int i = 0; i < N; ++i) square[0] += (v.of[i] - mean) * (v.of[i] - mean);
      });
      row_sums<Block>(self, square, scratch);
      const T scale = T(1) / std::sqrt(square[0] * share + epsilon);
      part.each([&](int k, index column) {
        auto v = row.at(k, column);
        const auto g = load_run<T, N>(gain + column);
        MOTET_UNROLLED
        for (int i = 0; i < N; ++i) v.of[i] = (v.of[i] - mean) * scale * g.of[i];
        if (bias != nullptr) {
          const auto b = load_run<T, N>(bias + column);
          MOTET_UNROLLED
          for (int i = 0; i < N; ++i) v.of[i] += b.of[i];
        }
        store_run(y.row(r) + column, v);
      });
      if (part.me == 0) {
        stats.row(r)[0] = static_cast<S>(mean);
        stats.row(r)[1] = static_cast<S>(scale);
      }
    });
  }
};

template <class T, class X, class M, class Y, class S>
struct normed_again {
  template <int N>
  struct held {
    run<T, N> x;
    T mean, scale;
  };
  matrix<const X> x;
  const M *gain, *bias;
  matrix<const S> stats;
  matrix<Y> y;
  template <int N>
  MOTET_HOST_DEVICE bool load(index row, index column, held<N>& kept) const {
    kept = {load_run<T, N>(x.row(row) + column), static_cast<T>(stats.row(row)[0]), static_cast<T>(stats.row(row)[1])};
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(index row, index column, held<N>& kept) const {
    const auto g = load_run<T, N>(gain + column);
    MOTET_UNROLLED
    for (int i = 0; i < N; ++i) kept.x.of[i] = (kept.x.of[i] - kept.mean) * kept.scale * g.of[i];
    if (bias != nullptr) {
      const auto b = load_run<T, N>(bias + column);
      MOTET_UNROLLED
      for (int i = 0; i < N; ++i) kept.x.of[i] += b.of[i];
    }
    store_run(y.row(row) + column, kept.x);
  }
};

// With g = dy * gain and u = (x - mean) * scale: dx = residual + scale * (g - mean(g) - u * mean(g u)), the middle term for layer norm alone.
template <class T, int N, int Runs, bool Block, class X, class M, class S, class Dy, class R, class Dx>
struct norm_rows_backward {
  static constexpr int most_threads = Block ? 512 : 256;
  bool centred;
  matrix<const X> x;
  const M* gain;
  matrix<const S> stats;
  matrix<const Dy> dy;
  matrix<const R> residual;
  matrix<Dx> dx;

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    T* const scratch = self.template shared<T>(Block ? 2 * warp_size : 0);
    const T share = T(1) / static_cast<T>(x.width);
    for_rows<N, Runs, Block>(self, x.rows, x.width, [&](index r, const auto& part) {
      const held_row<T, N, Runs, X> from(part, x.row(r));
      const held_row<T, N, Runs, Dy> slope(part, dy.row(r));
      const T mean = static_cast<T>(stats.row(r)[0]), scale = static_cast<T>(stats.row(r)[1]);
      T sums[2] = {};  // of g, of g (x - mean)
      part.each([&](int k, index column) {
        const auto v = from.at(k, column), d = slope.at(k, column), g = load_run<T, N>(gain + column);
        MOTET_UNROLLED
        for (int i = 0; i < N; ++i) {
          const T along = d.of[i] * g.of[i];
          sums[0] += along;
          sums[1] += along * (v.of[i] - mean);
        }
      });
      row_sums<Block>(self, sums, scratch);
      // dx = residual + scale * g + (x - mean) * turn + shift
      const T turn = -scale * scale * scale * sums[1] * share, shift = centred ? -scale * sums[0] * share : T(0);
      part.each([&](int k, index column) {
        const auto v = from.at(k, column), d = slope.at(k, column), g = load_run<T, N>(gain + column);
        run<T, N> made;
        MOTET_UNROLLED
        for (int i = 0; i < N; ++i) made.of[i] = (v.of[i] - mean) * turn + (d.of[i] * g.of[i] * scale + shift);
        if (residual.data != nullptr) {
          const auto beside = load_run<T, N>(residual.row(r) + column);
          MOTET_UNROLLED
          for (int i = 0; i < N; ++i) made.of[i] += beside.of[i];
        }
        store_run(dx.row(r) + column, made);
      });
    });
  }
};

// Sums of dy * (x - mean) * scale, and of dy.
template <class T, class X, class S, class Dy>
struct norm_weight_values {
  using number = T;
  static constexpr int sums = 2;
  template <int N>
  struct held {
    run<T, N> x, dy;
    T mean, scale;
  };
  matrix<const X> x;
  matrix<const S> stats;
  matrix<const Dy> dy;
  template <int N>
  MOTET_HOST_DEVICE held<N> load(index row, index column) const {
    return {load_run<T, N>(x.row(row) + column), load_run<T, N>(dy.row(row) + column), static_cast<T>(stats.row(row)[0]),
            static_cast<T>(stats.row(row)[1])};
  }
  template <int N>
  MOTET_HOST_DEVICE void add(const held<N>& kept, T (&to)[2][N]) const {
    MOTET_UNROLLED
    for (int i = 0; i < N; ++i) {
      to[0][i] += kept.dy.of[i] * kept.scale * (kept.x.of[i] - kept.mean);
      to[1][i] += kept.dy.of[i];
    }
  }
};

}  // namespace detail

// Layer norm: y = (x - mean) / deviation * gain + bias. Root-mean-square norm: the same with mean 0.
// Floor: x is read once, y and the statistics are written once; gain and bias stay in the cache.
template <class X, class M, class Y, class S>
void norm_forward(context& ctx, const sequences& seq, norm_kind kind, matrix<X> x, const M* gain, const std::type_identity_t<M>* bias, double epsilon,
                  matrix<Y> y, matrix<S> stats) {
  ctx.note("norm_forward", 8 * motet::detail::elements_in(x),
           motet::detail::bytes_in(x) + motet::detail::bytes_in(y) + motet::detail::bytes_in(stats));
  if (ctx.measuring()) return;
  using element = std::remove_const_t<X>;
  using number = motet::detail::arithmetic<X, M, Y>;
  constexpr int size = run_size<element, M, Y>;
  const matrix<X> own = detail::rows_of(seq, x);
  const bool packed = in_runs<size>(x) && in_runs<size>(y) && in_runs<size>(gain, x.width) && in_runs<size>(bias, x.width);
  detail::for_row_shape<size, number>(own.rows, own.width, packed, 1, [&](auto shape) {
    using s = decltype(shape);
    launch(ctx.stream(), shape.over,
           detail::norm_rows<number, s::size, s::runs, s::block, element, M, Y, S>{kind == norm_kind::layer, own, gain, bias,
                                                                                   static_cast<number>(epsilon), y, stats});
  });
}

// Floor: x is read once, y is written once; the statistics are 8 bytes for each row.
template <class X, class M, class S, class Y>
void norm_replay(context& ctx, const sequences& seq, norm_kind kind, matrix<X> x, const M* gain, const std::type_identity_t<M>* bias, matrix<S> stats,
                 matrix<Y> y) {
  static_cast<void>(kind);  // the mean of a root-mean-square norm was saved as 0
  ctx.note("norm_replay", 4 * motet::detail::elements_in(x),
           motet::detail::bytes_in(x) + motet::detail::bytes_in(y) + motet::detail::bytes_in(stats));
  if (ctx.measuring()) return;
  using element = std::remove_const_t<X>;
  using number = motet::detail::arithmetic<X, M, Y>;
  constexpr int size = run_size<element, M, Y>;
  const bool packed = in_runs<size>(x) && in_runs<size>(y) && in_runs<size>(gain, x.width) && in_runs<size>(bias, x.width);
  for_each_run<size>(ctx, detail::normed_again<number, element, M, Y, std::remove_const_t<S>>{x, gain, bias, stats, y}, seq.rows(), x.width, packed);
}

// dx may be the memory of dy or of the residual, which may be empty. Floor: x, dy and the residual are read once, dx is written once.
template <class X, class M, class S, class Dy, class R, class Dx>
void norm_backward_input(context& ctx, const sequences& seq, norm_kind kind, matrix<X> x, const M* gain, matrix<S> stats, matrix<Dy> dy,
                         matrix<R> residual, matrix<Dx> dx) {
  ctx.note("norm_backward_input", 11 * motet::detail::elements_in(x),
           motet::detail::bytes_in(x) + motet::detail::bytes_in(stats) + motet::detail::bytes_in(dy) + motet::detail::bytes_in(residual) +
               motet::detail::bytes_in(dx));
  if (ctx.measuring()) return;
  using from = std::remove_const_t<X>;
  using slope = std::remove_const_t<Dy>;
  using beside = std::remove_const_t<R>;
  using number = motet::detail::arithmetic<X, M, Dy, Dx>;
  constexpr int size = run_size<from, M, slope, beside, Dx>;
  const matrix<X> own = detail::rows_of(seq, x);
  const bool packed = in_runs<size>(x) && in_runs<size>(dy) && in_runs<size>(residual) && in_runs<size>(dx) && in_runs<size>(gain, x.width);
  detail::for_row_shape<size, number>(own.rows, own.width, packed, 2, [&](auto shape) {
    using s = decltype(shape);
    launch(ctx.stream(), shape.over,
           detail::norm_rows_backward<number, s::size, s::runs, s::block, from, M, std::remove_const_t<S>, slope, beside, Dx>{
               kind == norm_kind::layer, own, gain, stats, dy, residual, dx});
  });
}

// Floor: x and dy are read once.
template <class X, class S, class Dy, class M>
void norm_backward_weight(context& ctx, norm_kind kind, matrix<X> x, matrix<S> stats, matrix<Dy> dy, M* dgain, std::type_identity_t<M>* dbias) {
  static_cast<void>(kind);
  ctx.note("norm_backward_weight", 4 * motet::detail::elements_in(x),
           motet::detail::bytes_in(x) + motet::detail::bytes_in(stats) + motet::detail::bytes_in(dy));
  using from = std::remove_const_t<X>;
  using slope = std::remove_const_t<Dy>;
  constexpr int size = run_size<from, slope>;
  sum_groups<size>(ctx, detail::norm_weight_values<motet::detail::arithmetic<X, M, Dy>, from, std::remove_const_t<S>, slope>{x, stats, dy},
                   detail::all_rows{x.rows}, detail::add_sums<M>{dgain, dbias, 0}, x.width, x.rows == 0 ? 0 : 1, x.rows,
                   in_runs<size>(x) && in_runs<size>(dy));
}

}  // namespace motet::cuda
