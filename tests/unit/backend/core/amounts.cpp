// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/backend/core/amounts.hpp>

#include <type_traits>

namespace motet {

static_assert(std::is_same_v<arithmetic<float, bf16>, float>);
static_assert(std::is_same_v<arithmetic<const bf16>, float>);
static_assert(std::is_same_v<arithmetic<float, const double>, double>);

TEST_CASE("what a matrix holds and what moves when it is touched once") {
  double one = 0;
  CHECK(bytes_in(matrix<double>{&one, 3, 5, 9}) == 120);
  CHECK(elements_in(matrix<double>{&one, 3, 5, 9}) == 15);
  CHECK(bytes_in(matrix<const bf16>{nullptr, 3, 5, 9}) == 0);
  CHECK(bytes_of<bf16> == 2);
}

}  // namespace motet
