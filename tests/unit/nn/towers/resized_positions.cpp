// SPDX-License-Identifier: Apache-2.0
// Positions that were learned for pictures of another size, against PyTorch
// (tests/goldens/make_positions.py).
#include <motet/nn/towers/vit.hpp>

#include "goldens.hpp"

using namespace motet;

namespace {

constexpr vit_config larger{.image = 20,
                            .patch = 4,
                            .width = 8,
                            .layers = 1,
                            .heads = 2,
                            .embedding = 5,
                            .learned_image = 12,
                            .pre_norm = true};
constexpr vit_config smaller{.image = 12,
                             .patch = 4,
                             .width = 8,
                             .layers = 1,
                             .heads = 2,
                             .embedding = 5,
                             .pool = pool_kind::mean,
                             .learned_image = 20,
                             .patch_bias = true};
constexpr vit_config as_learned = [] {
  vit_config c = larger;
  c.image = c.learned_image;
  return c;
}();

static_assert(check(larger).ok() && larger.patches().resizes() && !as_learned.patches().resizes());
static_assert(check(vit_config{.learned_image = 24}).why == reason::grid_of_positions);
static_assert(check(vit_config{.learned_image = -16}).why == reason::grid_of_positions);
static_assert(check(vit_config{.position = position_kind::sine, .learned_image = 32}).why ==
              reason::grid_of_positions);

template <vit_config Config>
void check_pictures(const std::string& name) {
  static const laws::golden_file file("positions");
  const std::vector<float> pixels = file.values<float>(name + "/pixels");
  const laws::tower_subject<vit<Config>> subject{pictures{pixels.data(), 2}};
  laws::check_golden_in<fp64>(file, name, subject, 1e-6);
  laws::check_golden_in<fp32>(file, name, subject, 1e-5);
  laws::check_laws(subject, {.half = 5e-2, .samples_of_tensor = 4});
}

}  // namespace

TEST_CASE("a tower sees larger pictures than its positions were learned for, as CLIP interpolates them") {
  check_pictures<larger>("larger");
}
TEST_CASE("and smaller ones, without a class token, as SigLIP does") { check_pictures<smaller>("smaller"); }

TEST_CASE("parameters are those of the tower for pictures of the other size") {
  const auto here = layer::parameters_of<vit<larger>>(), there = layer::parameters_of<vit<as_learned>>();
  REQUIRE(here.size() == there.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    CHECK(here[i].name == there[i].name);
    CHECK(here[i].rows == there[i].rows);
    CHECK(here[i].offset == there[i].offset);
  }
}
