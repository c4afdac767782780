// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/any_group.hpp>
#include <motet/tensor/row_parts.hpp>

#include <vector>

namespace motet {

class courier;

// A spread tells a rank's operations how it shares one microbatch with others. The tensor group cuts the
// samples between its members, and each layer's columns inside attention and mlp; the context group cuts the
// rows of each long sample between the blocks. Embedding, head and loss run on whole samples, each on one
// rank. A context without a spread is a rank by itself. spread_rows fills it anew for each microbatch.
struct microbatch_spread {
  any_group tensor, context;
  // Ranks of replicas that share experts, each replica with a microbatch of its own, which its tensor group
  // shares; alone: none do.
  any_group experts;
  std::vector<isize> expert_rows, expert_samples;  // of each of these ranks, as of `own`
  row_parts cut;  // how the context group cuts the rows of a sample, whoever has those that stay whole
  // of each sample of the microbatch, who has it where it stays whole; none: all are cut
  std::vector<isize> homes;
  sequences whole;  // all samples of the microbatch, with all their rows
  // the same samples, with the rows of this context part: what the tensor group gathers
  sequences part;
  // the samples of this tensor member, with the rows of this context part: what blocks work on
  sequences own;
  sequences full;  // the samples of this tensor member, with all their rows
  // of them those of this context member, with all their rows: what embedding and head work on
  sequences mine;
  // rows of `part` that each tensor member owns, in order of members and of samples
  std::vector<isize> tensor_rows;
  std::vector<isize> tensor_samples;  // likewise, samples
  // rows of `own` of the samples that each context member has whole
  std::vector<isize> owned_rows;
  // Products beside an exchange of the tensor group are made in so many pieces of rows, and while one is made
  // the courier sees to the rows of others; none: the rank does so itself, in between.
  isize pieces = 1;
  courier* beside = nullptr;
  // each context part's rows of samples that are cut
  std::vector<isize> part_rows_cut;
  // Of all samples, those that are cut, with all their rows and with those of this context part, and the
  // others, where they stay whole and are this part's; each has no row of the rest.
  sequences cut_whole, cut_part, stays;
  isize rows_whole = 0;     // those of `stays`
  isize longest_piece = 0;  // of a sample, that a part has
  // The first of `own` and `full`, and of `mine`, is this one of the microbatch.
  isize first_own = 0, first_mine = 0;
  // Embedding and head see this instead where rows are cut: the same tensor group, alone with its `mine`.
  // Else there is none.
  const microbatch_spread* ends = nullptr;

  // Sample number `at` of the microbatch is cut so.
  row_parts cut_of(isize at) const {
    row_parts out = cut;
    if (!homes.empty()) out.home = homes[as_size(at)];
    return out;
  }
  bool is_cut(isize at) const { return whole.rows_of(at) >= cut.long_rows; }
  // A part has so many rows of some samples, the first of which is this one of the microbatch.
  isize rows_of_part(const sequences& some, isize first, isize which) const {
    if (homes.empty()) return cut.rows_of(some, which);
    isize rows = 0;
    for (isize s = 0; s < some.samples; ++s) rows += cut_of(first + s).rows_of(some.rows_of(s), which);
    return rows;
  }
};

}  // namespace motet
