// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/exchange/tensor_rows.hpp>
#include <motet/backend/groups/courier.hpp>
#include <motet/tensor/share.hpp>

#include <type_traits>

// The exchanges of a tensor group in pieces: piece p has the p-th part of each member's rows, so all members
// send and receive alike, and lie where they would have come as a whole. Products are made of the rows that
// are there, and the first thread's courier brings others meanwhile. Every row is computed and summed as it
// would be otherwise, so no bit depends on the number of pieces.

namespace motet::cpu {
namespace detail {

// How many elements of each member's rows are in a piece, and where they begin among those of all.
class row_pieces {
 public:
  row_pieces(context& ctx, isize width, isize each)
      : is_(*ctx.shared),
        members_(is_.tensor_rows.size()),
        numbers_(ctx.scratch.take<isize>(2 * count() * static_cast<isize>(members_))) {
    if (ctx.measuring()) return;
    for (isize p = 0; p < count(); ++p)
      each_part(p, [&](std::size_t m, interval rows) {
        const auto at = first(p) + m;
        numbers_[at] = rows.size() * width * each;
        numbers_[at + members_] = rows.begin * width * each;
      });
  }
  isize count() const { return is_.pieces; }
  std::span<const isize> counts(isize p) const { return {numbers_ + first(p), members_}; }
  std::span<const isize> places(isize p) const { return {numbers_ + first(p) + members_, members_}; }
  isize first_own_row() const {
    isize before = 0;
    for (std::size_t m = 0; m < as_size(is_.tensor.member()); ++m) before += is_.tensor_rows[m];
    return before;
  }
  // Where this member's own part of a piece begins.
  isize own(isize p) const { return places(p)[as_size(is_.tensor.member())]; }
  // what(sequences, rows) of the rows of a piece, as they lie; to it each row is a sample.
  template <class What>
  void each_run(isize p, What&& what) const {
    each_part(p, [&](std::size_t, interval rows) {
      if (rows.size() > 0) what(sequences{rows.size(), 1, nullptr}, rows);
    });
  }

 private:
  std::size_t first(isize p) const { return 2 * as_size(p) * members_; }
  template <class Part>
  void each_part(isize p, Part&& part) const {
    isize begin = 0;
    for (std::size_t m = 0; m < members_; begin += is_.tensor_rows[m++]) {
      const interval own = share(is_.tensor_rows[m], count(), p);
      part(m, interval{begin + own.begin, begin + own.end});
    }
  }

  const microbatch_spread& is_;
  std::size_t members_;
  isize* numbers_;
};

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

// Work that an exchange does when rows are there, or meanwhile, whatever it is: each exchange is compiled
// once for its numbers, and not for every layer that has work beside it.
template <class... Told>
class work_ref {
 public:
  template <class Work>
  explicit work_ref(Work& work)
      : work_(const_cast<void*>(static_cast<const void*>(&work))),
        does_([](void* self, Told... told) { (*static_cast<Work*>(self))(told...); }) {}
  void operator()(Told... told) const { does_(work_, told...); }

 private:
  void* work_;
  void (*does_)(void*, Told...);
};
using row_work = work_ref<const sequences&, interval>;

template <class X, class Y>
void gather_pieces(context& ctx, matrix<const X> x, matrix<Y> all, row_work each) {
  const sequences& rows = rows_of_all(ctx);
  if (ctx.shared->pieces == 1) {
    gather_rows(ctx, x, all);
    return each(rows, interval{0, all.rows});
  }
  ctx.note("gather_rows", 0, bytes_in(x) + bytes_in(all));
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
  ctx.note("gather_rows", 0, bytes_in(x) + bytes_in(all));
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
  ctx.note("scatter_sum_rows", elements_in(partial), bytes_in(partial) + bytes_in(residual) + bytes_in(y));
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
  detail::gather_pieces<std::remove_const_t<X>, Y>(ctx, x, all, detail::row_work(each));
}

// The same with meanwhile(), which needs none of these rows, while all of them come.
template <class X, class Y, class Meanwhile>
void gather_rows_beside(context& ctx, matrix<X> x, matrix<Y> all, Meanwhile&& meanwhile) {
  detail::gather_beside<std::remove_const_t<X>, Y>(ctx, x, all, detail::work_ref<>(meanwhile));
}

// y = residual + own rows of the sum of all members' partial, as scatter_sum_rows; make(sequences, rows) makes
// rows of partial, some at a time, and is called once for all.
template <class P, class R, class Y, class Make>
void scatter_sum_rows(context& ctx, matrix<P> partial, matrix<R> residual, matrix<Y> y, Make&& make) {
  detail::scatter_made<P, std::remove_const_t<R>, Y>(ctx, partial, residual, y, detail::row_work(make));
}

}  // namespace motet::cpu
