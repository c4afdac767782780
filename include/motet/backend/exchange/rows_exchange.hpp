// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/core/scratch_scope.hpp>
#include <motet/backend/core/step_costs.hpp>
#include <motet/backend/groups/microbatch_spread.hpp>

#include <cassert>
#include <cstddef>
#include <span>
#include <type_traits>

// Rows change between whole samples, each on one member of the context group, and parts of all samples, on
// every member. Each element moves once; either way is the other's transpose. A back end brings, found by its
// context:
//   host_numbers(ctx, count)
//       some numbers in memory of the host, as a span or a vector
//   order_of_parts(ctx, samples, first)
//       says where rows of samples of the microbatch lie, of which that is the first: it copies rows of whole
//       samples to where part lies behind part, by to_parts(ctx, samples, packed), and back, by
//       to_samples(ctx, packed, samples)

namespace motet {
namespace detail {

// The bytes that go each way between the order of samples, by part, and the order of parts, by who has the
// samples.
struct exchange_counts {
  std::span<isize> by_part, by_owner;
  // `room` is for two numbers of each member.
  exchange_counts(const microbatch_spread& is, isize row_bytes, std::span<isize> room)
      : by_part(room.first(as_size(is.context.size()))), by_owner(room.subspan(by_part.size())) {
    for (std::size_t m = 0; m < by_part.size(); ++m) {
      by_part[m] = is.rows_of_part(is.mine, is.first_mine, static_cast<isize>(m)) * row_bytes;
      by_owner[m] = is.owned_rows[m] * row_bytes;
    }
  }
};

// Once all threads are there, one of them talks for all.
template <class Context, class From, class To>
void all_to_all(Context& ctx, const any_group& group, const From* from, std::span<const isize> from_bytes,
                To* to, std::span<const isize> to_bytes) {
  synchronize(ctx);
  if (ctx.thread == 0)
    group.all_to_all(reinterpret_cast<const std::byte*>(from), from_bytes, reinterpret_cast<std::byte*>(to),
                     to_bytes);
}

}  // namespace detail

// y (the rows of blocks) = x (whole samples), in other hands.
template <class Context, class X, class Y>
void rows_to_parts(Context& ctx, matrix<X> x, matrix<Y> y) {
  static_assert(std::is_same_v<std::remove_const_t<X>, Y>, "motet: an exchange of rows keeps their type");
  const auto section = enter(ctx, "exchange rows");
  ctx.note("rows_to_parts", 0, bytes_in(x) + bytes_in(y), flops_of::exchanges);
  const microbatch_spread& is = *ctx.shared;
  const isize mark = ctx.memory.mark();
  const scratch_scope scope(ctx);
  const matrix<Y> packed{ctx.memory.template take<Y>(x.rows * x.width), x.rows, x.width, x.width};  // by part
  auto room = host_numbers(ctx, 2 * is.context.size());
  const auto order = order_of_parts(ctx, is.mine, is.first_mine);
  if (!ctx.measuring()) {
    assert(y.stride == y.width && x.rows == is.mine.rows() && y.rows == is.own.rows());
    const detail::exchange_counts counts(is, x.width * static_cast<isize>(sizeof(Y)), room);
    order.to_parts(ctx, x, packed);
    detail::all_to_all(ctx, is.context, packed.data, counts.by_part, y.data, counts.by_owner);
  }
  release(ctx, mark);
}

// The way back: y (whole samples) = x (the rows of blocks).
template <class Context, class X, class Y>
void rows_to_samples(Context& ctx, matrix<X> x, matrix<Y> y) {
  static_assert(std::is_same_v<std::remove_const_t<X>, Y>, "motet: an exchange of rows keeps their type");
  const auto section = enter(ctx, "exchange rows");
  ctx.note("rows_to_samples", 0, bytes_in(x) + bytes_in(y), flops_of::exchanges);
  const microbatch_spread& is = *ctx.shared;
  const isize mark = ctx.memory.mark();
  const scratch_scope scope(ctx);
  const matrix<Y> packed{ctx.memory.template take<Y>(y.rows * y.width), y.rows, y.width, y.width};  // by part
  auto room = host_numbers(ctx, 2 * is.context.size());
  const auto order = order_of_parts(ctx, is.mine, is.first_mine);
  if (!ctx.measuring()) {
    assert(x.stride == x.width && y.rows == is.mine.rows() && x.rows == is.own.rows());
    const detail::exchange_counts counts(is, x.width * static_cast<isize>(sizeof(Y)), room);
    detail::all_to_all(ctx, is.context, x.data, counts.by_owner, packed.data, counts.by_part);
    synchronize(ctx);
    order.to_samples(ctx, packed, y);
  }
  release(ctx, mark);
}

}  // namespace motet
