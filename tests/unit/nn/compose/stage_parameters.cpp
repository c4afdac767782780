// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/compose/stage_parameters.hpp>

#include <motet/nn/towers/vit.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

using eye =
    vit<vit_config{.image = 4, .patch = 2, .width = 8, .layers = 4, .heads = 2, .hidden = 9, .embedding = 5}>;
using held = stage_parameters<eye>;

}  // namespace

TEST_CASE("stages own a tower's parameters, each once, and their gradients end in stretches of these") {
  CHECK_EQ(held::parameter_begin({0, 4}), 0);
  CHECK_EQ(held::parameter_end({0, 4}), eye::parameter_size);
  for (motet::isize cut = 1; cut < 4; ++cut) {
    const stage_range first{0, cut}, last{cut, 4};
    CHECK_EQ(held::parameter_end(first), held::parameter_begin(last));
    for (const stage_range& each : {first, last}) {
      const motet::isize size = held::parameter_end(each) - held::parameter_begin(each);
      motet::isize at = 0;
      for (const parameter& one : held::parameters_of("", each)) CHECK(one.offset + one.held() <= size);
      for (const interval& part : held::gradient_parts(each)) {
        CHECK_EQ(part.begin, at);
        at = part.end;
      }
      CHECK_EQ(at, size);
    }
  }
  CHECK(held::check({2, 4}).ok());
  CHECK(held::check({2, 5}).why == reason::stage_outside);
  CHECK(held::check({3, 3}).why == reason::stage_outside);
}
