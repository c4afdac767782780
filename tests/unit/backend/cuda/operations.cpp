// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/operations.hpp>

#include <doctest/doctest.h>

using namespace motet;

// Nets call operations by name, found through the context alone. Whether all are there is proven where nets
// run on it; here, that one file brings them.
TEST_CASE("operations are found through a context") {
  motet::cuda::context ctx;
  const sequences seq{2, 3, nullptr};
  const auto x = ctx.memory.take_rows<float, 8>(6), y = ctx.memory.take_rows<float, 8>(6);
  add(ctx, seq, matrix<const float>(x), matrix<const float>(x), matrix<float>(y));
  synchronize(ctx);
  refresh_weights(ctx);
  CHECK(ctx.measuring());
}
