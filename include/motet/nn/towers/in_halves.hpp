// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/compose/halved.hpp>
#include <motet/nn/compose/stage.hpp>

namespace motet {

// A net whose stages may begin and end in the middle of a block, behind its attention: a plan counts two
// layers for each block, so slices that fill gaps can be half as long (docs/schedule/fill.md). Weights,
// names, numbers and description are those of the net itself, so they share checkpoints. A block that a head
// folds into itself stays one.
// Asks for: a net made of tower, or that draws, whose blocks are layers one behind the other.
// Memory: of a stage what its layers keep, and (rows, width) at a bound within a block.
// Errors: MT-S27
// Example:
//   #include <motet/nn/towers/vit_rows.hpp>
//   using eye = vit_rows<vit_config{.image = 32, .patch = 8, .width = 64, .layers = 2, .heads = 2}>;
//   static_assert(in_halves<eye>::stage::layers == 4 && in_halves<eye>::stage::check({1, 3}).ok());
template <class Net>
struct in_halves : Net {
  static_assert(has_halves<typename Net::body>,
                "motet: blocks are cut in halves where they are layers one behind the other [MT-S27]");
  using body = halved<typename Net::body>;
  static constexpr isize whole_blocks = Net::layers;
  static constexpr isize layers = body::count + Net::layers - Net::body::count;
  static constexpr stage_range whole{0, layers};
  using stage = tower_stage<in_halves>;
};

}  // namespace motet
