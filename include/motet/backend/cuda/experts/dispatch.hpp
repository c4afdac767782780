// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/exchange/tensor_rows.hpp>
#include <motet/backend/cuda/experts/grouping.hpp>
#include <motet/nn/core/parameter.hpp>

// Between ranks all rows go to all: the sizes of messages are then known to the host before anything is
// routed, which a recorded step asks for. A row comes to ranks, too, that have no expert for it; it gets no
// position there. What moves is ranks / (ranks that a row needs) of what would have to.

namespace motet::cuda {
namespace detail {

// Rows of all ranks that share the experts: those of blocks, or one for each sample.
struct shared_rows {
  std::vector<isize> of;  // each member
  isize all = 0, first = 0;

  shared_rows(const context& ctx, bool of_samples)
      : of(of_samples ? ctx.shared->tensor_samples : ctx.shared->tensor_rows) {
    for (std::size_t m = 0; m < of.size(); ++m) {
      if (static_cast<std::int32_t>(m) < ctx.shared->tensor.member()) first += of[m];
      all += of[m];
    }
  }
  std::vector<isize> bytes(isize row_bytes) const {
    std::vector<isize> out;
    out.reserve(of.size());
    for (const isize rows : of) out.push_back(rows * row_bytes);
    return out;
  }
};

// The rows of all ranks, in order of ranks.
template <class X, class Y>
void bring_rows(context& ctx, bool of_samples, matrix<X> x, matrix<Y> arrived) {
  const shared_rows rows(ctx, of_samples);
  const auto own = arrived.slice(rows.first, x.rows);
  convert_rows(ctx, x, own);
  ctx.shared->tensor.all_gather(reinterpret_cast<const std::byte*>(own.data),
                                reinterpret_cast<std::byte*>(arrived.data),
                                rows.bytes(arrived.width * static_cast<isize>(sizeof(Y))));
}
// The way back of what was made of them: each rank gets its own rows from all, (ranks, own rows).
template <class T>
void return_rows(context& ctx, bool of_samples, matrix<T> arrived, matrix<T> returned) {
  const shared_rows rows(ctx, of_samples);
  const isize row_bytes = arrived.width * static_cast<isize>(sizeof(T));
  const std::vector<isize> to(rows.of.size(), rows.of[as_size(ctx.shared->tensor.member())] * row_bytes);
  ctx.shared->tensor.all_to_all(reinterpret_cast<const std::byte*>(arrived.data), rows.bytes(row_bytes),
                                reinterpret_cast<std::byte*>(returned.data), to);
}

}  // namespace detail

// Memory is taken for the worst that routing can do: without a bound on capacity all rows of the group may
// choose the experts of one rank.
template <class Real>
void reserve_dispatch(context& ctx, const sequences& seq, const router_shape& shape, tensor_cut cut,
                      dispatched<Real>& to) {
  const interval experts = cut.share(shape.experts);
  const isize k = shape.top_k, rows = seq.rows();
  to = {};
  to.top_k = k;
  to.ranks = cut.shards;
  to.first = experts.begin;
  const isize even = shape.most_choices(rows, seq.samples, shape.experts);
  if (to.alone()) {
    to.most_sorted = even;
    to.sorted = detail::take_grouping(ctx, experts.size(), rows, k, to.most_sorted);
    to.sorted.count = even;
    return;
  }
  rows_of_all(ctx);  // says so where there is no spread
  const sequences& own = ctx.shared->own;
  // The caller may have other offsets of the same rows; one row for each sample has none.
  to.of_samples = own.offsets != nullptr ? seq.offsets == nullptr : seq.length != own.length;
  const detail::shared_rows all(ctx, to.of_samples);
  to.most_sent = rows * to.ranks;
  to.most_arrived = all.all;
  to.most_sorted = shape.most_choices(all.all, ctx.shared->part.samples, experts.size());
  to.sorted = detail::take_grouping(ctx, experts.size(), to.most_arrived, k, to.most_sorted);
  to.sorted.count = even < to.most_sorted ? even : to.most_sorted;  // in a dry run
  to.arrived = {ctx.memory.take<choice<Real>>(to.most_arrived * k), to.most_arrived, k, k};
}

// Brings the choices to all ranks that share the experts and sorts them by expert. Each rank makes the same
// calls on the group, whatever was chosen.
template <class Real>
void dispatch(context& ctx, const sequences&, const router_shape&, matrix<choice<Real>> chosen,
              dispatched<Real>& to) {
  ctx.note("dispatch", 0, 2 * static_cast<double>(chosen.rows * chosen.width) * bytes_of<choice<Real>>);
  to.came = to.alone() ? chosen.rows : to.most_arrived;
  if (to.alone()) {
    to.arrived = chosen;
  } else if (!ctx.measuring()) {
    const detail::shared_rows rows(ctx, to.of_samples);
    ctx.shared->tensor.all_gather(reinterpret_cast<const std::byte*>(chosen.data),
                                  reinterpret_cast<std::byte*>(to.arrived.data),
                                  rows.bytes(to.top_k * static_cast<isize>(sizeof(choice<Real>))));
  }
  if (!ctx.measuring()) to.sorted.count = to.most_sorted;  // the host knows no better
  detail::sort_choices(ctx, matrix<const choice<Real>>(to.arrived), to.first, to.sorted);
}

}  // namespace motet::cuda
