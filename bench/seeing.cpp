// SPDX-License-Identifier: Apache-2.0

// Training steps of a language model that sees: an eye of width 384 and 6 blocks on pictures of 64 by 64
// pixels in patches of 8, two products, and the language model of language.cpp. Samples of 64 to 600 rows
// with no picture to three, each of 64 rows, then words of which the last half is asked for; the same as its
// peer's (bench/peers/language_torch.py). How it is called: paced.hpp.
#include "paced.hpp"

#include <motet/nn/layers/pictured_text.hpp>
#include <motet/nn/towers/seeing_decoder.hpp>

namespace motet::bench {
namespace {

constexpr vit_config eye{.image = 64,
                         .patch = 8,
                         .width = 384,
                         .layers = 6,
                         .heads = 6,
                         .pool = pool_kind::first,
                         .pre_norm = true};
constexpr decoder_config words{
    .vocabulary = 8192, .context = 600, .width = 512, .layers = 8, .heads = 8, .hidden = 1408};
using talk = seeing_decoder<picture_rows<eye, false>, projector<eye.width, words.width>, words, 3>;
using speech = model<join<next_token, module<"talk", talk>>>;

struct text {
  pictured_text made{talk::eye::rows_of_picture, 1};
  std::vector<float> pixels;
  isize pictures_in_all = 0;
  text(isize samples, std::uint64_t seed) {
    constexpr isize seen = talk::eye::rows_of_picture - 1, pixels_of = 3 * eye.image * eye.image;
    const random_stream draws(seed, "words"), shades(seed, "pixels");
    std::vector<std::int32_t> some;
    for (isize s = 0; s < samples; ++s) {
      const isize length = 64 + (s * 197) % 537, shown = std::min(s % 4, (length - 16) / seen);
      for (isize p = 0; p < shown; ++p) made.show();
      some.clear();
      for (isize k = shown * seen; k < length; ++k)
        some.push_back(static_cast<std::int32_t>(draws.below(as_size(made.rows() + k), 8192)));
      const std::size_t given = some.size() - some.size() / 2;
      made.say(std::span(some).first(given), pictured_text::said::given);
      made.say(std::span(some).subspan(given), pictured_text::said::asked);
      made.end();
      pictures_in_all += shown;
    }
    for (isize i = 0; i < pictures_in_all * pixels_of; ++i)
      pixels.push_back(static_cast<float>(shades.normal(static_cast<std::uint64_t>(i))));
  }
  isize rows() const { return made.rows(); }
  speech::batch get() const { return {made.with({pixels.data(), pictures_in_all})}; }
};

}  // namespace
}  // namespace motet::bench

int main(int count, char** words) {
  return motet::bench::paced_main<motet::bench::speech, motet::bench::text>("say-small", count, words);
}
