// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/picture_rows.hpp>

#include "layer_laws.hpp"

using namespace motet;

namespace {

constexpr vit_config plain{.image = 4,
                           .patch = 2,
                           .channels = 1,
                           .width = 8,
                           .layers = 2,
                           .heads = 2,
                           .hidden = 6,
                           .pool = pool_kind::mean};
constexpr vit_config clip = [] {
  vit_config c = plain;
  c.pool = pool_kind::first;
  c.pre_norm = true;
  c.layers = 1;
  return c;
}();

template <class Eye>
void check_eye() {
  for (const motet::isize samples : {0, 1, 3}) {
    const laws::picture_batch batch(samples, 1, 4);
    laws::check_laws(laws::embedding_subject<Eye>{batch.input}, {.half = 6e-2, .samples_of_tensor = 3});
  }
}

}  // namespace

static_assert(picture_rows<plain>::rows_of_picture == 4);
static_assert(picture_rows<clip>::rows_of_picture == 5, "the class token goes on");
static_assert(picture_rows<plain, false>::parameter_size < picture_rows<plain>::parameter_size);

TEST_CASE("rows of patches, behind the last norm or before it") {
  check_eye<picture_rows<plain>>();
  check_eye<picture_rows<plain, false>>();
}
TEST_CASE("with a class token and a norm before the blocks") { check_eye<picture_rows<clip>>(); }

TEST_CASE("the parts that backward completes are all of the parameters, in order") {
  std::vector<motet::isize> sizes;
  picture_rows<plain>::gradient_sizes(sizes);
  CHECK_EQ(sizes.size(), 1 + 2 + 1);
  motet::isize sum = 0;
  for (const motet::isize each : sizes) sum += each;
  CHECK_EQ(sum, picture_rows<plain>::parameter_size);
}
