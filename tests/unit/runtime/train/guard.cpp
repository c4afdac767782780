// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/guard.hpp>

#include <doctest/doctest.h>

#include <limits>

using namespace motet;

TEST_CASE("the first bad tensor is found, and how many there are") {
  parameter_list list;
  list.vector("a", 4, {});
  list.vector("b", 4, {});
  list.vector("c", 4, {});
  std::vector<float> all(static_cast<std::size_t>(list.used()));
  CHECK(first_bad_tensor<float>(list.items(), all.data(), list.used()).bad == 0);
  all[16 + 2] = -std::numeric_limits<float>::infinity();
  all[32] = std::numeric_limits<float>::quiet_NaN();
  const bad_tensor found = first_bad_tensor<float>(list.items(), all.data(), list.used());
  CHECK(found.name == "b");
  CHECK(found.element == 2);
  CHECK(found.value < 0);
  CHECK(found.bad == 2);
  CHECK(found.tensors == 3);
  CHECK(first_bad_tensor<float>(list.items(), all.data(), 16).bad == 0);
}
