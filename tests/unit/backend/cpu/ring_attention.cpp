// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/cpu/ring_attention.hpp>

#include "../../../laws/context_attention_laws.hpp"

#include <doctest/doctest.h>

namespace motet {
namespace {

template <class T, class Master>
double error_of(const laws::attention_problem<T, Master>& p, const laws::spread_of& how) {
  return laws::context_attention_error(
      p, how, true, [](cpu::context& ctx, const auto& problem, matrix<T> qkv, matrix<T> y, matrix<Master> lse, matrix<const T> dy) {
        const auto q = problem.queries(qkv), k = problem.keys(qkv), v = problem.values(qkv);
        ring_attention_forward(ctx, problem.shape, q, k, v, y, lse);
        ring_attention_backward(ctx, problem.shape, q, k, v, y, lse, dy, q, k, v);
      });
}

template <class T, class Master>
void check_all(index most_ranks, double tolerance) {
  for (const attention_shape& shape : laws::attention_shapes()) {
    const sequences ragged{static_cast<index>(laws::ragged_rows().size()) - 1, 1, laws::ragged_rows().data()};
    const laws::attention_problem<T, Master> p(shape, ragged);
    for (index context = 1; context <= most_ranks; ++context)
      for (const bool balanced : {false, true}) {
        CAPTURE(context);
        CAPTURE(balanced);
        CAPTURE(shape.heads);
        CAPTURE(shape.kv_heads);
        CHECK(error_of(p, {1, context, balanced, 1}) <= tolerance);
      }
  }
}

TEST_CASE("ring attention is that of one rank, fp64") { check_all<double, double>(4, 1e-12); }
TEST_CASE("ring attention is that of one rank, fp32") { check_all<float, float>(2, 1e-5); }
TEST_CASE("ring attention is that of one rank, bf16") {
  const laws::attention_problem<bf16, float> p({6, 2, 8, mask_kind::causal, 0}, {3, 17, nullptr});
  CHECK(error_of(p, {1, 4, true, 1}) <= 0.02);
}

TEST_CASE("samples of many tiles") {
  const laws::attention_problem<float, float> p({2, 1, 16, mask_kind::causal, 0}, {1, 1400, nullptr});
  CHECK(error_of(p, {1, 2, true, 1}) <= 1e-5);
  CHECK(error_of(p, {1, 2, false, 1}) <= 1e-5);
}

TEST_CASE("drawn heads, samples and ranks") {
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    CAPTURE(seed);
    const laws::drawn_attention drawn(seed);
    const laws::attention_problem<double, double> p(drawn.shape, drawn.whole());
    CHECK(error_of(p, drawn.how) <= 1e-12);
  }
}

TEST_CASE("beside tensor parallelism, with several threads, and with nothing to do") {
  const attention_shape shape{3, 3, 8, mask_kind::causal, 0};
  CHECK(error_of(laws::attention_problem<double, double>(shape, {4, 11, nullptr}), {2, 2, true, 1}) <= 1e-12);
  CHECK(error_of(laws::attention_problem<double, double>(shape, {4, 11, nullptr}), {1, 2, false, 3}) <= 1e-12);
  CHECK(error_of(laws::attention_problem<double, double>(shape, {0, 11, nullptr}), {1, 3, false, 1}) == 0);
  CHECK(error_of(laws::attention_problem<double, double>(shape, {2, 1, nullptr}), {1, 3, true, 2}) <= 1e-12);
  const attention_shape no_heads{0, 0, 8, mask_kind::full, 0};
  CHECK(error_of(laws::attention_problem<double, double>(no_heads, {4, 11, nullptr}), {1, 2, false, 1}) == 0);
}

TEST_CASE("large scores do not overflow") {
  const laws::attention_problem<float, float> p({2, 2, 16, mask_kind::full, 0}, {2, 40, nullptr}, 20);
  CHECK(error_of(p, {1, 3, false, 1}) <= 3e-4);
}

}  // namespace
}  // namespace motet
