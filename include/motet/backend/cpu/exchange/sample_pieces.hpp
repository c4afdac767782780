// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/groups/microbatch_spread.hpp>

namespace motet::cpu {

// The pieces that the rows of a sample are cut into, in the order of rows, and which of them this rank has.
struct sample_pieces {
  const microbatch_spread* shared = nullptr;
  explicit sample_pieces(const context& ctx)
      : shared(ctx.shared != nullptr && !ctx.shared->context.alone() ? ctx.shared : nullptr) {}
  isize all() const { return shared ? shared->cut.parts * shared->cut.pieces() : 1; }
  isize own() const { return shared ? shared->cut.pieces() : 1; }
  isize number(isize which) const {
    if (!shared) return 0;
    return which == 0 ? shared->context.member() : all() - 1 - shared->context.member();
  }
  // Rows of the whole sample.
  isize rows(const sequences& seq, isize sample) const {
    return shared ? shared->full.rows_of(sample) : seq.rows_of(sample);
  }
  interval piece(const sequences& seq, isize sample, isize which) const {
    if (!shared) return {seq.begin(sample), seq.end(sample)};
    const isize whole = rows(seq, sample), member = shared->context.member();
    const row_parts cut = shared->cut_of(shared->first_own + sample);
    const isize begin = seq.begin(sample) + (which == 0 ? 0 : cut.piece(whole, member, 0).size());
    return {begin, begin + cut.piece(whole, member, which).size()};
  }
};

}  // namespace motet::cpu
