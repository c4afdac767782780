// SPDX-License-Identifier: Apache-2.0
#pragma once

// The model `small` of train_clip, and pairs of noise for it: every step costs the same.
#include <motet/backend/cpu/device.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/runtime/train/pipeline_trainer.hpp>

#include <vector>

namespace bench {

inline constexpr motet::vit_config picture{
    .image = 64, .patch = 8, .width = 384, .layers = 12, .heads = 6, .embedding = 256, .pre_norm = true};
inline constexpr motet::text_config caption{
    .vocabulary = 1024, .context = 32, .width = 256, .layers = 6, .heads = 4, .embedding = 256};
using small = motet::model<motet::join<motet::info_nce, motet::module<"picture", motet::vit<picture>>,
                                       motet::module<"caption", motet::text_tower<caption>>>>;

class noise {
 public:
  explicit noise(motet::isize pairs) : pairs_(pairs) {
    const motet::random_stream normal(1, "pixels"), words(1, "words");
    for (motet::isize i = 0; i < pairs * 3 * picture.image * picture.image; ++i)
      pixels_.push_back(static_cast<float>(normal.normal(static_cast<std::uint64_t>(i))));
    for (motet::isize i = 0; i < pairs * caption.context; ++i)
      ids_.push_back(
          static_cast<std::int32_t>(words.below(static_cast<std::uint64_t>(i), caption.vocabulary)));
  }
  small::batch batch() const {
    return {motet::pictures{pixels_.data(), pairs_},
            motet::tokens{ids_.data(), {pairs_, caption.context, nullptr}}};
  }

 private:
  motet::isize pairs_;
  std::vector<float> pixels_;
  std::vector<std::int32_t> ids_;
};

}  // namespace bench
