// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/random_input.hpp>

#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
using ear = text_tower<text_config{
    .vocabulary = 20, .context = 6, .width = 8, .layers = 1, .heads = 2, .embedding = 4}>;
using eye = vit<vit_config{.image = 8, .patch = 4, .width = 8, .layers = 1, .heads = 2, .embedding = 4}>;
}  // namespace

TEST_CASE("captions are as long as they may be, of tokens that there are") {
  const random_input<ear> made(50);
  const tokens all = made.all();
  CHECK(all.seq.samples == 50);
  CHECK(all.seq.rows() == 300);
  CHECK(input_traits<ear>::fits(all, 50));
  bool seen[20] = {};
  for (motet::isize i = 0; i < 300; ++i) {
    REQUIRE((all.ids[i] >= 0 && all.ids[i] < 20));
    seen[all.ids[i]] = true;
  }
  for (const bool each : seen) CHECK(each);
}

TEST_CASE("pictures have normal pixels") {
  const random_input<eye> made(30);
  CHECK(made.all().samples == 30);
  double sum = 0, squares = 0;
  const motet::isize count = 30 * 3 * 8 * 8;
  for (motet::isize i = 0; i < count; ++i) {
    sum += static_cast<double>(made.all().pixels[i]);
    squares += static_cast<double>(made.all().pixels[i]) * static_cast<double>(made.all().pixels[i]);
  }
  CHECK(std::abs(sum / static_cast<double>(count)) < 0.05);
  CHECK(squares / static_cast<double>(count) == doctest::Approx(1).epsilon(0.05));
}

TEST_CASE("a seed says it all") {
  const random_input<eye> one(2, 1), same(2, 1), other(2, 2);
  CHECK(std::equal(one.all().pixels, one.all().pixels + 100, same.all().pixels));
  CHECK(!std::equal(one.all().pixels, one.all().pixels + 100, other.all().pixels));
}
