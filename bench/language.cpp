// SPDX-License-Identifier: Apache-2.0

// Training steps of a language model on ragged text: width 512, 8 blocks of 8 heads, SwiGLU of 1,408, a
// vocabulary of 8,192; samples of 64 to 600 tokens, the same lengths as its peer's
// (bench/peers/language_torch.py). How it is called: paced.hpp.
#include "paced.hpp"

#include <motet/nn/towers/decoder.hpp>

namespace motet::bench {
namespace {

using talk = decoder<decoder_config{
    .vocabulary = 8192, .context = 600, .width = 512, .layers = 8, .heads = 8, .hidden = 1408}>;
using speech = model<join<next_token, module<"talk", talk>>>;

// Text that follows no rule, but is not the same for two steps.
struct text {
  std::vector<std::int32_t> ids, targets;
  std::vector<isize> offsets{0};
  text(isize samples, std::uint64_t seed) {
    const random_stream words(seed, "words");
    for (isize s = 0; s < samples; ++s) {
      const isize length = 64 + (s * 197) % 537;
      for (isize k = 0; k < length; ++k)
        ids.push_back(static_cast<std::int32_t>(words.below(ids.size(), 8192)));
      offsets.push_back(static_cast<isize>(ids.size()));
      for (isize k = 0; k + 1 < length; ++k) targets.push_back(ids[as_size(offsets[as_size(s)] + k + 1)]);
      targets.push_back(-100);
    }
  }
  isize rows() const { return static_cast<isize>(ids.size()); }
  speech::batch get() const {
    const auto samples = static_cast<isize>(offsets.size()) - 1;
    return {labelled_tokens{{ids.data(), {samples, 0, offsets.data()}},
                            targets.data(),
                            1 / static_cast<double>(rows() - samples)}};
  }
};

}  // namespace
}  // namespace motet::bench

int main(int count, char** words) {
  return motet::bench::paced_main<motet::bench::speech, motet::bench::text>("lm-small", count, words);
}
