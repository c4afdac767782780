// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/exchange/rows_exchange.hpp>
#include <motet/backend/cuda/exchange/tensor_rows.hpp>
#include <motet/backend/exchange/exchanged_pieces.hpp>

#include <type_traits>
#include <vector>

// Rows of a tensor group in pieces, on GPUs: transports bring them on streams of their own, so what this rank
// begins for a piece goes on while the next ones come. The host waits for nothing but others' hosts.

namespace motet::cuda {
namespace detail {

// Calls that have begun. What they were given stays until all are finished, also where something fails.
class begun_calls {
 public:
  explicit begun_calls(const any_group& by) : by_(by) {}
  begun_calls(const begun_calls&) = delete;
  begun_calls& operator=(const begun_calls&) = delete;
  ~begun_calls() {
    try {
      while (finished_ < tickets_.size()) finish();
    } catch (...) {  // these ranks were told to stop
    }
  }
  void add(ticket begun) { tickets_.push_back(begun); }
  // The oldest: work that begins from now on sees what it brought.
  void finish() { by_.finish(tickets_[finished_++]); }

 private:
  const any_group& by_;
  std::vector<ticket> tickets_;
  std::size_t finished_ = 0;
};

inline bool comes_whole(const context& ctx) { return ctx.measuring() || ctx.shared->pieces == 1; }

template <class Y>
void begin_gather(const context& ctx, begun_calls& calls, const exchanged_pieces<context>& pieces,
                  matrix<Y> all) {
  auto* const to = reinterpret_cast<std::byte*>(all.data);
  for (isize p = 0; p < pieces.count(); ++p)
    calls.add(
        ctx.shared->tensor.begin_all_gather(to + pieces.own(p), to, pieces.counts(p), pieces.places(p)));
}

template <class X, class Y>
void gather_pieces(context& ctx, matrix<const X> x, matrix<Y> all, row_work each) {
  if (const sequences& rows = rows_of_all(ctx); comes_whole(ctx)) {
    gather_rows(ctx, x, all);
    return each(rows, interval{0, all.rows});
  }
  ctx.note("gather_rows", 0, bytes_in(x) + bytes_in(all), flops_of::gathers);
  const exchanged_pieces<context> pieces(ctx, all.width, static_cast<isize>(sizeof(Y)));
  begun_calls calls(ctx.shared->tensor);
  convert_rows(ctx, x, all.slice(pieces.first_own_row(), x.rows));
  begin_gather(ctx, calls, pieces, all);
  for (isize p = 0; p < pieces.count(); ++p) {
    calls.finish();
    pieces.each_run(p, each);
  }
}

template <class X, class Y>
void gather_beside(context& ctx, matrix<const X> x, matrix<Y> all, work_ref<> meanwhile) {
  if (rows_of_all(ctx); comes_whole(ctx)) {
    gather_rows(ctx, x, all);
    return meanwhile();
  }
  ctx.note("gather_rows", 0, bytes_in(x) + bytes_in(all), flops_of::gathers);
  const exchanged_pieces<context> pieces(ctx, all.width, static_cast<isize>(sizeof(Y)));
  begun_calls calls(ctx.shared->tensor);
  convert_rows(ctx, x, all.slice(pieces.first_own_row(), x.rows));
  begin_gather(ctx, calls, pieces, all);
  meanwhile();
  for (isize p = 0; p < pieces.count(); ++p) calls.finish();
}

template <class P, class R, class Y>
void scatter_made(context& ctx, matrix<P> partial, matrix<const R> residual, matrix<Y> y, row_work make) {
  if (const sequences& rows = rows_of_all(ctx); comes_whole(ctx)) {
    make(rows, interval{0, partial.rows});
    return scatter_sum_rows(ctx, partial, residual, y);
  }
  ctx.note("scatter_sum_rows", elements_in(partial), bytes_in(partial) + bytes_in(residual) + bytes_in(y),
           flops_of::summed_rows);
  const exchanged_pieces<context> pieces(ctx, partial.width, 1);
  begun_calls calls(ctx.shared->tensor);
  for (isize p = 0; p < pieces.count(); ++p) {
    pieces.each_run(p, make);
    calls.add(ctx.shared->tensor.begin_reduce_scatter_sum(static_cast<const P*>(partial.data),
                                                          partial.data + pieces.own(p), pieces.counts(p),
                                                          pieces.places(p)));
  }
  for (isize p = 0; p < pieces.count(); ++p) calls.finish();
  const auto own = partial.slice(pieces.first_own_row(), y.rows);
  if (residual) sum_rows(ctx, own, residual, y);
  else convert_rows(ctx, own, y);
}

}  // namespace detail

// all = the rows of all members, as gather_rows; each(sequences, rows) is called once for all rows, some at a
// time, for work that sees them.
template <class X, class Y, class Each>
void gather_rows(context& ctx, matrix<X> x, matrix<Y> all, Each&& each) {
  detail::gather_pieces<std::remove_const_t<X>, Y>(ctx, x, all, row_work(each));
}

// The same with meanwhile(), which needs none of these rows, while all of them come.
template <class X, class Y, class Meanwhile>
void gather_rows_beside(context& ctx, matrix<X> x, matrix<Y> all, Meanwhile&& meanwhile) {
  detail::gather_beside<std::remove_const_t<X>, Y>(ctx, x, all, work_ref<>(meanwhile));
}

// y = residual + own rows of the sum of all members' partial, as scatter_sum_rows; make(sequences, rows)
// makes rows of partial, some at a time, and is called once for all.
template <class P, class R, class Y, class Make>
void scatter_sum_rows(context& ctx, matrix<P> partial, matrix<R> residual, matrix<Y> y, Make&& make) {
  detail::scatter_made<P, std::remove_const_t<R>, Y>(ctx, partial, residual, y, row_work(make));
}

}  // namespace motet::cuda
