// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/experts/dispatch.hpp>

// Rows on their way to the experts and back.

namespace motet::cpu {

// Rows where dispatched rows of another rank are kept; none for a rank alone, whose own are at hand.
template <class T, class Real>
matrix<T> take_arrived(context& ctx, const dispatched<Real>& to, isize width) {
  return {ctx.memory.take<T>(to.most_arrived * width), to.most_arrived, width, width};
}
// The positions of this thread get their rows, of x or of what came.
template <class Real, class X, class A, class Y>
void sort_rows(context& ctx, const dispatched<Real>& to, matrix<X> x, matrix<A> arrived, matrix<Y> sorted) {
  ctx.note("sort_rows", 0, 2 * bytes_in(sorted));
  if (ctx.measuring()) return;
  const interval own = ctx.own(to.sorted.each());
  if (to.alone()) detail::spread_rows_to(to.sorted, own, x, sorted);
  else detail::spread_rows_to(to.sorted, own, arrived, sorted);
}
// Rows go to their experts.
template <class Real, class X, class A, class Y>
void to_experts(context& ctx, const dispatched<Real>& to, matrix<X> x, matrix<A> arrived, matrix<Y> sorted) {
  if (to.alone()) synchronize(ctx);
  else detail::send_rows(ctx, to, x, arrived);
  sort_rows(ctx, to, x, arrived, sorted);
}

// Results of experts go back to the rows: y = residual + the sum over a row's experts, weighed with the gates
// or as it is.
template <class Real, class X, class R, class Y>
void from_experts(context& ctx, const sequences& seq, const dispatched<Real>& to, matrix<X> sorted,
                  bool weighed, matrix<R> residual, matrix<Y> y) {
  ctx.note("from_experts", 2 * elements_in(sorted), bytes_in(sorted) + bytes_in(y));
  const choice<Real>* const gates = weighed ? to.arrived.data : nullptr;
  {
    const scratch_scope scope(ctx);  // what collecting takes
    ctx.scratch.take<double>(to.top_k);
    ctx.scratch.take<double>(to.top_k);
  }
  synchronize(ctx);
  if (to.alone()) {
    if (!ctx.measuring()) detail::collect_rows(ctx, to.sorted, ctx.own(seq), sorted, gates, residual, y);
    return;
  }
  const isize mark = ctx.memory.mark();
  const auto sums = take_arrived<X>(ctx, to, y.width);
  const matrix<X> returned{ctx.memory.take<X>(to.most_sent * y.width), to.most_sent, y.width, y.width};
  if (!ctx.measuring())
    detail::collect_rows(ctx, to.sorted, ctx.own(to.arrivals()), sorted, gates, matrix<const X>{}, sums);
  detail::exchange_rows(ctx, to, true, sums, returned);
  if (!ctx.measuring())
    detail::collect_rows(ctx, to.sent, ctx.own(seq), returned, static_cast<const choice<Real>*>(nullptr),
                         residual, y);
  release(ctx, mark);
}

// Gradients of gates go back from the positions to the choices; those of choices without a position are zero.
template <class Real>
void gates_from_experts(context& ctx, const sequences& seq, const dispatched<Real>& to, const Real* sorted,
                        matrix<Real> d_gate) {
  ctx.note("gates_from_experts", 0, 2 * bytes_in(d_gate));
  const auto pick = [&](isize r, Real* out) {
    for (isize j = 0; j < to.top_k; ++j)
      out[j] = to.sorted.position.row(r)[j] >= 0 ? sorted[to.sorted.position.row(r)[j]] : Real(0);
  };
  synchronize(ctx);
  if (to.alone()) {
    if (ctx.measuring()) return;
    const interval own = ctx.own(seq);
    for (isize r = own.begin; r < own.end; ++r) pick(r, d_gate.row(r));
    return;
  }
  const isize mark = ctx.memory.mark();
  const auto picked = take_arrived<Real>(ctx, to, to.top_k);
  const matrix<Real> returned{ctx.memory.take<Real>(to.most_sent * to.top_k), to.most_sent, to.top_k,
                              to.top_k};
  if (!ctx.measuring()) {
    const interval own = ctx.own(to.arrivals());
    for (isize r = own.begin; r < own.end; ++r) pick(r, picked.row(r));
  }
  detail::exchange_rows(ctx, to, true, picked, returned);
  // Each choice went to one rank; the others say zero.
  if (!ctx.measuring())
    detail::collect_rows(ctx, to.sent, ctx.own(seq), returned, static_cast<const choice<Real>*>(nullptr),
                         matrix<const Real>{}, d_gate);
  release(ctx, mark);
}

}  // namespace motet::cpu
