// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/ring_attention.hpp>

#include <doctest/doctest.h>

#include <gpu_context_attention.hpp>

namespace motet {
namespace {

constexpr auto error_of = []<class T, class Master>(const laws::attention_problem<T, Master>& p,
                                                    const laws::spread_of& how) {
  return laws::gpu_context_attention_error(
      p, how, true,
      [](motet::cuda::context& ctx, const auto& problem, matrix<T> qkv, matrix<T> y, matrix<Master> lse,
         matrix<const T> dy) {
        const auto q = problem.queries(qkv), k = problem.keys(qkv), v = problem.values(qkv);
        ring_attention_forward(ctx, problem.shape, q, k, v, y, lse);
        ring_attention_backward(ctx, problem.shape, q, k, v, y, lse, dy, q, k, v);
      });
};

const std::vector<isize> ragged = {0, 5, 5, 6, 21, 23};

TEST_CASE("ring attention is that of one rank") {
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

TEST_CASE("large scores do not overflow") {
  const laws::attention_problem<float, float> p({2, 2, 16, mask_kind::full, 0}, {2, 20, nullptr}, 20);
  // Of a lse beyond a thousand, a float has four digits after the point.
  CHECK(error_of(p, {1, 3, false, 1}) <= 1e-3);
}

TEST_CASE("what is done is noted once") {
  spread_rows rows({1, 0, 2, 1, true}, 2);
  microbatch_spread is;
  is.context = any_group(2, 1);
  rows.fill({2, 10, nullptr}, is);
  motet::cuda::profile noted;
  motet::cuda::context ctx;
  ctx.costs = &noted;
  ctx.shared = &is;
  const matrix<float> x{reinterpret_cast<float*>(64), 10, 32, 32},
      lse{reinterpret_cast<float*>(64), 10, 2, 2};
  ring_attention_forward(ctx, {2, 2, 16, mask_kind::causal, 0}, x, x, x, x, lse);
  CHECK(noted.begin()->flops == 4.0 * 32 * 2 * 5 * 10);
}

}  // namespace
}  // namespace motet
