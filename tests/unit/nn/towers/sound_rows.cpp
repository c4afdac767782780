// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/sound_rows.hpp>

#include "layer_laws.hpp"

using namespace motet;

namespace {

constexpr sound_config hearing{.bins = 3, .frames = 7, .width = 8, .layers = 2, .heads = 2, .hidden = 6};
using ear = sound_rows<hearing, 2>;

}  // namespace

static_assert(ear::gives_rows && ear::embedding == 8 && ear::rows_of_sound == 4 && ear::most_sounds == 2);

TEST_CASE("all rows of sounds go on, behind the last norm") {
  for (const motet::isize samples : {0, 1, 3}) {
    const laws::sound_batch batch(samples, hearing.heard());
    laws::check_laws(laws::tower_subject<ear>{{batch.input, samples, nullptr}},
                     {.half = 6e-2, .samples_of_tensor = 3});
  }
}
