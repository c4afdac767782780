// SPDX-License-Identifier: Apache-2.0
#include <motet/meta/fixed_string.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

template <motet::fixed_string Name>
struct named {
  static constexpr std::string_view name = Name.view();
};

}  // namespace

static_assert(std::is_same_v<named<"picture">, named<"picture">>);
static_assert(!std::is_same_v<named<"picture">, named<"caption">>);
static_assert(!std::is_same_v<named<"a">, named<"ab">>);
static_assert(motet::fixed_string("ab") == motet::fixed_string("ab"));
static_assert(!(motet::fixed_string("ab") == motet::fixed_string("abc")));
static_assert(motet::fixed_string("").view().empty());

TEST_CASE("a name in a type reads back as it was written") {
  CHECK(named<"picture">::name == "picture");
  CHECK(named<"bild ä">::name == "bild ä");
}
