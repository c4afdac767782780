// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/attention/attention_softmax.hpp>
#include <motet/nn/core/operations.hpp>
#include <motet/tensor/sequences.hpp>
#include <motet/tensor/view.hpp>

#include <cmath>
#include <type_traits>

namespace motet::cpu::detail {

// Attention is computed in double for double, otherwise in float.
template <class T>
using attention_number = std::conditional_t<std::is_same_v<std::remove_const_t<T>, double>, double, float>;

// Sizes of the packed tiles of one head of one sample. They depend on the longest sample alone, so every
// thread finds the same.
template <class C>
struct attention_recipe {
  static constexpr isize lanes = tile_lanes<C>;
  static constexpr isize key_tile = 512;
  // up to here a tile of twice as many queries still fits the first-level cache
  static constexpr isize short_keys = 112;

  isize keys = 0;      // of the longest sample
  isize width = 0;     // of a head
  isize padded = 0;    // width, up to whole vectors
  isize tile_row = 0;  // row length of tiles whose columns are keys
  isize panels = 0;    // of at most key_tile keys
  isize query_tile = 48;

  attention_recipe(const sequences& kv_seq, const attention_shape& shape)
      : width(shape.head_width), padded(round_up(width, lanes)) {
    for (isize s = 0; s < kv_seq.samples; ++s) {
      const isize rows = kv_seq.rows_of(s);
      keys = rows > keys ? rows : keys;
      if (!kv_seq.offsets) break;
    }
    tile_row = round_up(keys < key_tile ? keys : key_tile, lanes);
    // Rows that lie a multiple of a kilobyte apart would share few cache sets.
    if (tile_row % (1024 / static_cast<isize>(sizeof(C))) == 0) tile_row += lanes;
    panels = (keys + key_tile - 1) / key_tile;
    if (keys <= short_keys) query_tile = shape.mask == mask_kind::causal ? 24 : 96;
  }
  // keys or values, transposed, panel after panel
  isize transposed() const { return panels * width * tile_row; }
  isize straight() const { return keys * padded; }
  // The most that query_tile can be: planning must not depend on it, as it shrinks where keys grow.
  static constexpr isize query_tile_limit = 96;
  isize query_rows() const { return query_tile_limit * padded; }
  isize scores() const { return query_tile_limit * tile_row; }
  const C* panel(const C* transposed_rows, isize first_key) const {
    return transposed_rows + first_key / key_tile * width * tile_row;
  }
  // The last few keys of a sample, past whole vectors of keys. Pictures have 16 i + 1 rows (patches and a
  // class token), and a whole vector for the one row would be a waste.
  static constexpr isize few = 3;
  isize past_vectors(isize count) const { return count % lanes <= few ? count % lanes : 0; }
  isize past_rows() const { return few * padded; }
};

// The rows of one head as C.
template <class C, class T>
void pack_head(matrix<T> from, isize first_row, isize rows, isize first_column,
               const attention_recipe<C>& recipe, C* to) {
  tiles::pack(rows, recipe.width, from.row(first_row) + first_column, from.stride, to, recipe.padded);
}

// Rows are packed as columns, a panel for each tile of keys.
template <class C, class T>
void pack_head_transposed(matrix<T> from, isize first_row, isize rows, isize first_column,
                          const attention_recipe<C>& recipe, C* to) {
  for (isize first = 0; first < rows; first += recipe.key_tile) {
    const isize count = rows - first < recipe.key_tile ? rows - first : recipe.key_tile;
    tiles::pack_transposed(count, recipe.width, from.row(first_row + first) + first_column, from.stride,
                           to + first / recipe.key_tile * recipe.width * recipe.tile_row, recipe.tile_row);
  }
}

// The rows of past_vectors, one after another, not transposed.
template <class C, class T>
void pack_past_vectors(matrix<T> from, isize first_row, isize rows, isize first_column,
                       const attention_recipe<C>& recipe, C* to) {
  const isize count = recipe.past_vectors(rows);
  if (count > 0)
    tiles::pack(count, recipe.width, from.row(first_row + rows - count) + first_column, from.stride, to,
                recipe.padded);
}

// out (m x n, from key first_key on) = left (m x width) times the transposed rows of a head of `rows` keys.
template <class C>
void multiply_by_head(isize m, isize n, const C* left, const C* transposed, const C* past, isize first_key,
                      isize rows, const attention_recipe<C>& recipe, C* out) {
  const isize count = first_key + n == rows ? recipe.past_vectors(n) : 0;
  tiles::multiply(m, round_up(n - count, recipe.lanes), recipe.width, left, recipe.padded, 1,
                  recipe.panel(transposed, first_key), recipe.tile_row, out, recipe.tile_row, false);
  for (isize c = 0; c < count; ++c)
    tiles::times_vector(m, recipe.padded, left, recipe.padded, past + c * recipe.padded, out + n - count + c,
                        recipe.tile_row);
}

template <class C, class T>
void unpack_head(const C* from, isize rows, const C* factors, const attention_recipe<C>& recipe, matrix<T> to,
                 isize first_row, isize first_column) {
  tiles::unpack(rows, recipe.width, from, recipe.padded, factors, to.row(first_row) + first_column,
                to.stride);
}

template <class C>
C attention_scale(const attention_shape& shape) {
  return static_cast<C>(shape.scale != 0 ? shape.scale
                                         : 1 / std::sqrt(static_cast<double>(shape.head_width)));
}

inline double attention_pairs(const sequences& q_seq, const sequences& kv_seq) {
  if (!q_seq.offsets && !kv_seq.offsets)
    return static_cast<double>(q_seq.samples) * static_cast<double>(q_seq.length * kv_seq.length);
  double pairs = 0;
  for (isize s = 0; s < kv_seq.samples; ++s)
    pairs += static_cast<double>(q_seq.rows_of(s)) * static_cast<double>(kv_seq.rows_of(s));
  return pairs;
}

// Query rows [first, first + count) see these columns of the keys from first_key on. Causal masks are aligned
// at the end.
inline visible_columns attention_visible(mask_kind mask, isize queries, isize keys, isize first_query,
                                         isize first_key) {
  if (mask == mask_kind::full) return {keys - first_key, 0};
  return {first_query + 1 + keys - queries - first_key, 1};
}

// One past the last key that any of the query rows before `end_query` sees.
inline isize attention_reach(mask_kind mask, isize queries, isize keys, isize end_query) {
  if (mask == mask_kind::full) return keys;
  const isize reach = end_query + keys - queries;
  return reach < 0 ? 0 : reach < keys ? reach : keys;
}

}  // namespace motet::cpu::detail
