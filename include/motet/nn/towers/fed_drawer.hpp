// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/fed_pictures.hpp>
#include <motet/nn/towers/drawer.hpp>

namespace motet {

// A drawer that another module feeds: what it draws follows from rows of `Width` columns, those of a language
// model, whose mean is a part of each picture's condition. Gradients go back to all of them. `Rows`: the most
// of a sample.
// Asks for: pictures as drawer has them, and an edge of the model that brings rows as wide as `Width`.
// Memory: that of drawer, and (pictures, Width).
// Errors: MT-N01, MT-N02, MT-N04, MT-N07, MT-N19, MT-N20
// Example:
//   constexpr drawer_config little{.image = 32, .patch = 4, .channels = 3, .width = 64, .layers = 2, .heads = 2,
//                                  .classes = 0};
//   using draw = fed_drawer<little, 128, 48>;
//   static_assert(draw::takes_rows == 128 && draw::embedding == 1);
template <drawer_config Config, isize Width, isize Rows>
struct fed_drawer : detail::drawing_tower<Config, denoise_tail<Config.noised()>,
                                          fed_noised_pictures<Config.noised(), Width>> {
  static_assert(require<check(Config)>);
  static_assert(Rows > 0, "motet: sizes of a net must be positive [MT-N04]");
  static constexpr drawer_config config = Config;
  static constexpr bool own_loss = true, draws = true;
  static constexpr isize takes_rows = Width, most_rows = Rows;

  // This is the net with its weights, but its features are what it says of each number: (pictures x patches,
  // numbers of a patch).
  using velocity = detail::drawing_tower<Config, velocity_tail<Config.noised()>,
                                         fed_noised_pictures<Config.noised(), Width>>;
};

}  // namespace motet
