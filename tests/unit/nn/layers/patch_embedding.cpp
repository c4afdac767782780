// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/patch_embedding.hpp>

#include "layer_laws.hpp"

using namespace motet;

static_assert(check(patch_config{.image = 8, .patch = 3, .width = 4}).why == reason::patch_does_not_divide);
static_assert(check(patch_config{.image = 8, .patch = 4}).why == reason::not_positive);
static_assert(
    check(patch_config{
              .image = 8, .patch = 4, .width = 6, .class_token = false, .position = position_kind::sine})
        .why == reason::sine_width);
static_assert(patch_config{.image = 8, .patch = 4, .width = 4}.rows() == 5);
static_assert(patch_config{.image = 8, .patch = 4, .width = 4, .class_token = false}.rows() == 4);

namespace {

template <patch_config Config>
void check_pictures() {
  for (const motet::isize samples : {0, 1, 3}) {
    const laws::picture_batch batch(samples, Config.channels, Config.image);
    laws::check_laws(laws::embedding_subject<patch_embedding<Config>>{batch.input});
  }
}

}  // namespace

TEST_CASE("class token and learned positions, with each of bias and norm") {
  check_pictures<patch_config{.image = 6, .patch = 3, .channels = 2, .width = 5}>();
  check_pictures<patch_config{.image = 4, .patch = 2, .width = 7, .bias = true, .pre_norm = true}>();
}

TEST_CASE("sine positions, no class token, one patch") {
  check_pictures<patch_config{.image = 6,
                              .patch = 2,
                              .channels = 1,
                              .width = 8,
                              .class_token = false,
                              .bias = true,
                              .position = position_kind::sine}>();
  check_pictures<patch_config{
      .image = 3, .patch = 3, .channels = 1, .width = 5, .class_token = false, .pre_norm = true}>();
}
