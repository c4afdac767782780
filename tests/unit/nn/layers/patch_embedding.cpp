// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/patch_embedding.hpp>

#include "layer_laws.hpp"
#include "refused_configs.hpp"

using namespace motet;

constexpr refused<patch_config> wrong[] = {
    {{.image = 8, .patch = 3, .width = 4}, reason::patch_does_not_divide, 3, 8},
    {{.image = 8, .patch = 4}, reason::not_positive, 0, 1},
    {{.image = 8, .patch = 4, .channels = -1, .width = 4}, reason::not_positive, -1, 1},
    {{.image = 8, .patch = 4, .width = 6, .class_token = false, .position = position_kind::sine},
     reason::sine_width,
     6,
     8},
    {{.image = 8, .patch = 4, .width = 4, .most_patches = -1}, reason::any_shape, -1, 0},
    {{.image = 8, .patch = 4, .channels = 5, .width = 4, .most_patches = 9}, reason::any_shape, 5, 0},
    {{.image = 8, .patch = 4, .width = 4, .learned_image = 6}, reason::grid_of_positions, 6, 8},
};
static_assert(are_refused(wrong));
static_assert(patch_config{.image = 8, .patch = 4, .width = 4}.rows() == 5);
static_assert(patch_config{.image = 8, .patch = 4, .width = 4, .most_patches = 9}.rows() == 10);
static_assert(patch_config{.image = 8, .patch = 4, .width = 4, .class_token = false}.rows() == 4);

TEST_CASE("pictures that patches do not tile") {
  check_refused(wrong);
  const patch_config any{.image = 8, .patch = 4, .width = 4, .most_patches = 9},
      square{.image = 8, .patch = 4, .width = 4};
  CHECK(check_shapes(any, 1).ok());
  CHECK(check_shapes(square, 2).ok());
  CHECK(check_shapes(any, 2).why == reason::any_shape);
}

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

namespace {

// As many numbers in planes as pictures of these grids have.
template <patch_config Config>
struct shaped_batch {
  std::vector<float> pixels;
  picture_grids grids{Config.numbers_of_patch(), Config.lead()};
  explicit shaped_batch(std::initializer_list<std::pair<int, int>> of) {
    motet::isize patches = 0;
    for (const auto& [rows, columns] : of) grids.add(rows, columns), patches += rows * columns;
    const random_stream draw(23, "pixels");
    for (motet::isize i = 0; i < patches * Config.numbers_of_patch(); ++i)
      pixels.push_back(static_cast<float>(draw.normal(static_cast<std::uint64_t>(i))));
  }
  pictures input() const { return grids.with(pixels.data()); }
};
template <patch_config Config>
void check_shapes_of() {
  const shaped_batch<Config> none({}), some({{1, 4}, {2, 2}, {3, 1}, {1, 1}});
  laws::check_laws(laws::embedding_subject<patch_embedding<Config>>{none.input()});
  laws::check_laws(laws::embedding_subject<patch_embedding<Config>>{some.input()});
}
template <patch_config Config>
laws::outcome run_of(const pictures& batch) {
  const laws::embedding_subject<patch_embedding<Config>> subject{batch};
  constexpr motet::isize size = patch_embedding<Config>::parameter_size;
  const auto w = laws::random_weights(layer::parameters_of<patch_embedding<Config>>(), size),
             dy = laws::random_reals(subject.y_rows() * Config.width, "dy");
  return laws::evaluate<fp32>(subject, laws::way::whole, 2, w, {}, dy, laws::reals(w.size(), 0.0));
}

}  // namespace

TEST_CASE("pictures of any shape: learned positions that are interpolated, and sines") {
  check_shapes_of<patch_config{
      .image = 4, .patch = 2, .channels = 1, .width = 7, .bias = true, .most_patches = 6}>();
  check_shapes_of<patch_config{.image = 3,
                               .patch = 1,
                               .channels = 2,
                               .width = 8,
                               .class_token = false,
                               .pre_norm = true,
                               .position = position_kind::sine,
                               .most_patches = 4}>();
}

TEST_CASE("squares among pictures of any shape are what a net of squares makes of them") {
  constexpr patch_config own{
      .image = 6, .patch = 2, .channels = 3, .width = 8, .pre_norm = true, .most_patches = 12},
      same{.image = 6, .patch = 2, .channels = 3, .width = 8, .pre_norm = true},
      larger{.image = 4, .patch = 2, .channels = 3, .width = 8, .pre_norm = true, .learned_image = 6};
  static_assert(patch_embedding<own>::parameter_size == patch_embedding<same>::parameter_size);
  const laws::picture_batch native(2, 3, 6), small(3, 3, 4);
  picture_grids grids(own.numbers_of_patch(), own.lead());
  grids.add(3, 3), grids.add(3, 3);
  laws::outcome got = run_of<own>(grids.with(native.pixels.data())), want = run_of<same>(native.input);
  CHECK(got.y == want.y);
  CHECK(laws::apart(got.g, want.g) <= 1e-6);
  grids.clear();
  for (int k = 0; k < 3; ++k) grids.add(2, 2);
  got = run_of<own>(grids.with(small.pixels.data())), want = run_of<larger>(small.input);
  CHECK(got.y == want.y);
  CHECK(laws::apart(got.g, want.g) <= 1e-6);
}
