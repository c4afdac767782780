// SPDX-License-Identifier: Apache-2.0
#include <motet/model/module.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

struct net {
  using input = int;
  static constexpr motet::isize embedding = 12;
};
using learning = motet::module<"picture", net>;
using fixed = motet::module<"picture", motet::frozen<net>>;

}  // namespace

static_assert(!learning::frozen && fixed::frozen);
static_assert(learning::embedding == 12 && fixed::embedding == 12);
static_assert(std::is_same_v<fixed::input, int>);
static_assert(!std::is_same_v<learning, motet::module<"caption", net>>);

TEST_CASE("a module carries its name") { CHECK(learning::name == "picture"); }
