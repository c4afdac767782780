// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/noised_pictures.hpp>

#include "drawn_batch.hpp"
#include "refused_configs.hpp"

using namespace motet;

static_assert(check(noised_config{.image = 4, .patch = 2, .width = 8}).ok());
constexpr refused<noised_config> wrong[] = {
    {{.image = 4, .patch = 3, .width = 8}, reason::patch_does_not_divide, 3, 4},
    {{.image = 4, .patch = 2, .width = 6}, reason::sine_width, 6, 8},
    {{.image = 4, .patch = 2, .width = 8, .classes = -1}, reason::not_positive, -1, 0},
    {{.image = 4, .patch = 2, .width = 8, .forgotten = 10}, reason::not_a_part, 2, 1},
    {{.image = 4, .patch = 2, .width = 8, .forgotten = -0.5f}, reason::not_a_part, -1, 1},
};
static_assert(are_refused(wrong));
static_assert(noised_config{.image = 8, .patch = 2, .channels = 4}.rows() == 17);

TEST_CASE("pictures that cannot be noised") { check_refused(wrong); }

TEST_CASE("noised pictures become rows behind a condition") {
  constexpr noised_config of{
      .image = 4, .patch = 2, .channels = 3, .width = 8, .classes = 3, .forgotten = 0.5f, .times = 10};
  constexpr noised_config one{.image = 3, .patch = 3, .channels = 4, .width = 4, .times = 2};
  for (const motet::isize samples : {0, 1, 4}) {
    const laws::drawn_batch batch(samples, of), other(samples, one);
    laws::check_laws(laws::embedding_subject<noised_pictures<of>>{batch.input});
    laws::check_laws(laws::embedding_subject<noised_pictures<one>>{other.input});
  }
}

TEST_CASE("pictures that are packed as bytes make the rows of their numbers") {
  constexpr noised_config of{.image = 4, .patch = 2, .channels = 1, .width = 8, .classes = 2};
  using embed = noised_pictures<of>;
  std::vector<std::uint8_t> bytes(32);
  std::vector<float> pixels;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(7 * i);
    pixels.push_back(static_cast<float>(bytes[i]) / 64 - 1);
  }
  packed_picture each[2];
  for (int s = 0; s < 2; ++s) {
    each[s].at = 16 * s;
    each[s].width = each[s].height = each[s].pitch = 4;
  }
  packed_pictures packed;
  packed.bytes = bytes.data();
  packed.each = packed.origin = each;
  packed.factor[0] = 1 / 64.0f;
  packed.shift[0] = -1;
  const laws::reals w = laws::random_weights(layer::parameters_of<embed>(), embed::parameter_size),
                    dy(2 * 5 * 8, 0.0);
  const auto rows_of = [&](const pictures& shown) {
    const drawn_pictures batch{shown, nullptr, {.seed = 2}, 1};
    return laws::evaluate<fp64>(laws::embedding_subject<embed>{batch}, laws::way::infer, 1, w, {}, dy,
                                laws::reals(w.size(), 0.0))
        .y;
  };
  CHECK_LE(laws::apart(rows_of({nullptr, 2, packed}), rows_of({pixels.data(), 2})), 1e-7);
}
