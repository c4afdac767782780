// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/disttrain/profile_paces.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr tower_outline eye{.name = "eye", .layers = 4, .width = 64, .heads = 4, .tokens = 17};
constexpr tower_outline talk{
    .name = "talk", .layers = 2, .width = 64, .heads = 4, .tokens = 48, .vocabulary = 256};
double multiplications(const tower_outline& of) {
  return static_cast<double>(of.layers) * work_of_part(of, tower_part::block).forward_flops / 2 +
         static_cast<double>(of.tokens * of.width * of.vocabulary);
}
list<module_facts> trained() {
  list<module_facts> out;
  out.push({.name = "eye", .layers = 4, .key_heads = 4, .meets = false, .work = multiplications(eye)});
  out.push({.name = "glue", .attends = false, .from = {0}, .meets = false});
  out.push({.name = "talk", .layers = 2, .key_heads = 4, .from = {1}, .work = multiplications(talk)});
  return out;
}
machine_profile profiled(const tower_outline& of) {
  machine_profile out;
  out.modules.push({of, {{1, 8, {}, {1e-3, 1e-3, 1e-3}, {}}}});
  return out;
}

}  // namespace

TEST_CASE("a module has the pace of the tower with its name, and what is not named has none") {
  const machine_profile from = profiled(talk);
  const list<measured_pace> found = paces_of(from, "p.json", trained(), 4);
  REQUIRE(found.size() == 3);
  CHECK(found[0].measured == nullptr);
  CHECK(found[1].measured == nullptr);
  CHECK(found[2].measured == &from.modules[0]);
  CHECK(found[2].layers == 2);
}

TEST_CASE("towers of other models, and other numbers, are refused by what differs") {
  const auto refused = [](tower_outline of, double bytes, const char* words) {
    CHECK_THROWS_WITH_AS(paces_of(profiled(of), "p.json", trained(), bytes), doctest::Contains(words), error);
  };
  tower_outline other = talk;
  other.layers = 3;
  refused(other, 4, "talk of p.json has layers 3, and the module that is trained has 2");
  other = talk;
  other.key_heads = 2;
  refused(other, 4, "talk of p.json has key heads 2, and the module that is trained has 4");
  for (const motet::isize width : {32, 128}) {
    other = eye;
    other.width = width;
    refused(other, 4, "eye of p.json has about so many thousand multiplications for a sample: ");
  }
  refused(talk, 2,
          "talk of p.json was measured with numbers of 4 bytes between layers, and the run has numbers of 2");
}
