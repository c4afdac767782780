// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/sound_tower.hpp>

#include "layer_laws.hpp"

using namespace motet;

static_assert(check(sound_config{}).ok(), "Whisper's tiny size");
static_assert(check(sound_config{.width = 100, .heads = 3}).why == reason::heads_do_not_divide);
static_assert(check(sound_config{.width = 9, .heads = 3}).why == reason::time_width);
static_assert(check(sound_config{.layers = 0}).why == reason::not_positive);
static_assert(check(sound_config{.heads = 6, .kv_heads = 4}).why == reason::kv_heads_do_not_divide);
static_assert(sound_tower<sound_config{}>::layers == 4);

TEST_CASE("a pooled encoder of sounds has the gradients that differences have") {
  constexpr sound_config small{
      .bins = 3, .frames = 6, .width = 8, .layers = 1, .heads = 2, .hidden = 6, .embedding = 5};
  const laws::sound_batch batch(2, small.heard());
  const gradient_report found = check_gradients<sound_tower<small>>(batch.input);
  INFO(found.text());
  CHECK(found.ok());
}
