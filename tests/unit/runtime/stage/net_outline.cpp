// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/net_outline.hpp>

#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

using namespace motet;

namespace {

using ear = text_tower<text_config{
    .vocabulary = 20, .context = 6, .width = 8, .layers = 3, .heads = 2, .embedding = 4}>;
using eye = vit<vit_config{.image = 4, .patch = 2, .width = 8, .layers = 1, .heads = 1, .embedding = 8}>;
using stage = ear::stage;

}  // namespace

TEST_CASE("an outline tells a net's sizes, parameters and what its input may be") {
  const net_outline& of = outline_of_net<ear>;
  CHECK(of.layers == 3);
  CHECK(of.width == 8);
  CHECK(of.embedding == 4);
  CHECK(of.span_of({0, 3}, {}).size() == ear::parameter_size);
  CHECK(of.span_of({1, 2}, {}).begin == stage::parameter_begin({1, 2}));
  CHECK(of.parameters_of("ear", {0, 1}, {}).size() == stage::parameters_of("ear", {0, 1}).size());
  CHECK(of.gradient_parts({0, 3}, {}).size() == stage::gradient_parts({0, 3}).size());
  const std::vector<std::int32_t> ids(40, 1);
  const tokens four{ids.data(), {4, 6, nullptr}}, longer{ids.data(), {4, 7, nullptr}};
  CHECK(of.samples(&four) == 4);
  CHECK(of.fits(&four, 4));
  CHECK_FALSE(of.fits(&four, 3));
  CHECK_FALSE(of.fits(&longer, 4));
  CHECK(of.longest() == 6);
  CHECK(of.first_bad_sample(&four) == -1);

  std::vector<float> pixels(3 * 16 * 3, 0.5f);
  const pictures three{pixels.data(), 3};
  CHECK(outline_of_net<eye>.first_bad_sample(&three) == -1);
  pixels[3 * 16 + 7] = std::numeric_limits<float>::infinity();
  CHECK(outline_of_net<eye>.first_bad_sample(&three) == 1);
}
