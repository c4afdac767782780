// SPDX-License-Identifier: Apache-2.0
// The models that train_clip offers are legal and have the sizes that are known of them, also those that a
// build leaves out (MOTET_MODELS).
#include <motet/model/model.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

#include <train_clip/models.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

template <vit_config Picture, text_config Caption>
using clip = model<join<info_nce, module<"picture", vit<Picture>>, module<"caption", text_tower<Caption>>>>;

// A model's parameters end at a multiple of sixteen.
constexpr motet::isize held(motet::isize count) { return (count + 15) / 16 * 16; }

}  // namespace

TEST_CASE("models of the example programs have the parameters that are known of them") {
  // These are the counts as released (Radford et al., 2021): ViT-B/16 and ViT-L/14, with their text towers
  // and the logarithm of the temperature.
  CHECK(clip<train_clip::b16_picture, train_clip::b16_caption>::parameter_size == held(149620737));
  CHECK(clip<train_clip::l14_picture, train_clip::l14_caption>::parameter_size == held(427616513));
  CHECK(clip<train_clip::small_picture, train_clip::small_caption>::parameter_size >
        clip<train_clip::tiny_picture, train_clip::tiny_caption>::parameter_size);
  CHECK(clip<train_clip::tiny_picture, train_clip::tiny_caption>::parameter_size >
        clip<train_clip::quick_picture, train_clip::quick_caption>::parameter_size);
}
