// SPDX-License-Identifier: Apache-2.0
// Where kernels are emulated, so is cuDNN: its headers are enough.
#if !defined(__CUDACC__) && !defined(MOTET_HAS_CUDNN) && __has_include(<cudnn.h>)
#define MOTET_HAS_CUDNN 1
#endif
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/attention_graph.hpp>

#include <doctest/doctest.h>

#include <algorithm>

#if MOTET_CUDNN_ATTENTION

namespace motet {
namespace {

using motet::cuda::detail::attention_graph, motet::cuda::detail::attention_problem;
namespace ids = motet::cuda::detail::attention_ids;

attention_problem problem(bool backward, int kv_heads) {
  attention_problem p;
  p.backward = backward;
  p.samples = 3, p.q_rows = 64, p.kv_rows = 96, p.heads = 6, p.kv_heads = kv_heads, p.width = 16;
  for (isize& stride : p.strides) stride = 200;
  return p;
}
// Says whether the library takes the operations as one graph.
bool is_graph(const attention_graph& of) {
  cudnnHandle_t library = nullptr;
  REQUIRE(cudnnCreate(&library) == CUDNN_STATUS_SUCCESS);
  motet::cuda::detail::cudnn_object graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &library);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, of.operations().data(),
            static_cast<std::int64_t>(of.operations().size()));
  const bool good = graph.finish();
  cudnnDestroy(library);
  return of.good() && good;
}

TEST_CASE("graphs of all kinds") {
  for (const bool backward : {false, true})
    for (const int lengths : {0, 1, 2})
      for (const int mask : {0, 1, 2})
        for (const int kv_heads : {6, 2})
          for (const bool deterministic : {false, true}) {
            attention_problem p = problem(backward, kv_heads);
            p.padded = lengths > 0 || mask == 2, p.ragged = lengths == 2, p.causal = mask > 0,
            p.ends_meet = mask == 2;
            p.deterministic = deterministic || !backward;
            const attention_graph made(p);
            CHECK(is_graph(made));
            const auto given = [&](std::int64_t id) {
              return std::count(made.given().begin(), made.given().end(), id);
            };
            for (int i = 0; i < attention_problem::most_tensors; ++i) {
              CHECK(given(ids::tensors + i) == (i < p.tensors() ? 1 : 0));
              CHECK(given(ids::offsets + i) == (i < p.tensors() && p.ragged ? 1 : 0));
            }
            CHECK(given(ids::scale) == 1);
            CHECK(given(ids::nothing) == (p.padded || p.causal ? 1 : 0));
            CHECK(given(ids::one) == (backward ? 1 : 0));
            CHECK(given(ids::q_lengths) == (p.padded ? 1 : 0));
            CHECK(given(ids::kv_lengths) == (p.padded ? 1 : 0));
            CHECK(given(ids::row_sums) == (backward ? 1 : 0));
            CHECK(given(ids::dq_sums) == (p.deterministic ? 0 : 1));
            CHECK(made.row_sums() == (backward ? 3 * 6 * 64 : 0));
            CHECK(made.dq_sums() == (p.deterministic ? 0 : 3 * 6 * 64 * 16));
          }
}

#if !defined(__CUDACC__)
TEST_CASE("what does not fit is no graph") {
  attention_problem p = problem(false, 6);
  p.heads = 4;  // six of keys
  CHECK_FALSE(is_graph(attention_graph(p)));
  p = problem(true, 6);
  p.width = 0;
  CHECK_FALSE(is_graph(attention_graph(p)));
}
#endif

}  // namespace
}  // namespace motet

#else

TEST_CASE("without cuDNN there is nothing of it") { CHECK(MOTET_CUDNN_ATTENTION == 0); }

#endif
