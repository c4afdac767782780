// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/compose/frozen.hpp>

#include <doctest/doctest.h>

namespace {

struct net {
  static constexpr motet::isize parameter_size = 5;
  static void parameters(motet::parameter_list& list) { list.vector("weight", 5, {}); }
};

}  // namespace

static_assert(!motet::is_frozen<net> && motet::is_frozen<motet::frozen<net>>);

TEST_CASE("freezing changes neither names nor sizes, so weights load into either") {
  CHECK_EQ(motet::frozen<net>::parameter_size, net::parameter_size);
  const auto learning = motet::layer::parameters_of<net>("net"),
             fixed = motet::layer::parameters_of<motet::frozen<net>>("net");
  REQUIRE_EQ(fixed.size(), 1);
  CHECK(fixed[0].name == learning[0].name);
  CHECK_EQ(fixed[0].offset, learning[0].offset);
}
