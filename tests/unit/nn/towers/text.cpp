// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/text.hpp>

#include "layer_laws.hpp"
#include "refused_configs.hpp"

using namespace motet;

constexpr refused<text_config> wrong[] = {
    {{.width = 100, .heads = 3}, reason::heads_do_not_divide, 3, 100},
    {{.width = 6, .heads = 2, .rotary = 100}, reason::odd_rotary_width, 3, 4},
    {{.context = 0}, reason::not_positive, 0, 1},
};
static_assert(are_refused(wrong));
static_assert(check(text_config{}).ok());

TEST_CASE("encoders of text whose numbers do not fit") { check_refused(wrong); }

namespace {

template <text_config Config>
void check_text(const laws::law_settings& settings = {.half = 5e-2, .samples_of_tensor = 2}) {
  for (const std::vector<motet::isize>& offsets : {std::vector<motet::isize>{0}, {0, 1}, {0, 3, 5, 6, 11}}) {
    const laws::token_batch batch(offsets, Config.vocabulary);
    laws::check_laws(laws::tower_subject<text_tower<Config>>{batch.input}, settings);
  }
}

}  // namespace

TEST_CASE("a causal text transformer of ragged samples") {
  check_text<text_config{
      .vocabulary = 7, .context = 5, .width = 6, .layers = 2, .heads = 3, .embedding = 4}>();
}

TEST_CASE("rotary positions, gated mlp and RMS norm, recomputed") {
  check_text<text_config{.vocabulary = 7,
                         .context = 5,
                         .width = 8,
                         .layers = 2,
                         .heads = 2,
                         .kv_heads = 1,
                         .hidden = 5,
                         .embedding = 4,
                         .rotary = 50,
                         .norm = norm_kind::rms,
                         .gated = true,
                         .recompute = true}>();
}

TEST_CASE("what comes after a sample does not change it, nor what comes before") {
  using net = text_tower<text_config{
      .vocabulary = 7, .context = 5, .width = 6, .layers = 2, .heads = 3, .embedding = 4}>;
  const laws::reals w = laws::random_weights(layer::parameters_of<net>(), net::parameter_size),
                    g(w.size(), 0.0);
  const laws::token_batch all({0, 3, 5, 6, 11}, 7);
  const auto features = [&](const tokens& batch) {
    const laws::reals dy(static_cast<std::size_t>(batch.seq.samples * 4), 1.0);
    return laws::evaluate<fp64>(laws::tower_subject<net>{batch}, laws::way::infer, 2, w, {}, dy, g).y;
  };
  const laws::reals together = features(all.input);
  for (std::size_t s = 0; s < 4; ++s) {
    const motet::isize offsets[] = {0, all.offsets[s + 1] - all.offsets[s]};
    const laws::reals alone = features({all.ids.data() + all.offsets[s], {1, 1, offsets}});
    CHECK_LE(laws::apart(alone, laws::reals(together.begin() + static_cast<std::ptrdiff_t>(s) * 4,
                                            together.begin() + static_cast<std::ptrdiff_t>(s + 1) * 4)),
             1e-12);
  }
}
