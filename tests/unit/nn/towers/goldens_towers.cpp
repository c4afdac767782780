// SPDX-License-Identifier: Apache-2.0
// Whole towers against PyTorch: features and the gradients of all parameters.
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

#include "goldens.hpp"

using namespace motet;

namespace {

const laws::golden_file& file() {
  static const laws::golden_file opened("towers");
  return opened;
}

template <vit_config Config>
void check_pictures(const std::string& name) {
  const std::vector<float> pixels = file().values<float>(name + "/pixels");
  laws::check_golden(file(), name, laws::tower_subject<vit<Config>>{pictures{pixels.data(), 4}});
}
template <text_config Config>
void check_text(const std::string& name) {
  const std::vector<std::int32_t> ids = file().values<std::int32_t>(name + "/ids");
  const std::vector<std::int64_t> stored = file().values<std::int64_t>(name + "/offsets");
  const std::vector<motet::isize> offsets(stored.begin(), stored.end());
  laws::check_golden(file(), name,
                     laws::tower_subject<text_tower<Config>>{tokens{ids.data(), {4, 1, offsets.data()}}});
}

}  // namespace

TEST_CASE("a vision transformer as CLIP has it") {
  check_pictures<vit_config{.image = 8,
                            .patch = 4,
                            .width = 24,
                            .layers = 2,
                            .heads = 3,
                            .embedding = 10,
                            .act = activation::quick_gelu,
                            .pre_norm = true}>("vit_clip");
}
TEST_CASE("a vision transformer with 2-D sine positions and mean pooling") {
  check_pictures<vit_config{.image = 12,
                            .patch = 4,
                            .width = 20,
                            .layers = 2,
                            .heads = 5,
                            .embedding = 7,
                            .pool = pool_kind::mean,
                            .position = position_kind::sine,
                            .patch_bias = true}>("vit_mean");
}
TEST_CASE("a vision transformer with grouped queries and attention pooling") {
  check_pictures<vit_config{.image = 8,
                            .patch = 2,
                            .width = 12,
                            .layers = 1,
                            .heads = 4,
                            .kv_heads = 2,
                            .hidden = 17,
                            .embedding = 5,
                            .pool = pool_kind::attention}>("vit_pooled");
}
TEST_CASE("a causal text transformer as CLIP has it") {
  check_text<text_config{
      .vocabulary = 31, .context = 9, .width = 16, .layers = 2, .heads = 4, .embedding = 10}>("text_clip");
}
TEST_CASE("a text transformer with rotary positions and one key-value head") {
  check_text<text_config{.vocabulary = 31,
                         .context = 9,
                         .width = 20,
                         .layers = 2,
                         .heads = 5,
                         .kv_heads = 1,
                         .hidden = 33,
                         .embedding = 8,
                         .act = activation::gelu_tanh,
                         .rotary = 50}>("text_rotary");
}
TEST_CASE("a text transformer of 25 heads that do not divide its width, read at the mean") {
  check_text<text_config{.vocabulary = 13,
                         .context = 9,
                         .width = 9,
                         .layers = 2,
                         .heads = 25,
                         .head_width = 2,
                         .embedding = 4,
                         .pool = pool_kind::mean,
                         .mask = mask_kind::full}>("text_mean");
}
TEST_CASE("towers with gated mlps and RMS norms") {
  check_pictures<vit_config{.image = 8,
                            .patch = 4,
                            .width = 12,
                            .layers = 2,
                            .heads = 2,
                            .hidden = 21,
                            .embedding = 6,
                            .epsilon = 1e-6f,
                            .patch_bias = true,
                            .norm = norm_kind::rms,
                            .gated = true}>("vit_gated");
  check_text<text_config{.vocabulary = 13,
                         .context = 9,
                         .width = 12,
                         .layers = 2,
                         .heads = 3,
                         .hidden = 10,
                         .embedding = 4,
                         .epsilon = 1e-6f,
                         .rotary = 100,
                         .norm = norm_kind::rms,
                         .gated = true}>("text_gated");
}
