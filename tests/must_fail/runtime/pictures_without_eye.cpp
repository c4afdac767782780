// SPDX-License-Identifier: Apache-2.0
// expect: motet: a net that reads pictured tokens needs most_pictures, the most of a sample, and its eye [MT-N12]
#include <motet/nn/towers/seeing_decoder.hpp>
#include <motet/runtime/stage/input_traits.hpp>

constexpr motet::vit_config sight{.image = 8, .patch = 4, .width = 16, .layers = 1, .heads = 2};
constexpr motet::decoder_config words{.vocabulary = 9, .context = 7, .width = 8, .layers = 1, .heads = 2};
using whole = motet::seeing_decoder<motet::picture_rows<sight>, motet::projector<16, 8>, words>;

#ifdef MOTET_BREAK
struct net {
  using input = motet::pictured_tokens;
  static constexpr motet::decoder_config config = words;
};
#else
using net = whole;
#endif

motet::isize most() { return motet::input_traits<net>::longest(); }
