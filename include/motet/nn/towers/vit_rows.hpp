// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/pictured_tokens.hpp>
#include <motet/nn/towers/rows_tail.hpp>
#include <motet/nn/towers/vit.hpp>

namespace motet {

namespace detail {

template <patch_config Config>
struct seen_patches : patch_embedding<Config> {
  using input = seen_pictures;
};

template <vit_config Config>
inline constexpr tower_config rows_tower = [] {
  tower_config c = Config.tower();
  // Pooling by the mean needs every block for every row.
  c.pool = pool_kind::mean;
  return c;
}();
template <vit_config Config, bool Normed>
using last_of_rows = std::conditional_t<Normed, norm<Config.width, norm_config{Config.norm, Config.epsilon}>,
                                        bare_rows<Config.width>>;
template <vit_config Config, isize Squares>
using squares_of =
    joined_squares<Config.width, Config.image / Config.patch, Config.patches().lead(), Squares>;
template <vit_config Config, bool Normed, isize Squares>
constexpr auto choose_rows_tail() {
  using last = last_of_rows<Config, Normed>;
  if constexpr (Squares == 1) return std::type_identity<rows_tail<last>>{};
  else return std::type_identity<joined_rows_tail<last, squares_of<Config, Squares>>>{};
}

}  // namespace detail

// A vision transformer as a module that feeds another: all of its rows go on. A class token's row goes on
// with the others, first of each picture; pool and embedding of the config do not matter otherwise. Weights
// are those of picture_rows. `Squares` of more than one join each square of so many by so many neighbours to
// one row, and leave the class token's row out (joined_squares.hpp): few and wide rows, which a projector
// takes to the width of words.
// Asks for: pictures as patch_embedding has them, `Pictures` of a sample at most; `Normed`, whether the last
// norm is there (LLaVA leaves it out, and the last block with it: then say one layer less).
// Memory: that of its blocks, and the rows that go on.
// Errors: MT-N01, MT-N02, MT-N04, MT-N26, MT-N32
// Example:
//   using eye = vit_rows<vit_config{.image = 32, .patch = 8, .width = 64, .layers = 2, .heads = 2}>;
//   static_assert(eye::embedding == 64 && eye::rows_of_picture == 17);
template <vit_config Config, bool Normed = true, isize Pictures = 1, isize Squares = 1>
struct vit_rows : tower<detail::seen_patches<Config.patches()>, detail::rows_tower<Config>,
                        typename decltype(detail::choose_rows_tail<Config, Normed, Squares>())::type> {
  static_assert(require<check(Config)>);
  static_assert(Pictures > 0, "motet: sizes of a net must be positive [MT-N04]");
  static_assert(require<check_shapes(Config.patches(), Squares)>);
  static constexpr vit_config config = Config;
  static constexpr bool gives_rows = true, normed = Normed;
  static constexpr isize most_pictures = Pictures, squares = Squares;
  static constexpr isize rows_of_picture =
      Squares == 1 ? Config.patches().rows() : detail::squares_of<Config, Squares>::rows_behind;
  // What goes on of a batch are fewer rows than what its blocks have.
  static isize rows_that_go_on(const seen_pictures& batch) {
    return batch.rows_before(batch.samples, rows_of_picture);
  }
};

}  // namespace motet
