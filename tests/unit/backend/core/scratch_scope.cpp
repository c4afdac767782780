// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/core/scratch_scope.hpp>
#include <motet/tensor/arena.hpp>

#include <doctest/doctest.h>

namespace motet {
namespace {

struct any_context {
  arena scratch;
};

TEST_CASE("scopes lie inside each other and give back what was taken in them") {
  any_context ctx;
  ctx.scratch.take<char>(10);
  const isize before = ctx.scratch.mark();
  {
    const scratch_scope outer(ctx);
    ctx.scratch.take<char>(100);
    const isize between = ctx.scratch.mark();
    {
      const scratch_scope inner(ctx);
      ctx.scratch.take<char>(1000);
    }
    CHECK(ctx.scratch.mark() == between);
  }
  CHECK(ctx.scratch.mark() == before);
  CHECK(ctx.scratch.peak() == before + round_up(100, arena::alignment) + round_up(1000, arena::alignment));
}

}  // namespace
}  // namespace motet
