// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/group_sums.hpp>
#include <motet/backend/cuda/kernels/row_walk.hpp>
#include <motet/backend/cuda/kernels/samples.hpp>
#include <motet/nn/core/operations.hpp>

#include <algorithm>
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
    for_rows<N, Runs, Block>(self, x.rows, x.width, [&](isize r, const auto& part) {
      const held_row<T, N, Runs, X> row(part, x.row(r));
      T mean = 0;
      if (centred) {
        T sum[1] = {};
        part.each([&](int k, isize column) {
          const auto v = row.at(k, column);
          MOTET_UNROLLED
          for (int i = 0; i < N; ++i) sum[0] += v.of[i];
        });
        row_sums<Block>(self, sum, scratch);
        mean = sum[0] * share;
      }
      T square[1] = {};
      part.each([&](int k, isize column) {
        const auto v = row.at(k, column);
        MOTET_UNROLLED
        for (int i = 0; i < N; ++i) square[0] += (v.of[i] - mean) * (v.of[i] - mean);
      });
      row_sums<Block>(self, square, scratch);
      const T scale = T(1) / std::sqrt(square[0] * share + epsilon);
      part.each([&](int k, isize column) {
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

// dx = residual + scale * (g - mean(g) - u * mean(g u)), where g = dy * gain and u = (x - mean) * scale;
// layer norm alone has the middle term. A block goes from row to row, and each of its threads keeps to its
// columns; so it adds up gradients of gain and bias beside, in registers where rows are not too wide, else in
// the block's own line of `sums`.
template <class T, int N, int Runs, class X, class M, class S, class Dy, class R, class Dx, class V>
struct norm_rows_backward {
  static constexpr int most_threads = 512;
  static constexpr int kept = Runs > 0 ? Runs : 1;
  bool centred;
  matrix<const X> x;
  const M* gain;
  matrix<const S> stats;
  matrix<const Dy> dy;
  matrix<const R> residual;
  matrix<Dx> dx;
  norm_also<V, M> also;

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    T* const scratch = self.template shared<T>(2 * warp_size);
    const T share = T(1) / static_cast<T>(x.width);
    const row_part<N, Runs> part{self.thread(), self.threads(), x.width};
    run<T, N> gains[kept] = {}, dgain[kept] = {}, dbias[kept] = {};
    if constexpr (Runs > 0) part.each([&](int k, isize column) { gains[k] = load_run<T, N>(gain + column); });
    else
      part.each(
          [&](int, isize column) { add_to_line(self.block(), column, run<T, N>{}, run<T, N>{}, false); });
    for (isize r = self.block(); r < x.rows; r += self.blocks()) {
      const held_row<T, N, Runs, X> from(part, x.row(r));
      const held_row<T, N, Runs, Dy> slope(part, dy.row(r));
      const T mean = static_cast<T>(stats.row(r)[0]), scale = static_cast<T>(stats.row(r)[1]);
      // These are asked for before the sums are awaited.
      run<T, N> beside[kept] = {};
      if constexpr (Runs > 0)
        if (residual.data != nullptr)
          part.each([&](int k, isize column) { beside[k] = load_run<T, N>(residual.row(r) + column); });
      T sums[2] = {};  // of g, of g (x - mean)
      part.each([&](int k, isize column) {
        const auto v = from.at(k, column), d = slope.at(k, column), g = gain_at(gains[k], column);
        MOTET_UNROLLED
        for (int i = 0; i < N; ++i) {
          const T along = d.of[i] * g.of[i];
          sums[0] += along;
          sums[1] += along * (v.of[i] - mean);
        }
      });
      row_sums<true>(self, sums, scratch);
      // dx = residual + scale * g + (x - mean) * turn + shift
      const T turn = -scale * scale * scale * sums[1] * share,
              shift = centred ? -scale * sums[0] * share : T(0);
      part.each([&](int k, isize column) {
        const auto v = from.at(k, column), d = slope.at(k, column), g = gain_at(gains[k], column);
        run<T, N> made, unit, along;
        MOTET_UNROLLED
        for (int i = 0; i < N; ++i) {
          const T off = v.of[i] - mean;
          unit.of[i] = off * scale;
          along.of[i] = d.of[i] * unit.of[i];
          made.of[i] = off * turn + (d.of[i] * g.of[i] * scale + shift);
        }
        if constexpr (Runs == 0)
          if (residual.data != nullptr) beside[0] = load_run<T, N>(residual.row(r) + column);
        MOTET_UNROLLED
        for (int i = 0; i < N; ++i) made.of[i] += beside[k].of[i];
        store_run(dx.row(r) + column, made);
        if (also.rounded.data != nullptr) store_run(also.rounded.row(r) + column, made);
        if (also.normed.data != nullptr) store_normed(r, column, unit, g);
        if constexpr (Runs == 0) {
          add_to_line(self.block(), column, along, d, true);
        } else {
          MOTET_UNROLLED
          for (int i = 0; i < N; ++i) dgain[k].of[i] += along.of[i], dbias[k].of[i] += d.of[i];
        }
      });
    }
    if constexpr (Runs > 0)
      part.each([&](int k, isize column) { add_to_line(self.block(), column, dgain[k], dbias[k], false); });
  }

 private:
  MOTET_HOST_DEVICE run<T, N> gain_at(const run<T, N>& held, isize column) const {
    if constexpr (Runs > 0) return held;
    else return load_run<T, N>(gain + column);
  }
  MOTET_HOST_DEVICE void store_normed(isize r, isize column, run<T, N> unit, const run<T, N>& g) const {
    MOTET_UNROLLED
    for (int i = 0; i < N; ++i) unit.of[i] *= g.of[i];
    if (also.bias != nullptr) {
      const auto b = load_run<T, N>(also.bias + column);
      MOTET_UNROLLED
      for (int i = 0; i < N; ++i) unit.of[i] += b.of[i];
    }
    store_run(also.normed.row(r) + column, unit);
  }
  // A line of sums has those for the gain, then those for the bias. No other thread touches these columns of
  // it.
  MOTET_HOST_DEVICE void add_to_line(isize line, isize column, run<T, N> of_gain, run<T, N> of_bias,
                                     bool to_old) const {
    if (also.sums.data == nullptr) return;
    M *const first = also.sums.row(line) + column, *const second = first + x.width;
    if (to_old) {
      const auto a = load_run<T, N>(first), b = load_run<T, N>(second);
      MOTET_UNROLLED
      for (int i = 0; i < N; ++i) of_gain.of[i] += a.of[i], of_bias.of[i] += b.of[i];
    }
    store_run(first, of_gain);
    store_run(second, of_bias);
  }
};

// The shape says how rows are shared out: a thread has 8 columns, and the blocks are as many as an H200 runs
// at once, whose multiprocessors have registers for 768 threads of mixed_bf16. These are fixed numbers, so
// that the order of sums follows from the shape alone.
struct norm_backward_shape {
  static constexpr isize columns = 8, most_width = 512 * columns;
  int threads;
  isize blocks;
  norm_backward_shape(isize rows, isize width)
      : threads(static_cast<int>(
            std::clamp<isize>(round_up((width + columns - 1) / columns, warp_size), warp_size, 512))),
        blocks(std::min<isize>((rows + 3) / 4, 132 * (768 / threads))) {}
};

}  // namespace detail

// Layer norm: y = (x - mean) / deviation * gain + bias. Root-mean-square norm: the same with mean 0.
// Floor: x is read once, y and the statistics are written once; gain and bias stay in the cache.
template <class X, class M, class Y, class S>
void norm_forward(context& ctx, const sequences& seq, norm_kind kind, matrix<X> x, const M* gain,
                  const std::type_identity_t<M>* bias, double epsilon, matrix<Y> y, matrix<S> stats) {
  ctx.note("norm_forward", 8 * elements_in(x), bytes_in(x) + bytes_in(y) + bytes_in(stats));
  if (ctx.measuring()) return;
  using element = std::remove_const_t<X>;
  using number = arithmetic<X, M, Y>;
  constexpr int size = run_size<element, M, Y>;
  const matrix<X> own = rows_of(seq, x);
  const bool packed =
      in_runs<size>(x) && in_runs<size>(y) && in_runs<size>(gain, x.width) && in_runs<size>(bias, x.width);
  for_row_shape<size, number>(own.rows, own.width, packed, 1, [&](auto shape) {
    using s = decltype(shape);
    launch(ctx.stream(), shape.over,
           detail::norm_rows<number, s::size, s::runs, s::block, element, M, Y, S>{
               kind == norm_kind::layer, own, gain, bias, static_cast<number>(epsilon), y, stats});
  });
}

// A line for each block of backward's input part: of gradients of the gain, then of the bias.
template <class M>
matrix<M> norm_sums(context& ctx, isize rows, isize width) {
  const isize lines = detail::norm_backward_shape(rows, width).blocks;
  return {ctx.memory.take<M>(lines * 2 * width), lines, 2 * width, 2 * width};
}

// dx may be the memory of dy or of the residual, which may be empty. Floor: x, dy and the residual are read
// once, dx and what else is wanted are written once. Sums are at most 6.5 MB of floats, whatever the rows.
template <class X, class M, class S, class Dy, class R, class Dx, class V = std::remove_const_t<Dx>>
void norm_backward_input(context& ctx, const sequences& seq, norm_kind kind, matrix<X> x, const M* gain,
                         matrix<S> stats, matrix<Dy> dy, matrix<R> residual, matrix<Dx> dx,
                         const norm_also<V, M>& also = {}) {
  ctx.note("norm_backward_input",
           11 * elements_in(x) + 3 * elements_in(also.normed) + (also.sums ? 3 * elements_in(x) : 0),
           bytes_in(x) + bytes_in(stats) + bytes_in(dy) + bytes_in(residual) + bytes_in(dx) +
               bytes_in(also.normed) + bytes_in(also.rounded) + bytes_in(also.sums));
  const matrix<X> own = rows_of(seq, x);
  if (ctx.measuring() || own.rows == 0 || own.width == 0) return;
  using from = std::remove_const_t<X>;
  using slope = std::remove_const_t<Dy>;
  using beside = std::remove_const_t<R>;
  using number = arithmetic<X, M, Dy, Dx>;
  static_assert(std::is_same_v<number, arithmetic<M>>,
                "motet: sums of gradients have the type of the weights");
  constexpr int size = run_size<from, M, slope, beside, Dx, V>;
  const bool packed = in_runs<size>(x) && in_runs<size>(dy) && in_runs<size>(residual) && in_runs<size>(dx) &&
                      in_runs<size>(gain, x.width) && in_runs<size>(also.normed) &&
                      in_runs<size>(also.rounded) && in_runs<size>(also.bias, x.width);
  const detail::norm_backward_shape shape(own.rows, own.width);
  const auto run = [&]<int N, int Runs>() {
    launch(ctx.stream(), {shape.blocks, shape.threads, 2 * block_scratch<number>},
           detail::norm_rows_backward<number, N, Runs, from, M, std::remove_const_t<S>, slope, beside, Dx, V>{
               kind == norm_kind::layer, own, gain, stats, dy, residual, dx, also});
  };
  constexpr int columns = shape.columns;
  const bool held = own.width <= shape.most_width;
  if (packed)
    return held ? run.template operator()<size, columns / size>() : run.template operator()<size, 0>();
  return held ? run.template operator()<1, columns>() : run.template operator()<1, 0>();
}

// Adds up the lines that the input part left. Floor: they are read once.
template <class X, class S, class Dy, class M>
void norm_backward_weight(context& ctx, norm_kind, matrix<X> x, matrix<S>, matrix<Dy>, matrix<M> sums,
                          M* dgain, std::type_identity_t<M>* dbias) {
  ctx.note("norm_backward_weight", elements_in(sums), bytes_in(sums));
  if (ctx.measuring() || sums.rows == 0 || x.width == 0) return;
  add_chunks(ctx, sums.data, one_group{x.rows}, add_sums<M>{dgain, dbias, 0}, x.width, sums.rows, 1, 2);
}

}  // namespace motet::cuda
