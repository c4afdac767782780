// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>
#include <motet/backend/groups/microbatch_spread.hpp>

#include <algorithm>

// Rows of a tensor group meet here. The first thread of a team speaks for its rank.

namespace motet::cpu {
namespace detail {

// The elements of each member's rows, in scratch memory, and the first row of this one.
struct member_parts {
  std::span<isize> elements;
  isize first_row = 0;
};
inline member_parts parts_of_members(context& ctx, isize width, isize each) {
  const auto& rows = ctx.shared->tensor_rows;
  member_parts parts{{ctx.scratch.take<isize>(static_cast<isize>(rows.size())), rows.size()}};
  if (ctx.measuring()) return parts;
  for (std::size_t m = 0; m < rows.size(); ++m) {
    parts.elements[m] = rows[m] * width * each;
    if (static_cast<std::int32_t>(m) < ctx.shared->tensor.member()) parts.first_row += rows[m];
  }
  return parts;
}

// y = x, converting; numbers that are not computed with, such as those of tokens, are only copied.
template <class X, class Y>
void bring_rows(matrix<X> x, matrix<Y> y) {
  if constexpr (std::is_integral_v<Y>) {
    static_assert(std::is_same_v<std::remove_const_t<X>, Y>, "motet: whole numbers are gathered as they are");
    for (isize r = 0; r < x.rows; ++r) std::copy_n(x.row(r), x.width, y.row(r));
  } else {
    convert_rows(x, y);
  }
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
  const scratch_scope scope(ctx);
  const auto parts = detail::parts_of_members(ctx, all.width, static_cast<isize>(sizeof(Y)));
  if (ctx.measuring()) return;
  synchronize(ctx);
  if (ctx.thread == 0) {
    detail::bring_rows(x, all.slice(parts.first_row, x.rows));
    ctx.shared->tensor.all_gather(reinterpret_cast<const std::byte*>(all.row(parts.first_row)),
                                  reinterpret_cast<std::byte*>(all.data), parts.elements);
  }
  synchronize(ctx);
}

// y = residual + own rows of the sum of all members' partial, which has no stride and is used up. It is
// summed in the order of members.
template <class P, class R, class Y>
void scatter_sum_rows(context& ctx, matrix<P> partial, matrix<R> residual, matrix<Y> y) {
  const section_scope section(ctx, "sum rows");
  ctx.note("scatter_sum_rows", elements_in(partial), bytes_in(partial) + bytes_in(residual) + bytes_in(y),
           flops_of::summed_rows);
  const scratch_scope scope(ctx);
  const auto parts = detail::parts_of_members(ctx, partial.width, 1);
  if (ctx.measuring()) return;
  synchronize(ctx);
  if (ctx.thread == 0) {
    const auto own = partial.slice(parts.first_row, y.rows);
    ctx.shared->tensor.reduce_scatter_sum(static_cast<const P*>(partial.data), own.data,
                                          std::span<const isize>(parts.elements));
    if (residual) sum_rows(own, residual, y);
    else convert_rows(own, y);
  }
  synchronize(ctx);
}

}  // namespace motet::cpu
