// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/exchange/cut_rows.hpp>
#include <motet/backend/exchange/spread_rows.hpp>

#include <doctest/doctest.h>

namespace motet {
namespace {

struct any_context {
  const microbatch_spread* shared = nullptr;
};

TEST_CASE("a rank by itself has no rows elsewhere") {
  any_context ctx;
  CHECK_FALSE(rows_are_cut(ctx));
  { const auto scope = on_whole_samples(ctx); }
  CHECK(ctx.shared == nullptr);
  microbatch_spread alone;
  ctx.shared = &alone;
  CHECK_FALSE(rows_are_cut(ctx));
  {
    const auto scope = on_whole_samples(ctx);
    CHECK(ctx.shared == &alone);
  }
}

TEST_CASE("between blocks and ends other rows are a rank's") {
  spread_rows rows({1, 0, 2, 1, false}, 3);
  microbatch_spread is;
  is.context = any_group(2, 1);
  rows.fill({3, 5, nullptr}, is);
  any_context ctx{&is};
  CHECK(rows_are_cut(ctx));
  CHECK(rows_of_blocks(ctx).rows() == 3 * 2);
  CHECK(rows_of_samples(ctx).rows() == 5);
  {
    const auto scope = on_whole_samples(ctx);
    CHECK_FALSE(rows_are_cut(ctx));
    CHECK(rows_of_blocks(ctx).rows() == 5);
    { const auto again = on_whole_samples(ctx); }
    CHECK(ctx.shared == is.ends);
  }
  CHECK(ctx.shared == &is);
}

}  // namespace
}  // namespace motet
