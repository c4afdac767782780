// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/backend/cuda/kernels/row_moves.hpp>
#include <motet/backend/groups/microbatch_spread.hpp>

#include <vector>

// Rows of a tensor group meet here. Calls on a group take memory of the GPU, and their work is in the order
// of the rank's stream.

namespace motet::cuda {
namespace detail {

// The elements of each member's rows, and the first row of this one.
struct member_parts {
  std::vector<isize> elements;
  isize first_row = 0;
};
inline member_parts parts_of_members(const context& ctx, isize width, isize each) {
  member_parts parts;
  for (const isize rows : ctx.shared->tensor_rows) {
    if (static_cast<std::int32_t>(parts.elements.size()) < ctx.shared->tensor.member())
      parts.first_row += rows;
    parts.elements.push_back(rows * width * each);
  }
  return parts;
}

}  // namespace detail

// The rows of all members, as they lie when gathered.
inline const sequences& rows_of_all(const context& ctx) {
  if (ctx.shared == nullptr)
    fail(cut_but_alone, "a layer holds a part of its parameters, and its context has no spread");
  return ctx.shared->part;
}

// all = the rows of all members. x may have a stride, `all` has none.
template <class X, class Y>
void gather_rows(context& ctx, matrix<X> x, matrix<Y> all) {
  const section_scope section(ctx, "gather rows");
  ctx.note("gather_rows", 0, bytes_in(x) + bytes_in(all), flops_of::gathers);
  if (ctx.measuring()) return;
  const auto parts = detail::parts_of_members(ctx, all.width, static_cast<isize>(sizeof(Y)));
  convert_rows(ctx, x, all.slice(parts.first_row, x.rows));
  ctx.shared->tensor.all_gather(reinterpret_cast<const std::byte*>(all.row(parts.first_row)),
                                reinterpret_cast<std::byte*>(all.data), parts.elements);
}

// y = residual + own rows of the sum of all members' partial, which has no stride and is used up. It is
// summed in the order of members.
template <class P, class R, class Y>
void scatter_sum_rows(context& ctx, matrix<P> partial, matrix<R> residual, matrix<Y> y) {
  const section_scope section(ctx, "sum rows");
  ctx.note("scatter_sum_rows", elements_in(partial), bytes_in(partial) + bytes_in(residual) + bytes_in(y),
           flops_of::summed_rows);
  if (ctx.measuring()) return;
  const auto parts = detail::parts_of_members(ctx, partial.width, 1);
  const auto own = partial.slice(parts.first_row, y.rows);
  ctx.shared->tensor.reduce_scatter_sum(static_cast<const P*>(partial.data), own.data,
                                        std::span<const isize>(parts.elements));
  if (residual) sum_rows(ctx, own, residual, y);
  else convert_rows(ctx, own, y);
}

}  // namespace motet::cuda
