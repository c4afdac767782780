// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/exchange/tensor_rows.hpp>
#include <motet/backend/cuda/experts/grouping.hpp>
#include <motet/nn/core/parameter.hpp>

#include <numeric>
#include <vector>

// Between ranks all rows go to all: the sizes of messages are then known to the host before anything is
// routed, which a recorded step asks for. A row comes to ranks, too, that have no expert for it; it gets no
// position there. What moves is ranks / (ranks that a row needs) of what would have to.

namespace motet::cuda {
namespace detail {

// Rows of all ranks that share the experts, a tensor group or replicas: those of blocks, or one for each
// sample.
struct shared_rows {
  const any_group& group;
  const std::vector<isize>& samples;
  const std::vector<isize>& of;  // each member
  isize all = 0, first = 0, own = 0;

  template <class Real>
  shared_rows(const context& ctx, const dispatched<Real>& to)
      : group(to.over_replicas ? ctx.shared->experts : ctx.shared->tensor),
        samples(to.over_replicas ? ctx.shared->expert_samples : ctx.shared->tensor_samples),
        of(to.of_samples      ? samples
           : to.over_replicas ? ctx.shared->expert_rows
                              : ctx.shared->tensor_rows) {
    const auto me = as_size(group.member());
    for (std::size_t m = 0; m < of.size(); ++m) {
      if (m < me) first += of[m];
      all += of[m];
    }
    if (me < of.size()) own = of[me];
  }
  isize all_samples() const { return std::reduce(samples.begin(), samples.end()); }
  std::vector<isize> bytes(isize row_bytes) const {
    std::vector<isize> out;
    out.reserve(of.size());
    for (const isize rows : of) out.push_back(rows * row_bytes);
    return out;
  }
};

// The rows of all ranks, in order of ranks.
template <class Real, class X, class Y>
void bring_rows(context& ctx, const dispatched<Real>& to, matrix<X> x, matrix<Y> arrived) {
  const shared_rows rows(ctx, to);
  const auto own = arrived.slice(rows.first, x.rows);
  convert_rows(ctx, x, own);
  rows.group.all_gather(reinterpret_cast<const std::byte*>(own.data),
                        reinterpret_cast<std::byte*>(arrived.data),
                        rows.bytes(arrived.width * static_cast<isize>(sizeof(Y))));
}
// The way back of what was made of them: each rank gets its own rows from all, (ranks, own rows).
template <class Real, class T>
void return_rows(context& ctx, const dispatched<Real>& to, matrix<T> arrived, matrix<T> returned) {
  const shared_rows rows(ctx, to);
  const isize row_bytes = arrived.width * static_cast<isize>(sizeof(T));
  const std::vector<isize> come(rows.of.size(), rows.own * row_bytes);
  rows.group.all_to_all(reinterpret_cast<const std::byte*>(arrived.data), rows.bytes(row_bytes),
                        reinterpret_cast<std::byte*>(returned.data), come);
}

}  // namespace detail

// Memory is taken for the worst that routing can do: without a bound on capacity all rows of the group may
// choose the experts of one rank.
template <class Real>
void reserve_dispatch(context& ctx, const sequences& seq, const router_shape& shape, tensor_cut cut,
                      dispatched<Real>& to) {
  const tensor_cut held = cut.of_experts();
  const interval experts = held.share(shape.experts);
  const isize k = shape.top_k, rows = seq.rows();
  to = {};
  to.top_k = k;
  to.ranks = held.shards;
  to.over_replicas = cut.over_replicas();
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
  const detail::shared_rows all(ctx, to);
  to.most_sent = rows * to.ranks;
  to.most_arrived = all.all;
  to.most_sorted = shape.most_choices(all.all, all.all_samples(), experts.size());
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
    const detail::shared_rows rows(ctx, to);
    rows.group.all_gather(reinterpret_cast<const std::byte*>(chosen.data),
                          reinterpret_cast<std::byte*>(to.arrived.data),
                          rows.bytes(to.top_k * static_cast<isize>(sizeof(choice<Real>))));
  }
  if (!ctx.measuring()) to.sorted.count = to.most_sorted;  // the host knows no better
  detail::sort_choices(ctx, matrix<const choice<Real>>(to.arrived), to.first, to.sorted);
}

}  // namespace motet::cuda
