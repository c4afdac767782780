// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/layer.hpp>

// Layers that tensor parallelism cuts have this in common (Shoeybi et al., "Megatron-LM"; Korthikanti et al.,
// "Reducing Activation Recomputation"). Each rank owns some samples. A cut layer gathers the rows of all
// members, computes its own heads or hidden units for all of them, and the sums over members go back to the
// owners of the rows.
namespace motet::cut_rows {

// The rows of all members, in new memory. They are converted first, so that no more bytes move than products
// read.
template <class T, isize Width, class C, class X>
view<T, Width> gather(C& ctx, view<X, Width> x) {
  const auto all = ctx.memory.template take_rows<T, Width>(rows_of_all(ctx).rows());
  gather_rows(ctx, x, all);
  return all;
}

// Members may add more to the sums than a product: more(rows of all, partial sums); others add nothing.
struct nothing_more {
  void operator()(const sequences&, const auto&...) const {}
};

// y = residual + the sum over members of x weight^T + bias, which the first member adds.
template <isize Width, class C, class X, class M, class R, class Y, class More = nothing_more>
void forward_sum(C& ctx, tensor_cut cut, matrix<X> x, matrix<const M> weight, const M* bias,
                 view<R, Width> residual, view<Y, Width> y, More&& more = {}) {
  const sequences all = rows_of_all(ctx);
  const isize mark = ctx.memory.mark();
  const auto partial = ctx.memory.template take_rows<Y, Width>(all.rows());
  linear_forward(ctx, all, x, weight, cut.shard == 0 ? bias : nullptr, partial);
  more(all, partial);
  scatter_sum_rows(ctx, partial, residual, y);
  release(ctx, mark);
}

// dx = the sum over members of dy weight.
template <isize Width, class C, class D, class M, class X, class More = nothing_more>
void backward_sum(C& ctx, matrix<D> dy, matrix<const M> weight, view<X, Width> dx, More&& more = {}) {
  const sequences all = rows_of_all(ctx);
  const isize mark = ctx.memory.mark();
  const auto partial = ctx.memory.template take_rows<X, Width>(all.rows());
  linear_backward_input(ctx, all, dy, weight, partial);
  more(all, partial);
  scatter_sum_rows(ctx, partial, matrix<const X>{}, dx);
  release(ctx, mark);
}

// Rows of a width that is known at run time.
template <class T, class C>
matrix<T> take(C& ctx, const sequences& seq, isize width) {
  return {ctx.memory.template take<T>(seq.rows() * width), seq.rows(), width, width};
}

}  // namespace motet::cut_rows
