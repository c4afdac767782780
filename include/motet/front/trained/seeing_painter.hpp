// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/trained/painter.hpp>
#include <motet/nn/towers/seeing_decoder_rows.hpp>
#include <motet/runtime/stage/input_traits.hpp>

#include <numeric>
#include <vector>

namespace motet {

// Paints what words and pictures tell, on the processors of this process: `Tell` makes rows of them, and the
// drawer `Draw` a picture of the rows of each sample. It also says what pictures that are there would have
// lost.
// Asks for: the flat weights of both nets, one behind the other, which stay where they are and may change
// between calls; tokens of the vocabulary; samples of at most `context` rows; pictures as numbers.
// Memory: that of painter, and the rows of all samples.
// Errors: MT-R03, MT-R15, MT-R39
// Example:
//   using eye = picture_rows<vit_config{.image = 16, .patch = 8, .width = 32, .layers = 1, .heads = 2}>;
//   constexpr decoder_config words{.vocabulary = 300, .context = 40, .width = 32, .layers = 1, .heads = 2};
//   constexpr drawer_config canvas{.image = 16, .patch = 4, .channels = 3, .width = 32, .layers = 1, .heads = 2,
//                                  .classes = 0};
//   using tell = seeing_decoder_rows<eye, projector<32, 32>, words>;
//   using draw = fed_drawer<canvas, tell::embedding, words.context>;
//   std::vector<float> painted(cpu::device& device, const float* weights, const pictured_tokens& samples) {
//     return seeing_painter<tell, draw>(device, weights).paint(samples, {.seed = 1});
//   }
template <class Tell, class Draw, class Numbers = fp32>
class seeing_painter {
 public:
  using master = typename Numbers::master;
  static constexpr isize pixels = painter<Draw, Numbers>::pixels;  // of a picture
  static constexpr isize parameter_size = Tell::parameter_size + Draw::parameter_size;

  seeing_painter(cpu::device& device, const master* weights)
      : device_(device), weights_(weights), draws_(device, weights + Tell::parameter_size) {}

  // (samples, channels, side, side), on the scale of those that were learned.
  std::vector<float> paint(const pictured_tokens& samples, const painting& how = {}) {
    tell(samples);
    return draws_.paint(rows_, offsets_, how);
  }
  // What the pictures, one of each sample, lose with their draws and their share: the loss of a step.
  double loss(const pictured_tokens& samples, const drawn_pictures& wanted) {
    if (wanted.samples != samples.seq.samples)
      fail(step_too_large, sentence({wanted.samples, " pictures, and ", samples.seq.samples, " samples"}));
    tell(samples);
    std::vector<master> lost(as_size(wanted.samples));
    const typename Draw::input told{wanted, offsets_.data(), {.rows = rows_.data()}};
    run([&](cpu::context& ctx) {
      Draw::infer(ctx, motet::weights<Numbers>{weights_ + Tell::parameter_size}, told,
                  view<master, 1>(lost.data(), wanted.samples));
    });
    return std::accumulate(lost.begin(), lost.end(), 0.0);
  }

 private:
  using stream = typename Numbers::stream;
  static_assert(Tell::embedding == Draw::takes_rows,
                "motet: rows that tell are as wide as the drawer takes them");

  // Fills rows_.
  void tell(const pictured_tokens& samples) {
    const sequences& seq = samples.seq;
    offsets_.assign(1, 0);
    for (isize s = 0; s < seq.samples; ++s) {
      if (seq.rows_of(s) > Tell::config.context)
        fail(step_too_large,
             sentence({"sample ", s, " has ", seq.rows_of(s), " rows, longer than ", Tell::config.context}));
      offsets_.push_back(offsets_.back() + seq.rows_of(s));
    }
    if (const std::string what = input_traits<Tell>::unknown(samples); !what.empty())
      fail(unknown_token, what);
    rows_.resize(as_size(seq.rows() * Tell::embedding));
    run([&](cpu::context& ctx) {
      Tell::infer(ctx, motet::weights<Numbers>{weights_}, samples,
                  view<stream, Tell::embedding>(rows_.data(), seq.rows()));
    });
  }
  template <class Run>
  void run(Run&& each) {
    device_.prepare(device_.dry_run(each));
    device_.run(each, {0, 0, 0, false});
  }

  cpu::device& device_;
  const master* weights_;
  painter<Draw, Numbers> draws_;
  std::vector<stream> rows_;  // of all samples
  std::vector<isize> offsets_;
};

}  // namespace motet
