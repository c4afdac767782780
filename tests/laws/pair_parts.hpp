// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pair_loss.hpp"

#include <motet/tensor/pair_part.hpp>

#include <array>

// A loss that is computed in parts, put together again: then it must obey what every loss over all pairs
// does.
namespace motet::laws {

// Samples cut into uneven parts, one of them empty. Columns come part after part in another order than rows,
// as from other ranks.
struct pair_cut {
  static constexpr std::array<std::size_t, 4> order{2, 0, 3, 1};
  std::array<interval, 4> parts;
  std::vector<isize> columns;  // of each sample

  explicit pair_cut(isize samples) : columns(static_cast<std::size_t>(samples)) {
    const isize cuts[] = {0, samples / 5, samples / 2, samples, samples};
    for (std::size_t p = 0; p < 4; ++p) parts[p] = {cuts[p], cuts[p + 1]};
    isize next = 0;
    for (const std::size_t p : order)
      for (isize s = parts[p].begin; s < parts[p].end; ++s) columns[static_cast<std::size_t>(s)] = next++;
  }
  template <class S>
  std::vector<matrix<const S>> pieces(matrix<const S> of) const {
    std::vector<matrix<const S>> all;
    for (const std::size_t p : order) all.push_back(of.slice(parts[p].begin, parts[p].size()));
    return all;
  }
  // Visits parts of rows against one piece of the others at a time.
  template <class S, class Visit>
  void each_piece(matrix<const S> rows, matrix<const S> others, Visit&& visit) const {
    isize first = 0;
    for (const matrix<const S>& piece : pieces(others)) {
      for (const interval own : parts)
        visit(pair_part<S>{rows.slice(own.begin, own.size()),
                           columns.data() + own.begin,
                           {&piece, 1},
                           others.rows,
                           first},
              own);
      first += piece.rows;
    }
  }
  // Calls visit(part, its samples) for the rows of each part against all columns.
  template <class S, class Visit>
  void each(matrix<const S> rows, matrix<const S> others, Visit&& visit) const {
    const std::vector<matrix<const S>> all = pieces(others);
    for (const interval own : parts)
      visit(pair_part<S>{rows.slice(own.begin, own.size()), columns.data() + own.begin, all, others.rows},
            own);
  }
};

}  // namespace motet::laws
