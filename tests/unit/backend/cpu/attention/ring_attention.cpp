// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/cpu/attention/ring_attention.hpp>

#include "../../../../laws/context_attention_laws.hpp"

#include <doctest/doctest.h>

namespace motet {
namespace {

constexpr auto error_of = []<class T, class Master>(const laws::attention_problem<T, Master>& p,
                                                    const laws::spread_of& how) {
  return laws::context_attention_error(
      p, how, true,
      [](cpu::context& ctx, const auto& problem, matrix<T> qkv, matrix<T> y, matrix<Master> lse,
         matrix<const T> dy) {
        const auto q = problem.queries(qkv), k = problem.keys(qkv), v = problem.values(qkv);
        ring_attention_forward(ctx, problem.shape, q, k, v, y, lse);
        ring_attention_backward(ctx, problem.shape, q, k, v, y, lse, dy, q, k, v);
      });
};

TEST_CASE("ring attention is that of one rank, fp64") {
  laws::check_context_shapes<double, double>(laws::ragged_rows(), 4, true, 1e-12, error_of);
}
TEST_CASE("ring attention is that of one rank, fp32") {
  laws::check_context_shapes<float, float>(laws::ragged_rows(), 2, true, 1e-5, error_of);
}
TEST_CASE("ring attention is that of one rank, bf16") { laws::check_context_bf16(error_of); }

TEST_CASE("samples of many tiles") {
  const laws::attention_problem<float, float> p({2, 1, 16, mask_kind::causal, 0}, {1, 1400, nullptr});
  CHECK(error_of(p, {1, 2, true, 1}) <= 1e-5);
  CHECK(error_of(p, {1, 2, false, 1}) <= 1e-5);
}

TEST_CASE("drawn heads, samples and ranks") { laws::check_context_drawn(25, 1, error_of, true); }
TEST_CASE("beside tensor parallelism, with several threads, and with nothing to do") {
  laws::check_context_corners(3, 3, error_of);
}

TEST_CASE("large scores do not overflow") {
  const laws::attention_problem<float, float> p({2, 2, 16, mask_kind::full, 0}, {2, 40, nullptr}, 20);
  CHECK(error_of(p, {1, 3, false, 1}) <= 3e-4);
}

}  // namespace
}  // namespace motet
