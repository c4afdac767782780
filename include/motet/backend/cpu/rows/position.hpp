// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>

#include <cassert>

namespace motet::cpu {

// Adds to each row the table's row of its position within its sample.
template <class M, class X>
void position_forward(context& ctx, const sequences& seq, matrix<M> table, matrix<X> x) {
  ctx.note("position_forward", elements_in(x), 2 * bytes_in(x));
  if (ctx.measuring()) return;
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    assert(seq.rows_of(s) <= table.rows);
    const matrix<X> sample = x.slice(seq.begin(s), seq.rows_of(s));
    sum_rows(sample, table.slice(0, sample.rows), sample);
  }
}

template <class Dy, class M>
void position_backward_weight(context& ctx, const sequences& seq, matrix<Dy> dy, matrix<M> dtable) {
  ctx.note("position_backward_weight", elements_in(dy), bytes_in(dy));
  if (ctx.measuring()) return;
  const interval own = ctx.own(dy.width);
  // Some samples at a time, position by position: a row of the table is read and written once for all of
  // them.
  for (isize s = 0; s < seq.samples; s += summed_rows) {
    const isize end = s + summed_rows < seq.samples ? s + summed_rows : seq.samples;
    isize longest = 0;
    for (isize t = s; t < end; ++t) longest = seq.rows_of(t) > longest ? seq.rows_of(t) : longest;
    assert(longest <= dtable.rows);
    for (isize position = 0; position < longest; ++position) {
      const std::remove_const_t<Dy>* rows[summed_rows];
      int count = 0;
      for (isize t = s; t < end; ++t)
        if (position < seq.rows_of(t)) rows[count++] = dy.row(seq.begin(t) + position) + own.begin;
      sum_listed_rows(rows, count, own.size(), dtable.row(position) + own.begin);
    }
  }
}

}  // namespace motet::cpu
