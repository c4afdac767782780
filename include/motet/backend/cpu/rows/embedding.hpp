// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>

#include <cassert>

namespace motet::cpu {

// Row r of y = row ids[r] of a table that begins with row number `first` of a larger one; ids of rows that it
// lacks give zeros.
template <class M, class Y>
void token_forward(context& ctx, const sequences& seq, const std::int32_t* ids, isize first, matrix<M> table,
                   matrix<Y> y) {
  ctx.note("token_forward", 0, 2 * bytes_in(y));
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  for (isize r = own.begin; r < own.end; ++r) {
    const isize at = ids[r] - first;
    if (at >= 0 && at < table.rows) convert_rows(table.slice(at, 1), y.slice(r, 1));
    else clear_rows(y.slice(r, 1));
  }
}

// A thread adds its columns of all rows, so that no two threads write one number and the order of additions
// is that of the rows.
template <class Dy, class M>
void token_backward_weight(context& ctx, const std::int32_t* ids, isize first, matrix<Dy> dy,
                           matrix<M> dtable) {
  ctx.note("token_backward_weight", elements_in(dy), bytes_in(dy) + 2 * elements_in(dy) * bytes_of<M>);
  if (ctx.measuring()) return;
  const interval own = ctx.own(dy.width);
  for (isize r = 0; r < dy.rows; ++r) {
    const isize at = ids[r] - first;
    if (at < 0 || at >= dtable.rows) continue;
    const std::remove_const_t<Dy>* from = dy.row(r) + own.begin;
    sum_listed_rows(&from, 1, own.size(), dtable.row(at) + own.begin);
  }
}

// y row places[r] += x row r, where that is not negative; no two rows have one place.
template <class X, class Y>
void add_rows_at(context& ctx, const sequences& seq, const std::int32_t* places, matrix<X> x, matrix<Y> y) {
  ctx.note("add_rows_at", elements_in(x), bytes_in(x) + 2 * elements_in(x) * bytes_of<Y>);
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  for (isize r = own.begin; r < own.end; ++r) {
    if (places[r] < 0) continue;
    assert(places[r] < y.rows);
    const matrix<Y> to = y.slice(places[r], 1);
    sum_rows(to, x.slice(r, 1), to);
  }
}

// The first row of each sample = token.
template <class M, class X>
void class_token_forward(context& ctx, const sequences& seq, const M* token, matrix<X> x) {
  ctx.note("class_token_forward", 0, static_cast<double>(seq.samples * x.width) * bytes_of<X>);
  if (ctx.measuring()) return;
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    if (seq.rows_of(s) > 0)
      convert_rows(matrix<const M>{token, 1, x.width, x.width}, x.slice(seq.begin(s), 1));
  }
}

template <class Dy, class M>
void class_token_backward_weight(context& ctx, const sequences& seq, matrix<Dy> dy, M* dtoken) {
  ctx.note("class_token_backward_weight", static_cast<double>(seq.samples * dy.width),
           static_cast<double>(seq.samples * dy.width) * bytes_of<Dy>);
  if (ctx.measuring()) return;
  const interval own = ctx.own(dy.width);
  const std::remove_const_t<Dy>* rows[summed_rows];
  int count = 0;
  for (isize s = 0; s < seq.samples; ++s) {
    if (seq.rows_of(s) > 0) rows[count++] = dy.row(seq.begin(s)) + own.begin;
    if (count < summed_rows && s + 1 < seq.samples) continue;
    sum_listed_rows(rows, count, own.size(), dtoken + own.begin);
    count = 0;
  }
}

// dbias += all rows but the first of each sample: a class token replaces what the bias was added to.
template <class Dy, class M>
void class_token_backward_bias(context& ctx, const sequences& seq, matrix<Dy> dy, M* dbias) {
  ctx.note("class_token_backward_bias", elements_in(dy), bytes_in(dy));
  if (ctx.measuring()) return;
  const interval own = ctx.own(dy.width);
  const std::remove_const_t<Dy>* rows[summed_rows];
  for (isize s = 0; s < seq.samples; ++s)
    for (isize r = seq.begin(s) + 1; r < seq.end(s);) {
      int count = 0;
      for (; r < seq.end(s) && count < summed_rows; ++r) rows[count++] = dy.row(r) + own.begin;
      sum_listed_rows(rows, count, own.size(), dbias + own.begin);
    }
}

}  // namespace motet::cpu
