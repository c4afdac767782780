// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/cpu/attention/heads_exchange.hpp>

#include "../../../../laws/context_attention_laws.hpp"

#include <doctest/doctest.h>

namespace motet {
namespace {

constexpr auto error_of = []<class T, class Master>(const laws::attention_problem<T, Master>& p,
                                                    const laws::spread_of& how) {
  return laws::context_attention_error(p, how, false,
                                       [](cpu::context& ctx, const auto& problem, matrix<T> qkv, matrix<T> y,
                                          matrix<Master>, matrix<const T> dy) {
                                         exchanged_heads<T, Master> kept;
                                         reserve_exchanged(ctx, problem.shape, kept);
                                         heads_attention_forward(ctx, problem.shape, matrix<const T>(qkv),
                                                                 kept, y);
                                         heads_attention_backward(ctx, problem.shape, kept, dy, qkv);
                                       });
};

TEST_CASE("attention over exchanged heads is that of one rank, fp64") {
  laws::check_context_shapes<double, double>(laws::ragged_rows(), 4, true, 1e-12, error_of);
}
TEST_CASE("attention over exchanged heads is that of one rank, fp32") {
  laws::check_context_shapes<float, float>(laws::ragged_rows(), 2, true, 1e-5, error_of);
}
TEST_CASE("attention over exchanged heads is that of one rank, bf16") { laws::check_context_bf16(error_of); }

TEST_CASE("drawn heads, samples and ranks") { laws::check_context_drawn(25, 1, error_of, true); }
TEST_CASE("beside tensor parallelism, with several threads, and with nothing to do") {
  laws::check_context_corners(5, 3, error_of);
}

TEST_CASE("each rank keeps its share of the heads and no more") {
  spread_rows rows({1, 0, 4, 3, false}, 2);
  microbatch_spread is;
  is.context = any_group(4, 3);
  rows.fill({2, 10, nullptr}, is);
  cpu::context ctx;
  ctx.shared = &is;
  exchanged_heads<float, float> kept;
  reserve_exchanged(ctx, {6, 6, 16, mask_kind::full, 0}, kept);
  CHECK(kept.qkv.rows == 20);
  CHECK(kept.qkv.width == 3 * 16);
  CHECK(kept.mixed.width == 16);
  CHECK(kept.lse.width == 1);
}

}  // namespace
}  // namespace motet
