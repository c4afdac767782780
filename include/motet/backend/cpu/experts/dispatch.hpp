// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/exchange/tensor_rows.hpp>
#include <motet/backend/cpu/experts/grouping.hpp>
#include <motet/nn/core/parameter.hpp>

#include <numeric>

namespace motet::cpu {
namespace detail {

// Rows and samples of all ranks that share the experts, where this one has `seq`.
struct rows_of_sharers {
  isize rows = 0, samples = 0;
};
inline rows_of_sharers shared_rows(const context& ctx, const sequences& seq, bool over_replicas) {
  const sequences& part = rows_of_all(ctx);
  const microbatch_spread& is = *ctx.shared;
  rows_of_sharers all{part.rows(), part.samples};
  if (over_replicas)
    all = {std::reduce(is.expert_rows.begin(), is.expert_rows.end()),
           std::reduce(is.expert_samples.begin(), is.expert_samples.end())};
  if (seq.rows() != is.own.rows()) all.rows = all.samples;  // one for each sample
  return all;
}
template <class Real>
const any_group& sharers(const context& ctx, const dispatched<Real>& to) {
  return to.over_replicas ? ctx.shared->experts : ctx.shared->tensor;
}

// Rows by rank to the ranks, or, with `back`, from where they came; one thread speaks for all. Memory of the
// threads is seen before and after.
template <class Real, class T>
void exchange_rows(context& ctx, const dispatched<Real>& to, bool back, matrix<T> from, matrix<T> into) {
  const section_scope section(ctx, "swap rows with experts");
  const scratch_scope scope(ctx);
  isize* const bytes = ctx.scratch.take<isize>(2 * to.ranks);
  // The rows of an even load that go to others, or come from them, are noted.
  ctx.note("exchange_rows", 0,
           static_cast<double>(to.most_sent * from.width) * bytes_of<T> * static_cast<double>(to.ranks - 1) /
               static_cast<double>(to.ranks),
           flops_of::expert_rows);
  if (ctx.measuring()) return;
  synchronize(ctx);
  if (ctx.thread == 0) {
    const auto row_bytes = from.width * static_cast<isize>(sizeof(T));
    for (isize m = 0; m < to.ranks; ++m) {
      bytes[m] = (back ? to.arrived_rows : to.sent_rows)[m] * row_bytes;
      bytes[to.ranks + m] = (back ? to.sent_rows : to.arrived_rows)[m] * row_bytes;
    }
    const std::span<const isize> all(bytes, as_size(2 * to.ranks));
    const auto ranks = as_size(to.ranks);
    sharers(ctx, to).all_to_all(reinterpret_cast<const std::byte*>(from.data), all.first(ranks),
                                reinterpret_cast<std::byte*>(into.data), all.last(ranks));
  }
  synchronize(ctx);
}

// The bytes of rows that go to each rank, packed and exchanged; then they lie in `arrived`.
template <class Real, class X, class Y>
void send_rows(context& ctx, const dispatched<Real>& to, matrix<X> x, matrix<Y> arrived) {
  const isize mark = ctx.memory.mark();
  const matrix<Y> packed{ctx.memory.take<Y>(to.most_sent * arrived.width), to.most_sent, arrived.width,
                         arrived.width};
  if (!ctx.measuring()) {
    synchronize(ctx);
    spread_rows_to(to.sent, ctx.own(to.sent.each()), x, packed);
  }
  exchange_rows(ctx, to, false, packed, arrived);
  release(ctx, mark);
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
    to.sorted.count = even;  // in a dry run
    return;
  }
  const auto all = detail::shared_rows(ctx, seq, to.over_replicas);
  to.most_sent = rows * (k < to.ranks ? k : to.ranks);
  to.most_arrived = all.rows;
  to.most_sorted = shape.most_choices(all.rows, all.samples, experts.size());
  to.sent_rows = ctx.memory.take<isize>(to.ranks);
  to.arrived_rows = ctx.memory.take<isize>(to.ranks);
  to.sent = detail::take_grouping(ctx, to.ranks, rows, k, to.most_sent);
  to.sorted = detail::take_grouping(ctx, experts.size(), to.most_arrived, k, to.most_sorted);
  to.sorted.count = even < to.most_sorted ? even : to.most_sorted;  // in a dry run
  to.arrived = {ctx.memory.take<choice<Real>>(to.most_arrived * k), to.most_arrived, k, k};
}

// Sends the choices to the ranks of their experts and sorts what comes by expert. Every rank makes the same
// calls on the group, whatever was chosen.
template <class Real>
void dispatch(context& ctx, const sequences& seq, const router_shape& shape, matrix<choice<Real>> chosen,
              dispatched<Real>& to) {
  to.came = 0;
  ctx.note("dispatch", 0, 2 * static_cast<double>(chosen.rows * chosen.width) * bytes_of<choice<Real>>);
  const isize keys = to.sorted.keys > to.ranks ? to.sorted.keys : to.ranks;
  {
    const scratch_scope scope(ctx);  // what sorting takes
    ctx.scratch.take<isize>(keys + 1);
    ctx.scratch.take<isize>(keys + 1);
  }
  synchronize(ctx);
  if (to.alone()) {
    to.arrived = chosen;
    if (ctx.measuring()) return;
    detail::sort_choices(ctx, seq.rows(), ctx.own(seq), to.sorted, [&](isize r, isize j) {
      const choice<Real>& c = chosen.row(r)[j];
      return c.kept ? static_cast<isize>(c.expert) : isize{-1};
    });
    return synchronize(ctx);
  }
  // The first of a row's choices that goes to a rank takes the others along.
  const auto rank_of = [&](isize r, isize j) {
    return owner(shape.experts, to.ranks, chosen.row(r)[j].expert);
  };
  if (!ctx.measuring()) {
    detail::sort_choices(ctx, seq.rows(), ctx.own(seq), to.sent, [&](isize r, isize j) {
      const choice<Real>* const row = chosen.row(r);
      if (!row[j].kept) return isize{-1};
      for (isize i = 0; i < j; ++i)
        if (row[i].kept && rank_of(r, i) == rank_of(r, j)) return isize{-1};
      return rank_of(r, j);
    });
    synchronize(ctx);
    if (ctx.thread == 0) {
      for (isize m = 0; m < to.ranks; ++m) to.sent_rows[m] = to.sent.starts[m + 1] - to.sent.starts[m];
      const scratch_scope scope(ctx);
      isize* const bytes = ctx.scratch.take<isize>(to.ranks);
      for (isize m = 0; m < to.ranks; ++m) bytes[m] = static_cast<isize>(sizeof(isize));
      const std::span<const isize> each(bytes, as_size(to.ranks));
      detail::sharers(ctx, to).all_to_all(reinterpret_cast<const std::byte*>(to.sent_rows), each,
                                          reinterpret_cast<std::byte*>(to.arrived_rows), each);
    }
  }
  detail::send_rows(ctx, to, chosen, to.arrived);
  if (ctx.measuring()) return;
  for (isize m = 0; m < to.ranks; ++m) to.came += to.arrived_rows[m];
  detail::sort_choices(ctx, to.came, ctx.own(to.arrivals()), to.sorted, [&](isize r, isize j) {
    const choice<Real>& c = to.arrived.row(r)[j];
    const isize expert = c.expert - to.first;
    return c.kept && expert >= 0 && expert < to.sorted.keys ? expert : isize{-1};
  });
  synchronize(ctx);
}

}  // namespace motet::cpu
