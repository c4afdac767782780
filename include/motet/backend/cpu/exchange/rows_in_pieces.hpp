// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/exchange/rows_exchange.hpp>
#include <motet/backend/cpu/exchange/tensor_rows.hpp>
#include <motet/backend/exchange/exchanged_pieces.hpp>
#include <motet/backend/groups/courier.hpp>

#include <type_traits>

// Rows of a tensor group in pieces, on processors: the first thread's courier brings others while products
// are made of those that are there. No bit depends on the number of pieces.

namespace motet::cpu {
namespace detail {

using row_pieces = exchanged_pieces<context>;

// Only the first thread speaks for its rank; calls are finished by the end of the scope.
class rank_calls {
 public:
  explicit rank_calls(context& ctx) : ctx_(ctx), calls_(ctx.thread == 0 ? ctx.shared->beside : nullptr) {}
  // begins(calls), on the first thread.
  template <class Begin>
  void begin(Begin&& begins) {
    if (ctx_.thread == 0) begins(calls_);
  }
  // All threads see what the call brought.
  void finish(courier::number which) {
    const section_scope section(ctx_, "wait for rows");
    if (ctx_.thread == 0) calls_.finish(which);
    synchronize(ctx_);
  }
  // behind(), on the first thread, when all calls are done.
  template <class Behind>
  void finish_all(Behind&& behind) {
    if (ctx_.thread == 0) {
      calls_.finish();
      behind();
    }
    synchronize(ctx_);
  }

 private:
  context& ctx_;
  calls_beside calls_;
};

// Own rows are in their place, then the others' are asked for, whole or in pieces; the number of the first
// call.
template <class X, class Y>
courier::number begin_gather(context& ctx, rank_calls& calls, const row_pieces& pieces, matrix<X> x,
                             matrix<Y> all) {
  courier::number first = 0;
  synchronize(ctx);
  calls.begin([&](calls_beside& by) {
    bring_rows(x, all.slice(pieces.first_own_row(), x.rows));
    for (isize p = 0; p < pieces.count(); ++p) {
      const courier::number now =
          by.begin([group = &ctx.shared->tensor, to = reinterpret_cast<std::byte*>(all.data),
                    own = pieces.own(p), counts = pieces.counts(p), places = pieces.places(p)] {
            group->finish(group->begin_all_gather(to + own, to, counts, places));
          });
      if (p == 0) first = now;
    }
  });
  return first;
}

template <class X, class Y>
void gather_pieces(context& ctx, matrix<const X> x, matrix<Y> all, row_work each) {
  const sequences& rows = rows_of_all(ctx);
  if (ctx.shared->pieces == 1) {
    gather_rows(ctx, x, all);
    return each(rows, interval{0, all.rows});
  }
  ctx.note("gather_rows", 0, bytes_in(x) + bytes_in(all), flops_of::gathers);
  const scratch_scope scope(ctx);
  const row_pieces pieces(ctx, all.width, static_cast<isize>(sizeof(Y)));
  if (ctx.measuring()) return each(rows, interval{0, all.rows});
  rank_calls calls(ctx);
  const courier::number first = begin_gather(ctx, calls, pieces, x, all);
  for (isize p = 0; p < pieces.count(); ++p) {
    calls.finish(first + static_cast<courier::number>(p));
    pieces.each_run(p, each);
  }
  calls.finish_all([] {});
}

template <class X, class Y>
void gather_beside(context& ctx, matrix<const X> x, matrix<Y> all, work_ref<> meanwhile) {
  if (rows_of_all(ctx); ctx.shared->pieces == 1) {
    gather_rows(ctx, x, all);
    return meanwhile();
  }
  ctx.note("gather_rows", 0, bytes_in(x) + bytes_in(all), flops_of::gathers);
  const scratch_scope scope(ctx);
  const row_pieces pieces(ctx, all.width, static_cast<isize>(sizeof(Y)));
  if (ctx.measuring()) return meanwhile();
  rank_calls calls(ctx);
  begin_gather(ctx, calls, pieces, x, all);
  meanwhile();
  const section_scope section(ctx, "wait for rows");
  calls.finish_all([] {});
}

template <class P, class R, class Y>
void scatter_made(context& ctx, matrix<P> partial, matrix<const R> residual, matrix<Y> y, row_work make) {
  const sequences& rows = rows_of_all(ctx);
  if (ctx.shared->pieces == 1) {
    make(rows, interval{0, partial.rows});
    return scatter_sum_rows(ctx, partial, residual, y);
  }
  ctx.note("scatter_sum_rows", elements_in(partial), bytes_in(partial) + bytes_in(residual) + bytes_in(y),
           flops_of::summed_rows);
  const scratch_scope scope(ctx);
  const row_pieces pieces(ctx, partial.width, 1);
  if (ctx.measuring()) return make(rows, interval{0, partial.rows});
  rank_calls calls(ctx);
  synchronize(ctx);  // threads make other rows than before
  for (isize p = 0; p < pieces.count(); ++p) {
    pieces.each_run(p, make);
    synchronize(ctx);
    calls.begin([&](calls_beside& by) {
      by.begin([group = &ctx.shared->tensor, from = partial.data, own = pieces.own(p),
                counts = pieces.counts(p), places = pieces.places(p)] {
        group->finish(group->template begin_reduce_scatter_sum<P>(from, from + own, counts, places));
      });
    });
  }
  const section_scope section(ctx, "sum rows");
  calls.finish_all([&] {
    const auto own = partial.slice(pieces.first_own_row(), y.rows);
    if (residual) sum_rows(own, residual, y);
    else convert_rows(own, y);
  });
}

}  // namespace detail

// all = the rows of all members, as gather_rows; each(sequences, rows) is called once for all rows, some at a
// time, when they are there.
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

}  // namespace motet::cpu
