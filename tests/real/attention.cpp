// SPDX-License-Identifier: Apache-2.0
// no GPUs
// Graphs of attention before the real cuDNN, which is told of chips that are not here: what it refuses, has no kernel for or cannot compile shows.
// What its kernels compute does not.
#include <motet/backend/cuda/attention_plans.hpp>
#include <motet/backend/cuda/attention_samples.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "support/driver/chips.hpp"

#if MOTET_CUDNN_ATTENTION

namespace motet {
namespace {

using cuda::detail::attention_problem;

// Asks for a plan; what it says is listed.
struct library {
  cuda::detail::cudnn_object chip{CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR};
  explicit library(const chips::properties& of) {
    if (cudnnGetVersion() < 91700) std::exit(77);  // too old for our backend, too
    const std::string json = chips::json(of);
    chip.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, json.data(), static_cast<std::int64_t>(json.size()));
    REQUIRE(chip.finish());
  }
  bool takes(const attention_problem& problem, index most_workspace = index(2) << 30) {
    const cuda::detail::cudnn_attention_plan plan({nullptr, &chip}, problem);
    char said[200] = {};
    if (!plan.usable()) cudnnGetLastErrorString(said, sizeof(said));
    const auto size = [](index n) { return std::to_string(n); };
    std::string line = problem.backward ? "backward" : "forward";
    for (const auto& [is, word] : {std::pair{!problem.deterministic, ", any order"},
                                   {problem.ragged, ", ragged"},
                                   {problem.padded, ", lengths"},
                                   {problem.causal, ", causal"},
                                   {problem.ends_meet, " from the ends"}})
      if (is) line += word;
    line += ", " + size(problem.q_rows) + " x " + size(problem.kv_rows) + ", heads " + size(problem.heads) + " of " + size(problem.kv_heads);
    MESSAGE(line, ", ", problem.width, " wide: ", plan.usable() ? size(plan.workspace()) + " bytes" : "no plan: " + std::string(said));
    return plan.usable() && plan.workspace() <= most_workspace;
  }
};

// Heads of one matrix of queries, keys and values, and of a matrix of gradients like it.
attention_problem fused(bool backward, index samples, index rows, index heads, index kv_heads, index width) {
  attention_problem p;
  p.backward = backward;
  p.samples = samples, p.q_rows = p.kv_rows = rows, p.heads = heads, p.kv_heads = kv_heads, p.width = width;
  const index out = heads * width, all = out + 2 * kv_heads * width;
  for (const int i : {0, 1, 2, 6, 7, 8}) p.strides[i] = all;
  p.strides[3] = p.strides[5] = out, p.strides[4] = heads;
  return p;
}
// Samples of one length have no masks of lengths, whatever the length.
attention_problem pictures(bool backward, index rows) { return fused(backward, 256, rows, 12, 12, 64); }
attention_problem even_texts(bool backward) {
  attention_problem p = fused(backward, 512, 77, 12, 12, 64);
  p.causal = true;
  return p;
}
// A picked row asks all rows of its sample: keys and values side by side, queries and gradients of either apart.
attention_problem picked(bool backward) {
  attention_problem p = fused(backward, 512, 257, 16, 16, 64);
  p.q_rows = 1;
  for (const int i : {0, 6}) p.strides[i] = 16 * 64;
  for (const int i : {1, 2, 7, 8}) p.strides[i] = 2 * 16 * 64;
  return p;
}
attention_problem texts(bool backward, index kv_heads, index width) {
  attention_problem p = fused(backward, 256, cuda::detail::planned_rows(77), 8, kv_heads, width);
  p.ragged = p.padded = p.causal = true;
  return p;
}

TEST_CASE("Hopper: pictures and texts") {
  library h200(chips::h200);
  for (const bool backward : {false, true}) {
    CHECK(h200.takes(pictures(backward, 256)));
    CHECK(h200.takes(pictures(backward, 197)));
    for (const bool deterministic : {true, false}) {
      for (attention_problem each : {fused(backward, 512, 257, 16, 16, 64), even_texts(backward), picked(backward)}) {
        each.deterministic = deterministic || !backward;
        if (deterministic || backward) CHECK(h200.takes(each));
      }
    }
    CHECK(h200.takes(texts(backward, 8, 64)));
    CHECK(h200.takes(texts(backward, 2, 128)));
    CHECK(h200.takes(texts(backward, 8, 80)));
  }
}

TEST_CASE("Hopper: queries of other lengths, one pooled row for each sample, wide heads") {
  library h200(chips::h200);
  for (const bool backward : {false, true}) {
    attention_problem ends = texts(backward, 4, 64);
    ends.ends_meet = true, ends.q_rows = 64;
    CHECK(h200.takes(ends));
    attention_problem pooled = texts(backward, 8, 64);
    pooled.causal = false, pooled.q_rows = 1;
    CHECK(h200.takes(pooled));
    CHECK(h200.takes(texts(backward, 8, 256)));
  }
  CHECK_FALSE(h200.takes(texts(true, 8, 264)));
}

TEST_CASE("Hopper: a fixed order of sums is paid for with memory") {
  library h200(chips::h200);
  attention_problem large = fused(true, 8, 4096, 32, 8, 128);
  large.causal = true;
  CHECK_FALSE(h200.takes(large));
  large.heads = 4, large.kv_heads = 1;  // a part of them
  CHECK(h200.takes(large));
  large.heads = 32, large.kv_heads = 8;
  large.deterministic = false;
  CHECK(h200.takes(large, index(3) << 30));
  attention_problem text = texts(true, 8, 64);
  text.deterministic = false;
  CHECK(h200.takes(text, 200 << 20));
}

TEST_CASE("Ampere") {
  library a100(chips::a100);
  for (const bool backward : {false, true}) CHECK(a100.takes(pictures(backward, 197)));
  CHECK(a100.takes(texts(false, 8, 64)));
  CHECK_FALSE(a100.takes(texts(true, 8, 64)));
}

}  // namespace
}  // namespace motet

#else

TEST_CASE("without cuDNN there is nothing to ask") { std::exit(77); }

#endif
