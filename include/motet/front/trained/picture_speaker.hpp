// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/layers/pictured_text.hpp>
#include <motet/nn/towers/last_logits.hpp>
#include <motet/nn/towers/seeing_decoder.hpp>
#include <motet/runtime/messages.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

namespace motet {

// A decoder that sees speaks about pictures here: of each it says the likeliest next word, again and again,
// on the processors of this process.
// Asks for: the flat weights of the net, as trainer::weights() gives them, which stay where they are;
// pictures as numbers.
// Memory: temporaries of the largest batch. Nothing is kept between words, so each costs a pass over all
// before it, the picture too.
// Errors: MT-R03
// Example:
//   using eye = picture_rows<vit_config{.image = 32, .patch = 8, .width = 32, .layers = 1, .heads = 2}>;
//   constexpr decoder_config words{.vocabulary = 300, .context = 40, .width = 32, .layers = 1, .heads = 2};
//   auto tell(cpu::device& device, const float* weights, const pictures& shown) {
//     using net = seeing_decoder<eye, projector<32, 32>, words>;
//     return picture_speaker<net>(device, weights).say(shown, {.begin = 298, .end = 299, .most = 16});
//   }
template <class Net, class Numbers = fp32>
class picture_speaker {
 public:
  using master = typename Numbers::master;
  static constexpr isize vocabulary = Net::config.vocabulary;
  struct limits {
    std::int32_t begin = 0, end = 0;  // tokens; neither is part of what is said
    isize most = 32;                  // tokens of a sentence
  };

  picture_speaker(cpu::device& device, const master* weights) : device_(device), weights_(weights) {}

  // A sentence for each picture. The first `lead` rows of a picture are not shown.
  std::vector<std::vector<std::int32_t>> say(const pictures& shown, const limits& to, isize lead = 0) {
    if (const isize rows = Net::eye::rows_of_picture - lead + to.most; rows > Net::config.context)
      fail(step_too_large, sentence({"a picture and ", to.most, " words have ", rows, " rows, longer than ",
                                     Net::config.context}));
    const isize size = shown.samples > 0 ? input_size : 0;
    std::vector<std::vector<std::int32_t>> said(as_size(shown.samples));
    std::vector<isize> open(as_size(shown.samples));  // whose sentences go on
    std::iota(open.begin(), open.end(), isize{0});
    std::vector<float> pixels;
    std::vector<master> logits;
    pictured_text text(Net::eye::rows_of_picture, lead);
    for (isize word = 0; word < to.most && !open.empty(); ++word) {
      text.clear();
      pixels.clear();
      for (const isize each : open) {
        text.show();
        text.say({&to.begin, 1}, pictured_text::said::given);
        text.say(said[as_size(each)], pictured_text::said::given);
        text.end();
        pixels.insert(pixels.end(), shown.pixels + each * size, shown.pixels + (each + 1) * size);
      }
      const auto samples = static_cast<isize>(open.size());
      logits.resize(as_size(samples * vocabulary));
      const pictured_tokens batch = text.with({pixels.data(), samples});
      const auto run = [&](cpu::context& ctx) {
        continued<typename Net::logits>::first::infer(ctx, motet::weights<Numbers>{weights_}, batch,
                                                      view<master, vocabulary>(logits.data(), samples));
      };
      device_.prepare(device_.dry_run(run));
      device_.run(run, {0, 0, 0, false});
      std::vector<isize> still;
      for (isize i = 0; i < samples; ++i) {
        const auto first = logits.begin() + i * vocabulary;
        const auto best = static_cast<std::int32_t>(std::max_element(first, first + vocabulary) - first);
        if (best == to.end) continue;
        said[as_size(open[as_size(i)])].push_back(best);
        still.push_back(open[as_size(i)]);
      }
      open = std::move(still);
    }
    return said;
  }

 private:
  static constexpr isize input_size =
      Net::eye::config.channels * Net::eye::config.image * Net::eye::config.image;
  cpu::device& device_;
  const master* weights_;
};

}  // namespace motet
