// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/heads_exchange.hpp>

#include <doctest/doctest.h>

#include <gpu_context_attention.hpp>

namespace motet {
namespace {

template <class T, class Master>
double error_of(const laws::attention_problem<T, Master>& p, const laws::spread_of& how) {
  return laws::gpu_context_attention_error(
      p, how, false, [](motet::cuda::context& ctx, const auto& problem, matrix<T> qkv, matrix<T> y, matrix<Master>, matrix<const T> dy) {
        exchanged_heads<T, Master> kept;
        reserve_exchanged(ctx, problem.shape, kept);
        heads_attention_forward(ctx, problem.shape, matrix<const T>(qkv), kept, y);
        heads_attention_backward(ctx, problem.shape, kept, dy, qkv);
      });
}

const std::vector<index> ragged = {0, 5, 5, 6, 21, 23};

TEST_CASE("attention over exchanged heads is that of one rank") {
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

TEST_CASE("each rank keeps its share of the heads and no more") {
  spread_rows rows({1, 0, 4, 3, false}, 2);
  spread is;
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
