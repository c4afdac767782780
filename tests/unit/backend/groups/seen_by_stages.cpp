// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/groups/seen_by_stages.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace motet;

namespace {

struct common {
  virtual ~common() = default;
  virtual int number() const = 0;
};
template <int Number>
struct own : common {
  using seen = common;
  int number() const override { return Number; }
};
struct plain {};

}  // namespace

TEST_CASE("stages see the base that several transports name, and any other as it is") {
  static_assert(std::is_same_v<seen_by_stages<own<1>>, seen_by_stages<own<2>>>);
  static_assert(std::is_same_v<seen_by_stages<plain>, plain>);
  const own<2> two;
  const seen_by_stages<own<2>>& seen = two;
  CHECK(seen.number() == 2);
}
