// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/compose/halved.hpp>

#include <motet/nn/layers/linear.hpp>
#include <motet/nn/towers/in_halves.hpp>
#include <motet/nn/towers/vit_rows.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr vit_config sight{.image = 4, .patch = 2, .width = 8, .layers = 3, .heads = 2, .hidden = 9};
using net = vit_rows<sight>;
using stage = in_halves<net>::stage;

std::vector<std::string> names_of(stage_range r) {
  std::vector<std::string> out;
  for (const parameter& each : stage::parameters_of("eye", r)) out.push_back(each.name);
  return out;
}

}  // namespace

// tests/unit/nn/compose/stage.cpp compares what they compute with whole blocks.
TEST_CASE("blocks of two layers or more have halves, where rows between those are as wide") {
  using flat = linear<8, 8>;
  CHECK(has_halves<repeat<recompute<sequential<flat, flat, flat>>, 2>>);
  CHECK_FALSE(has_halves<repeat<recompute<sequential<flat>>, 2>>);
  CHECK_FALSE(has_halves<repeat<flat, 2>>);
  CHECK_FALSE(has_halves<repeat<recompute<sequential<linear<8, 16>, linear<16, 8>>>, 2>>);
}
TEST_CASE("halves have the parameters of their blocks, under the blocks' names and numbers") {
  CHECK(names_of({0, 1}).back() == "eye.blocks.0.attention.out.bias");
  CHECK(names_of({1, 2}).front() == "eye.blocks.0.mlp.norm.weight");
  CHECK(names_of({1, 4}).back() == "eye.blocks.1.mlp.down.bias");
  std::vector<std::string> all;
  motet::isize at = 0;
  for (motet::isize half = 0; half < 6; ++half) {
    const stage_range own{half, half + 1};
    CHECK(stage::parameter_begin(own) == at);
    at = stage::parameter_end(own);
    for (const parameter& each : stage::parameters_of("eye", own)) {
      all.push_back(each.name);
      if (each.name.find("blocks") != std::string::npos) CHECK(each.block == half / 2);
    }
  }
  CHECK(at == net::parameter_size);
  CHECK(all == names_of({0, 6}));
}
TEST_CASE("gradients end by whole blocks, and by halves where a stage begins or ends within one") {
  const auto ends = [](stage_range r) {
    std::vector<motet::isize> out;
    const motet::isize begin = stage::parameter_begin(r);
    for (const interval& each : stage::gradient_parts(r)) out.push_back(begin + each.end);
    return out;
  };
  const auto before = [](motet::isize half) { return stage::parameter_begin({half, 6}); };
  CHECK(ends({1, 5}) == std::vector<motet::isize>{before(2), before(4), before(5)});
  CHECK(ends({2, 3}) == std::vector<motet::isize>{before(3)});
  CHECK(stage::weight_parts({1, 5}).size() == 3);
  CHECK(stage::gradient_parts({0, 6}).size() == net::stage::gradient_parts({0, 3}).size());
}
