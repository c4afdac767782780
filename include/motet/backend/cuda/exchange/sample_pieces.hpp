// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/context.hpp>
#include <motet/backend/groups/microbatch_spread.hpp>

namespace motet::cuda {

// The sample that a row belongs to; those without rows have none.
MOTET_HOST_DEVICE inline isize sample_of(const sequences& seq, isize row) {
  if (seq.offsets == nullptr) return row / seq.length;
  isize low = 0, high = seq.samples;
  while (high - low > 1) {
    const isize middle = (low + high) / 2;
    if (seq.offsets[middle] <= row) low = middle;
    else high = middle;
  }
  return low;
}

// The pieces that the rows of a sample are cut into, in the order of rows, and which of them this rank has. A
// kernel carries it, with offsets of the GPU.
struct sample_pieces {
  bool cut_up = false;
  row_parts cut;
  isize member = 0;
  sequences seq, full;  // this rank's rows of samples; all of theirs

  sample_pieces(const context& ctx, const sequences& rows) : seq(rows), full(rows) {
    if (ctx.shared == nullptr || ctx.shared->context.alone()) return;
    cut_up = true;
    cut = ctx.shared->cut;
    member = ctx.shared->context.member();
    full = ctx.shared->full;
  }
  // The result has offsets that kernels may read.
  sample_pieces on(engine& there) const {
    sample_pieces out = *this;
    out.seq.offsets = there.offsets(seq);
    out.full.offsets = there.offsets(full);
    return out;
  }
  MOTET_HOST_DEVICE isize all() const { return cut_up ? cut.parts * cut.pieces() : 1; }
  MOTET_HOST_DEVICE isize own() const { return cut_up ? cut.pieces() : 1; }
  MOTET_HOST_DEVICE isize number(isize which) const {
    if (!cut_up) return 0;
    return which == 0 ? member : all() - 1 - member;
  }
  // Rows of the whole sample.
  MOTET_HOST_DEVICE isize rows(isize sample) const { return full.rows_of(sample); }
  MOTET_HOST_DEVICE interval piece(isize sample, isize which) const {
    if (!cut_up) return {seq.begin(sample), seq.end(sample)};
    const isize whole = rows(sample), before = which == 0 ? 0 : cut.piece(whole, member, 0).size();
    const isize begin = seq.begin(sample) + before;
    return {begin, begin + cut.piece(whole, member, which).size()};
  }
};

}  // namespace motet::cuda
