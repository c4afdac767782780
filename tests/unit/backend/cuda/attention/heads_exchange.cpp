// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/heads_exchange.hpp>

#include <doctest/doctest.h>

#include <gpu_context_attention.hpp>

namespace motet {
namespace {

constexpr auto error_of = []<class T, class Master>(const laws::attention_problem<T, Master>& p,
                                                    const laws::spread_of& how) {
  return laws::gpu_context_attention_error(p, how, false,
                                           [](motet::cuda::context& ctx, const auto& problem, matrix<T> qkv,
                                              matrix<T> y, matrix<Master>, matrix<const T> dy) {
                                             exchanged_heads<T, Master> kept;
                                             reserve_exchanged(ctx, problem.shape, kept);
                                             heads_attention_forward(ctx, problem.shape, matrix<const T>(qkv),
                                                                     kept, y);
                                             heads_attention_backward(ctx, problem.shape, kept, dy, qkv);
                                           });
};

const std::vector<isize> ragged = {0, 5, 5, 6, 21, 23};

TEST_CASE("attention over exchanged heads is that of one rank") {
  laws::check_context_shapes<double, double>({5, 1, ragged.data()}, 3, false, 1e-12, error_of);
}

TEST_CASE("in float and in bf16") {
  const attention_shape shape{6, 2, 8, mask_kind::causal, 0};
  CHECK(error_of(laws::attention_problem<float, float>(shape, {5, 1, ragged.data()}), {1, 4, true, 1}) <=
        1e-5);
  CHECK(error_of(laws::attention_problem<float, float>({4, 1, 8, mask_kind::full, 0.4}, {2, 9, nullptr}),
                 {1, 2, false, 1}) <= 1e-5);
  laws::check_context_bf16(error_of);
}

TEST_CASE("drawn heads, samples and ranks") { laws::check_context_drawn(6, 4, error_of); }
TEST_CASE("beside tensor parallelism, and with nothing to do") {
  laws::check_context_corners(5, 1, error_of);
}

TEST_CASE("each rank keeps its share of the heads and no more") {
  spread_rows rows({1, 0, 4, 3, false}, 2);
  microbatch_spread is;
  is.context = any_group(4, 3);
  rows.fill({2, 10, nullptr}, is);
  motet::cuda::context ctx;
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
