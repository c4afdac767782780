// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/core/weight_lender.hpp>

#include <motet/backend/cpu/device/context.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

struct memory {
  int asked = 0;
  float numbers[4] = {1, 2, 3, 4};
  weight_lender lender() {
    const float* const first = standing_address<float>();
    return {[](void* self, const void* data, motet::isize count) -> const void* {
              auto& own = *static_cast<memory*>(self);
              CHECK(data == standing_address<float>() + 1);
              CHECK(count == 3);
              ++own.asked;
              return own.numbers + 1;
            },
            this, first, first + 4};
  }
};

}  // namespace

TEST_CASE("a lender is asked for what stands for weights, and for nothing else") {
  const float* const first = standing_address<float>();
  memory has;
  std::byte some[64];
  cpu::context ctx;
  ctx.lender = has.lender();
  CHECK(weights_at(ctx, first + 1, 3) == first + 1);  // nothing is there while memory is measured
  ctx.memory = arena(some, 64);
  CHECK(weights_at(ctx, first + 1, 0) == first + 1);
  CHECK(weights_at(ctx, has.numbers, 3) == has.numbers);  // lent already
  CHECK(weights_at(ctx, first + 4, 3) == first + 4);
  CHECK(has.asked == 0);
  CHECK(weights_at(ctx, first + 1, 3)[0] == 2);
  CHECK(has.asked == 1);
  ctx.lender = {};
  CHECK(weights_at(ctx, first + 1, 3) == first + 1);
  CHECK_FALSE(weight_lender{}.lends(first));
}
