// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/plan/describe/messages.hpp>
#include <motet/schedule/core/voice.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace motet {

// One of the three parts of a chain: an encoder, a language model, a generator. Work is that of one unit
// forward: a picture of the encoder's and the generator's, a sample of the language model's.
struct chain_part {
  label name;
  isize layers = 1, width = 1;
  double parameters = 0, flops = 0;
  double kept_bytes = 0;  // that backward needs of one unit, on all ranks of a tensor group together
  bool learns = true;

  // A state of the optimizer and gradients are there where it learns.
  constexpr double bytes_of_weights() const { return learns ? 2 + 4 : 2; }
  constexpr double bytes_of_state() const { return learns ? 12 : 0; }
};

// Encoder, language model and generator, in the order of the rows; projectors between them always learn.
// Samples are packed to one length, so the language model's work is the same for each, and that of the others
// goes by the pictures of a sample.
struct chain_model {
  static constexpr isize size = 3, middle = 1;
  label name;
  chain_part parts[size];
  isize monolith_stages = 1;  // of the language model in the one pipeline that it is compared with
  double pictures = 16;       // of a sample, on average
  double rows = 8192;         // of a sample in the language model

  // A sample takes this forward.
  constexpr double units(isize part) const { return part == middle ? 1 : pictures; }
  constexpr double flops(isize part) const { return parts[part].flops * units(part); }
  // The backward of a part is so many times the work of its forward. Gradients of rows are wanted where
  // something before learns, a projector too, and those of weights where the part does.
  constexpr double backward(isize part) const {
    const bool behind_a_projector = part > 0;
    return (behind_a_projector || parts[part].learns ? 1 : 0) + (parts[part].learns ? 1 : 0);
  }
  // A sample takes so many FLOPs forward and back.
  constexpr double step_flops() const {
    double sum = 0;
    for (isize k = 0; k < size; ++k) sum += flops(k) * (1 + backward(k));
    return sum;
  }
};

namespace detail {

// A vision transformer over pictures of 512 x 512 in patches of 16 x 16.
constexpr chain_part vit_huge() {
  constexpr double rows = 1024, width = 1280, layers = 32, parameters = layers * 12 * width * width;
  return {"encoder",
          32,
          1280,
          parameters,
          2 * parameters * rows + 4 * rows * rows * width * layers,
          34 * rows * width * layers};
}
// A language model in the form of Llama 3: gated MLP, a vocabulary of 128,256, samples of 8,192 rows.
constexpr chain_part language_part(isize layers, isize width, isize hidden, isize key_width) {
  const double rows = 8192, w = static_cast<double>(width), l = static_cast<double>(layers),
               of_layers = l * (2 * w * w + 2 * w * static_cast<double>(key_width) +
                                3 * w * static_cast<double>(hidden)),
               table = 128256 * w;
  return {"language",
          layers,
          width,
          of_layers + 2 * table,
          2 * (of_layers + table) * rows + 2 * rows * rows * w * l,
          34 * rows * w * l};
}
// Stable Diffusion 2.1: its U-Net and the encoder into its latent space. 2 TFLOP a picture of 512 x 512, 9.5
// of 1024 x 1024.
constexpr chain_part diffusion_part(bool large) {
  return {"generator", 16, 1280, 0.95e9, large ? 9.5e12 : 2e12, large ? 8e9 : 2e9};
}

}  // namespace detail

// The chains of the paper on DistTrain: models of 7, 13 and 70 billion parameters between ViT-Huge and Stable
// Diffusion.
inline constexpr chain_model known_chains[] = {
    {"mllm-9b",
     {detail::vit_huge(), detail::language_part(32, 4096, 11008, 4096), detail::diffusion_part(false)}},
    {"mllm-15b",
     {detail::vit_huge(), detail::language_part(40, 5120, 13824, 5120), detail::diffusion_part(false)},
     2},
    {"mllm-72b",
     {detail::vit_huge(), detail::language_part(80, 8192, 28672, 1024), detail::diffusion_part(true)},
     10},
};

// The result is null when there is none of that name.
constexpr const chain_model* find_chain(std::string_view name) {
  for (const chain_model& each : known_chains)
    if (each.name.view() == name) return &each;
  return nullptr;
}

}  // namespace motet
