// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/vit.hpp>

#include <context_members.hpp>

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
                             .patch_bias = true,
                             .context_kind = context_attention::ring};

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

// Five rows a picture: more ranks than some parts have rows, or heads.
TEST_CASE("a picture tower whose rows several ranks have, as one and in stages") {
  const laws::picture_batch batch(5, 3, 4);
  laws::check_places(pictures_of<vit<eye>>(batch), {{1, 2}, {2, 2}, {1, 6}});
  laws::check_places(pictures_of<vit<eye>>(batch, 2), {{2, 2}});
  laws::check_places<mixed_bf16>(pictures_of<vit<eye>>(batch), {{1, 3}}, 4e-2);
}

TEST_CASE("pooling by attention works on whole samples") {
  const laws::picture_batch batch(3, 3, 4);
  laws::check_places(pictures_of<vit<looking>>(batch), {{1, 3}, {2, 2}, {1, 2, 9}});
  laws::check_places<fp32>(pictures_of<vit<looking>>(batch), {{1, 2}}, 1e-5);
}
