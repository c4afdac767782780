// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/cuda/device/context.hpp>
#include <motet/backend/cuda/kernels/divisor.hpp>
#include <motet/backend/cuda/kernels/runs.hpp>

// A walk over all runs of N neighbours of some rows. What is done with a run is an operation:
//
//   struct some_operation {
//     template <int N> struct held { run<float, N> x; };
//         what was loaded
//     template <int N> bool load(isize row, isize column, held<N>&) const;
//         false: nothing to do here
//     template <int N> void store(isize row, isize column, held<N>&) const;
//   };
//
// A thread loads four runs before it stores the first, so that enough is under way; what it stores may lie
// where it loaded from.

namespace motet::cuda {
namespace detail {

template <int N, class Operation>
struct each_run {
  static constexpr int most_threads = 256, at_once = 4;
  Operation operation;
  isize first;   // row
  isize rows;    // rows x runs is below 2^31 less what a wave of blocks goes too far
  divisor runs;  // of each row

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const auto total = static_cast<std::uint32_t>(rows) * runs.value();
    const auto threads = static_cast<std::uint32_t>(self.threads());
    const auto step = static_cast<std::uint32_t>(self.blocks()) * threads * at_once;
    for (std::uint32_t at = static_cast<std::uint32_t>(self.block()) * threads * at_once +
                            static_cast<std::uint32_t>(self.thread());
         at < total; at += step) {
      typename Operation::template held<N> kept[at_once];
      bool has[at_once];
      MOTET_UNROLLED
      for (int u = 0; u < at_once; ++u) {
        std::uint32_t rest = at + static_cast<std::uint32_t>(u) * threads;
        has[u] = rest < total;
        if (!has[u]) continue;
        const isize row = first + runs.divide(rest);
        has[u] = operation.template load<N>(row, static_cast<isize>(rest) * N, kept[u]);
      }
      MOTET_UNROLLED
      for (int u = 0; u < at_once; ++u) {
        std::uint32_t rest = at + static_cast<std::uint32_t>(u) * threads;
        if (!has[u]) continue;
        const isize row = first + runs.divide(rest);
        operation.template store<N>(row, static_cast<isize>(rest) * N, kept[u]);
      }
    }
  }
};

}  // namespace detail

inline constexpr isize most_runs = isize{1} << 30;

template <int N, class Operation>
void launch_each_run(context& ctx, const Operation& operation, isize rows, isize width) {
  const isize runs = width / N, at_once = rows == 0 || runs == 0 ? 0 : most_runs / runs;
  for (isize first = 0; first < rows && runs > 0; first += at_once) {
    const isize count = rows - first < at_once ? rows - first : at_once;
    launch(ctx.stream(), {blocks_for(count * runs, 256 * 4), 256, 0},
           detail::each_run<N, Operation>{operation, first, count, divisor(runs)});
  }
}

// Rows that follow each other without a gap are one long row, to an operation that knows no rows.
template <class... X>
void join_rows(matrix<X>&... x) {
  if (!((x.stride == x.width && x.rows * x.width <= most_runs) && ...)) return;
  ((x = {x.data, 1, x.rows * x.width, x.rows * x.width}), ...);
}

// Elements go in runs of Size where `packed` says that all that is touched may, else one by one.
template <int Size, class Operation>
void for_each_run(context& ctx, const Operation& operation, isize rows, isize width, bool packed) {
  if (packed) launch_each_run<Size>(ctx, operation, rows, width);
  else launch_each_run<1>(ctx, operation, rows, width);
}

namespace detail {

// An operation that does no arithmetic says so.
template <class Operation>
inline constexpr bool keeps_type = requires { Operation::keeps_type; };

template <class T, class X, class Y, class Operation>
struct mapped {
  template <int N>
  using held = run<T, N>;
  matrix<const X> x;
  matrix<Y> y;
  Operation operation;
  template <int N>
  MOTET_HOST_DEVICE bool load(isize row, isize column, held<N>& kept) const {
    kept = load_run<T, N>(x.row(row) + column);
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(isize row, isize column, held<N>& kept) const {
    MOTET_UNROLLED
    for (int i = 0; i < N; ++i) kept.of[i] = operation(kept.of[i]);
    store_run(y.row(row) + column, kept);
  }
};
template <class T, class A, class B, class Y, class Operation>
struct mapped_pairs {
  template <int N>
  struct held {
    run<T, N> a, b;
  };
  matrix<const A> a;
  matrix<const B> b;
  matrix<Y> y;
  Operation operation;
  template <int N>
  MOTET_HOST_DEVICE bool load(isize row, isize column, held<N>& kept) const {
    kept = {load_run<T, N>(a.row(row) + column), load_run<T, N>(b.row(row) + column)};
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(isize row, isize column, held<N>& kept) const {
    MOTET_UNROLLED
    for (int i = 0; i < N; ++i) kept.a.of[i] = operation(kept.a.of[i], kept.b.of[i]);
    store_run(y.row(row) + column, kept.a);
  }
};

}  // namespace detail

// y = operation(x), number by number; y may be the memory of x.
template <class X, class Y, class Operation>
void map_numbers(context& ctx, matrix<X> x, matrix<Y> y, const Operation& operation) {
  using element = std::remove_const_t<X>;
  constexpr int size = run_size<element, Y>;
  join_rows(x, y);
  using number =
      std::conditional_t<detail::keeps_type<Operation> && std::is_same_v<element, Y>, Y, arithmetic<X, Y>>;
  for_each_run<size>(ctx, detail::mapped<number, element, Y, Operation>{x, y, operation}, y.rows, y.width,
                     in_runs<size>(x) && in_runs<size>(y));
}
// y = operation(a, b)
template <class A, class B, class Y, class Operation>
void map_numbers(context& ctx, matrix<A> a, matrix<B> b, matrix<Y> y, const Operation& operation) {
  using left = std::remove_const_t<A>;
  using right = std::remove_const_t<B>;
  constexpr int size = run_size<left, right, Y>;
  join_rows(a, b, y);
  using number = arithmetic<A, B, Y>;
  for_each_run<size>(ctx, detail::mapped_pairs<number, left, right, Y, Operation>{a, b, y, operation}, y.rows,
                     y.width, in_runs<size>(a) && in_runs<size>(b) && in_runs<size>(y));
}

}  // namespace motet::cuda
