// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/measure_operations.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace motet;

TEST_CASE("every kind of operation has a rate, of blocks of any width, and nothing of it is left") {
  cpu::device on(2);
  for (const isize width : {16, 64, 320})
    for (const operation_rates& each :
         {cpu::measure_operations(on, 0.0f, width), cpu::measure_operations(on, bf16(), width)})
      for (const double rate : {each.products, each.attention, each.elements}) {
        CHECK(rate > 0);
        CHECK(std::isfinite(rate));
      }
  CHECK(on.costs().flops() == 0);
}
