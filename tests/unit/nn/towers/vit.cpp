// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/vit.hpp>

#include "layer_laws.hpp"
#include "refused_configs.hpp"

using namespace motet;

constexpr refused<vit_config> wrong[] = {
    {{.width = 100, .heads = 3}, reason::heads_do_not_divide, 3, 100},
    {{.image = 224, .patch = 15}, reason::patch_does_not_divide, 15, 224},
    {{.layers = 0}, reason::not_positive, 0, 1},
};
static_assert(are_refused(wrong));
static_assert(check(vit_config{.width = 1024, .heads = 25, .head_width = 64}).ok());
static_assert(check(vit_config{}).ok());

TEST_CASE("encoders of pictures whose numbers do not fit") { check_refused(wrong); }

namespace {

template <vit_config Config>
void check_pictures(const laws::law_settings& settings = {}) {
  for (const motet::isize samples : {0, 1, 3}) {
    const laws::picture_batch batch(samples, Config.channels, Config.image);
    laws::check_laws(laws::tower_subject<vit<Config>>{batch.input}, settings);
  }
}

}  // namespace

TEST_CASE("a vision transformer of one block, read at its class token") {
  check_pictures<vit_config{
      .image = 4, .patch = 2, .width = 6, .layers = 1, .heads = 2, .embedding = 5, .pre_norm = true}>(
      {.half = 5e-2, .samples_of_tensor = 2});
}

TEST_CASE("25 heads, recomputed blocks, mean pooling of sine positions") {
  check_pictures<vit_config{.image = 4,
                            .patch = 2,
                            .channels = 1,
                            .width = 8,
                            .layers = 2,
                            .heads = 25,
                            .head_width = 2,
                            .embedding = 5,
                            .pool = pool_kind::mean,
                            .position = position_kind::sine,
                            .patch_bias = true,
                            .recompute = true}>({.half = 5e-2, .samples_of_tensor = 2});
}
