// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/vit.hpp>

#include <tensor_members.hpp>

using namespace motet;

namespace {

constexpr vit_config eye{.image = 4,
                         .patch = 2,
                         .width = 8,
                         .layers = 3,
                         .heads = 3,
                         .head_width = 2,
                         .hidden = 9,
                         .embedding = 5,
                         .pre_norm = true};
constexpr vit_config looking{.image = 4,
                             .patch = 2,
                             .width = 8,
                             .layers = 2,
                             .heads = 4,
                             .hidden = 9,
                             .embedding = 5,
                             .pool = pool_kind::attention,
                             .position = position_kind::sine,
                             .patch_bias = true};

template <class Net>
laws::tower_part<Net> pictures_of(const laws::picture_batch& batch, motet::isize at = 0) {
  constexpr motet::isize size = Net::config.channels * Net::config.image * Net::config.image;
  return {batch.input,
          [&batch](interval samples, const sequences&) {
            return laws::take_pictures(batch.input, samples, size);
          },
          at};
}

}  // namespace

TEST_CASE("a picture tower over members, as one and in stages") {
  const laws::picture_batch batch(5, 3, 4);
  laws::check_members(pictures_of<vit<eye>>(batch), {2, 3});
  laws::check_members(pictures_of<vit<eye>>(batch, 2), {2});
  // Values of bf16 are gathered as such; sums of partial products are rounded once more.
  laws::check_members<mixed_bf16>(pictures_of<vit<eye>>(batch), {3}, 4e-2);
}

TEST_CASE("pooling by attention stays with the samples") {
  const laws::picture_batch batch(3, 3, 4);
  laws::check_members(pictures_of<vit<looking>>(batch), {2, 4});
}
