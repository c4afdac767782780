// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/in_halves.hpp>

#include <motet/nn/towers/decoder.hpp>
#include <motet/nn/towers/vit_rows.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr vit_config sight{.image = 4, .patch = 2, .width = 8, .layers = 3, .heads = 2, .hidden = 9};
constexpr decoder_config words{
    .vocabulary = 9, .context = 6, .width = 8, .layers = 2, .heads = 2, .hidden = 9, .adapters = {.rank = 2}};
using eye = in_halves<vit_rows<sight>>;
using talk = in_halves<decoder<words>>;

}  // namespace

// tests/unit/nn/compose/stage.cpp compares all cuts of such towers with the whole.
TEST_CASE("a plan counts two layers for each block, and a run its blocks") {
  static_assert(eye::stage::layers == 6 && eye::stage::whole_blocks == 3);
  static_assert(vit_rows<sight>::stage::layers == 3 && vit_rows<sight>::stage::whole_blocks == 3);
  static_assert(eye::parameter_size == vit_rows<sight>::parameter_size);
  CHECK(eye::stage::check({1, 2}).ok());
  CHECK(eye::stage::check({1, 7}).why == reason::stage_outside);
}
TEST_CASE("adapters lie beside the halves that they belong to") {
  motet::isize at = 0;
  for (motet::isize half = 0; half < 4; ++half) {
    const interval own = talk::stage::adapters_of({half, half + 1});
    CHECK(own.begin == at);
    motet::isize held = 0;
    for (const parameter& each : talk::stage::parameters_of("", {half, half + 1}, {}, listed::adapters))
      held += parameter_space(each.held());
    CHECK(own.size() == held);
    at = own.end;
  }
  CHECK(at == decoder<words>::adapter_size);
}
