// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/experts/dispatch.hpp>

// Rows on their way to the experts and back.

namespace motet::cuda {

// Rows where those of all ranks are kept; none for a rank alone, whose own are at hand.
template <class T, class Real>
matrix<T> take_arrived(context& ctx, const dispatched<Real>& to, isize width) {
  return {ctx.memory.take<T>(to.most_arrived * width), to.most_arrived, width, width};
}
// The positions get their rows, of x or of what came; those that no choice has stay as they are.
template <class Real, class X, class A, class Y>
void sort_rows(context& ctx, const dispatched<Real>& to, matrix<X> x, matrix<A> arrived, matrix<Y> sorted) {
  ctx.note("sort_rows", 0, 2 * bytes_in(sorted));
  if (ctx.measuring()) return;
  if (to.alone()) detail::spread_rows_to(ctx, to.sorted, x, sorted);
  else detail::spread_rows_to(ctx, to.sorted, arrived, sorted);
}
// Rows go to their experts.
template <class Real, class X, class A, class Y>
void to_experts(context& ctx, const dispatched<Real>& to, matrix<X> x, matrix<A> arrived, matrix<Y> sorted) {
  if (!to.alone() && !ctx.measuring()) detail::bring_rows(ctx, to, x, arrived);
  sort_rows(ctx, to, x, arrived, sorted);
}

// Results of experts go back to the rows: y = residual + the sum over a row's experts, weighed with the gates
// or as it is.
template <class Real, class X, class R, class Y>
void from_experts(context& ctx, const sequences&, const dispatched<Real>& to, matrix<X> sorted, bool weighed,
                  matrix<R> residual, matrix<Y> y) {
  ctx.note("from_experts", 2 * elements_in(sorted), bytes_in(sorted) + bytes_in(y));
  const choice<Real>* const gates = weighed ? to.arrived.data : nullptr;
  if (to.alone()) {
    if (!ctx.measuring())
      detail::collect_rows(ctx, to.sorted.position.data, to.top_k, sorted, gates, residual, y);
    return;
  }
  using element = std::remove_const_t<X>;
  const isize mark = ctx.memory.mark();
  const auto sums = take_arrived<element>(ctx, to, y.width);
  const matrix<element> returned{ctx.memory.take<element>(to.most_sent * y.width), to.most_sent, y.width,
                                 y.width};
  if (!ctx.measuring()) {
    detail::collect_rows(ctx, to.sorted.position.data, to.top_k, sorted, gates, matrix<const element>{},
                         sums);
    detail::return_rows(ctx, to, sums, returned);
    detail::collect_rows(ctx, nullptr, to.ranks, returned, static_cast<const choice<Real>*>(nullptr),
                         residual, y);
  }
  release(ctx, mark);
}

// Gradients of gates go back from the positions to the choices; those of choices without a position are zero.
template <class Real>
void gates_from_experts(context& ctx, const sequences&, const dispatched<Real>& to, const Real* sorted,
                        matrix<Real> d_gate) {
  ctx.note("gates_from_experts", 0, 2 * bytes_in(d_gate));
  // A choice is a row of one number that has one position.
  const auto pick = [&](matrix<Real> out) {
    const matrix<const Real> from{sorted, to.sorted.most, 1, 1};
    detail::collect_rows(ctx, to.sorted.position.data, 1, from, static_cast<const choice<Real>*>(nullptr),
                         matrix<const Real>{}, matrix<Real>{out.data, out.rows * out.width, 1, 1});
  };
  if (to.alone()) {
    if (!ctx.measuring()) pick(d_gate);
    return;
  }
  const isize mark = ctx.memory.mark();
  const auto picked = take_arrived<Real>(ctx, to, to.top_k);
  const matrix<Real> returned{ctx.memory.take<Real>(to.most_sent * to.top_k), to.most_sent, to.top_k,
                              to.top_k};
  if (!ctx.measuring()) {
    pick(picked);
    detail::return_rows(ctx, to, picked, returned);
    // Each choice went to one rank; the others say zero.
    detail::collect_rows(ctx, nullptr, to.ranks, returned, static_cast<const choice<Real>*>(nullptr),
                         matrix<const Real>{}, d_gate);
  }
  release(ctx, mark);
}

}  // namespace motet::cuda
