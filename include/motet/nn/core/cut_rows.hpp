// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/layer.hpp>

#include <type_traits>

// Layers that tensor parallelism cuts have this in common (Shoeybi et al., "Megatron-LM"; Korthikanti et al.,
// "Reducing Activation Recomputation"). Each rank owns some samples. A cut layer gathers the rows of all
// members, computes its own heads or hidden units for all of them, and the sums over members go back to the
// owners of the rows.
namespace motet::cut_rows {

template <class T>
constexpr matrix<T> some_rows(matrix<T> of, interval rows) {
  return of ? of.slice(rows.begin, rows.size()) : of;
}
// New memory for the rows of all members.
template <class T, isize Width, class C>
view<T, Width> room(C& ctx) {
  return ctx.memory.template take_rows<T, Width>(rows_of_all(ctx).rows());
}

// The rows of all members, in new memory. They are converted first, so that no more bytes move than products
// read.
template <class T, isize Width, class C, class X>
view<T, Width> gather(C& ctx, view<X, Width> x) {
  const auto all = room<T, Width>(ctx);
  gather_rows(ctx, x, all);
  return all;
}

// The same, into memory that is there, with a product of them: product(samples, rows, these rows), called
// once for all rows, is given some at a time while others come, where the plan exchanges pieces. It computes
// each row from itself.
template <class C, class X, class Y, isize Width, class Product>
void gather_for(C& ctx, view<X, Width> x, view<Y, Width> all, Product&& product) {
  gather_rows(ctx, x, all, [&](const sequences& some, interval rows) {
    product(some, rows, some_rows(matrix<Y>(all), rows));
  });
}
// The same in new memory.
template <class T, isize Width, class C, class X, class Product>
view<T, Width> gather_for(C& ctx, view<X, Width> x, Product&& product) {
  const auto all = room<T, Width>(ctx);
  gather_for(ctx, x, all, product);
  return all;
}
// The same with meanwhile(), which does not read them, while they come.
template <class T, isize Width, class C, class X, class Meanwhile>
view<T, Width> gather_beside(C& ctx, view<X, Width> x, Meanwhile&& meanwhile) {
  const auto all = room<T, Width>(ctx);
  gather_rows_beside(ctx, x, all, meanwhile);
  return all;
}

// Members may add more to the sums than a product: more(samples, rows, these rows of the partial sums), once
// for all rows, some at a time; others add nothing.
struct nothing_more {
  void operator()(const sequences&, const auto&...) const {}
};
template <bool Wanted, class More>
constexpr auto more_if(More more) {
  if constexpr (Wanted) return more;
  else return nothing_more{};
}

// y = residual + the sum over members of what make(samples, rows, these rows of partial) makes and more()
// adds, some rows at a time.
template <isize Width, class C, class P, class R, class Y, class Make, class More>
void sum_made(C& ctx, view<P, Width> partial, matrix<R> residual, view<Y, Width> y, Make&& make,
              More&& more) {
  scatter_sum_rows(ctx, partial, residual, y, [&](const sequences& seq, interval rows) {
    make(seq, rows, some_rows(matrix<P>(partial), rows));
    more(seq, rows, some_rows(matrix<P>(partial), rows));
  });
}

// y = residual + the sum over members of x weight^T + bias, which the first member adds.
template <isize Width, class C, class X, class M, class R, class Y, class More = nothing_more>
void forward_sum(C& ctx, tensor_cut cut, matrix<X> x, matrix<const M> weight, const M* bias,
                 view<R, Width> residual, view<Y, Width> y, More&& more = {}) {
  const isize mark = ctx.memory.mark();
  const auto partial = room<Y, Width>(ctx);
  sum_made(
      ctx, partial, matrix<R>(residual), y,
      [&](const sequences& some, interval rows, auto to) {
        linear_forward(ctx, some, some_rows(x, rows), weight, cut.shard == 0 ? bias : nullptr, to);
      },
      more);
  release(ctx, mark);
}

// dx = the sum over members of dy weight.
template <isize Width, class C, class D, class M, class X, class More = nothing_more>
void backward_sum(C& ctx, matrix<D> dy, matrix<const M> weight, view<X, Width> dx, More&& more = {}) {
  const isize mark = ctx.memory.mark();
  const auto partial = room<X, Width>(ctx);
  sum_made(
      ctx, partial, matrix<const X>{}, dx,
      [&](const sequences& some, interval rows, auto to) {
        linear_backward_input(ctx, some, some_rows(dy, rows), weight, to);
      },
      more);
  release(ctx, mark);
}

// Rows of a width that is known at run time.
template <class T, class C>
matrix<T> take(C& ctx, const sequences& seq, isize width) {
  return {ctx.memory.template take<T>(seq.rows() * width), seq.rows(), width, width};
}

}  // namespace motet::cut_rows
