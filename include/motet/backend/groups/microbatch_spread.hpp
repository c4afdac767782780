// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/any_group.hpp>
#include <motet/tensor/row_parts.hpp>

#include <vector>

namespace motet {

class courier;

// A spread tells a rank's operations how it shares one microbatch with others. The tensor group cuts the
// samples between its members, and each layer's columns inside attention and mlp; the context group cuts the
// rows of each sample between the blocks. Embedding, head and loss run on whole samples, each on one rank. A
// context without a spread is a rank by itself. spread_rows fills it anew for each microbatch.
struct microbatch_spread {
  any_group tensor, context;
  row_parts cut;    // how the context group cuts the rows of a sample
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
  // Embedding and head see this instead where rows are cut: the same tensor group, alone with its `mine`.
  // Else there is none.
  const microbatch_spread* ends = nullptr;
};

}  // namespace motet
