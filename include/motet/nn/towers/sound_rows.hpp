// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/towers/rows_tail.hpp>
#include <motet/nn/towers/sound_tower.hpp>

namespace motet {

namespace detail {

template <frame_config Config>
struct heard_frames : sound_embedding<Config> {
  using input = heard_sounds;
};
template <sound_config Config>
inline constexpr tower_config sound_rows_tower = [] {
  tower_config c = Config.tower();
  // Pooling by the mean needs every block for every row.
  c.pool = pool_kind::mean;
  return c;
}();

}  // namespace detail

// An encoder of sounds as a module that feeds another: all of its rows go on, one for each two frames, behind
// the last norm. This is Whisper's encoder; pool and embedding of the config do not matter.
// Asks for: sounds of `frames` frames of `bins` numbers each, `Sounds` of a sample at most.
// Memory: that of its blocks and convolutions, and the rows that go on.
// Errors: MT-N01, MT-N03, MT-N04, MT-N09, MT-N10, MT-N15
// Example:
//   using ear = sound_rows<sound_config{.bins = 16, .frames = 64, .width = 32, .layers = 2, .heads = 2}>;
//   static_assert(ear::embedding == 32 && ear::rows_of_sound == 32);
template <sound_config Config, isize Sounds = 1>
struct sound_rows : tower<detail::heard_frames<Config.heard()>, detail::sound_rows_tower<Config>,
                          rows_tail<norm<Config.width, norm_config{Config.norm, Config.epsilon}>>> {
  static_assert(require<check(Config)>);
  static_assert(Sounds > 0, "motet: sizes of a net must be positive [MT-N04]");
  static constexpr sound_config config = Config;
  static constexpr bool gives_rows = true;
  static constexpr isize most_sounds = Sounds, rows_of_sound = Config.heard().rows();
};

}  // namespace motet
