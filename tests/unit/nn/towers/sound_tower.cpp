// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/sound_tower.hpp>

#include "layer_laws.hpp"
#include "refused_configs.hpp"

using namespace motet;

static_assert(check(sound_config{}).ok(), "Whisper's tiny size");
constexpr refused<sound_config> wrong[] = {
    {{.width = 100, .heads = 3}, reason::heads_do_not_divide, 3, 100},
    {{.width = 9, .heads = 3}, reason::time_width, 9, 10},
    {{.layers = 0}, reason::not_positive, 0, 1},
    {{.heads = 6, .kv_heads = 4}, reason::kv_heads_do_not_divide, 4, 6},
};
static_assert(are_refused(wrong));
static_assert(sound_tower<sound_config{}>::layers == 4);

TEST_CASE("encoders of sounds whose numbers do not fit") { check_refused(wrong); }

TEST_CASE("a pooled encoder of sounds has the gradients that differences have") {
  constexpr sound_config small{
      .bins = 3, .frames = 6, .width = 8, .layers = 1, .heads = 2, .hidden = 6, .embedding = 5};
  const laws::sound_batch batch(2, small.heard());
  const gradient_report found = check_gradients<sound_tower<small>>(batch.input);
  INFO(found.text());
  CHECK(found.ok());
}
