// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/ring_attention.hpp>

#include <doctest/doctest.h>

#include <gpu_context_attention.hpp>

namespace motet {
namespace {

template <class T, class Master>
double error_of(const laws::attention_problem<T, Master>& p, const laws::spread_of& how) {
  return laws::gpu_context_attention_error(
      p, how, true, [](motet::cuda::context& ctx, const auto& problem, matrix<T> qkv, matrix<T> y, matrix<Master> lse, matrix<const T> dy) {
        const auto q = problem.queries(qkv), k = problem.keys(qkv), v = problem.values(qkv);
        ring_attention_forward(ctx, problem.shape, q, k, v, y, lse);
        ring_attention_backward(ctx, problem.shape, q, k, v, y, lse, dy, q, k, v);
      });
}

const std::vector<index> ragged = {0, 5, 5, 6, 21, 23};

TEST_CASE("ring attention is that of one rank") {
  for (const attention_shape& shape : laws::attention_shapes()) {
    CAPTURE(shape.heads);
    CAPTURE(shape.kv_heads);
    const laws::attention_problem<double, double> p(shape, {5, 1, ragged.data()});
    for (const index context : {1, 2, 3}) {
      CAPTURE(context);
      CHECK(error_of(p, {1, context, shape.mask == mask_kind::causal, 1}) <= 1e-12);
    }
  }
}

TEST_CASE("in float and in bf16") {
  const attention_shape shape{6, 2, 8, mask_kind::causal, 0};
  CHECK(error_of(laws::attention_problem<float, float>(shape, {5, 1, ragged.data()}), {1, 4, true, 1}) <= 1e-5);
  CHECK(error_of(laws::attention_problem<float, float>({4, 1, 8, mask_kind::full, 0.4}, {2, 9, nullptr}), {1, 2, false, 1}) <= 1e-5);
  CHECK(error_of(laws::attention_problem<bf16, float>(shape, {3, 17, nullptr}), {1, 4, true, 1}) <= 0.02);
}

TEST_CASE("drawn heads, samples and ranks") {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    CAPTURE(seed);
    laws::drawn_attention drawn(seed);
    for (index& each : drawn.offsets) each = (each + 3) / 4;
    const laws::attention_problem<double, double> p(drawn.shape, drawn.whole());
    CHECK(error_of(p, drawn.how) <= 1e-12);
  }
}

TEST_CASE("beside tensor parallelism, and with nothing to do") {
  const attention_shape shape{5, 5, 8, mask_kind::causal, 0};
  CHECK(error_of(laws::attention_problem<double, double>(shape, {4, 11, nullptr}), {2, 2, true, 1}) <= 1e-12);
  CHECK(error_of(laws::attention_problem<double, double>(shape, {0, 11, nullptr}), {1, 3, false, 1}) == 0);
  CHECK(error_of(laws::attention_problem<double, double>(shape, {2, 1, nullptr}), {1, 3, true, 1}) <= 1e-12);
  const attention_shape no_heads{0, 0, 8, mask_kind::full, 0};
  CHECK(error_of(laws::attention_problem<double, double>(no_heads, {4, 11, nullptr}), {1, 2, false, 1}) == 0);
}

TEST_CASE("large scores do not overflow") {
  const laws::attention_problem<float, float> p({2, 2, 16, mask_kind::full, 0}, {2, 20, nullptr}, 20);
  // Of a lse beyond a thousand, a float has four digits after the point.
  CHECK(error_of(p, {1, 3, false, 1}) <= 1e-3);
}

TEST_CASE("what is done is noted once") {
  spread_rows rows({1, 0, 2, 1, true}, 2);
  spread is;
  is.context = any_group(2, 1);
  rows.fill({2, 10, nullptr}, is);
  motet::cuda::profile noted;
  motet::cuda::context ctx;
  ctx.costs = &noted;
  ctx.shared = &is;
  const matrix<float> x{reinterpret_cast<float*>(64), 10, 32, 32}, lse{reinterpret_cast<float*>(64), 10, 2, 2};
  ring_attention_forward(ctx, {2, 2, 16, mask_kind::causal, 0}, x, x, x, x, lse);
  CHECK(noted.begin()->flops == 4.0 * 32 * 2 * 5 * 10);
}

}  // namespace
}  // namespace motet
