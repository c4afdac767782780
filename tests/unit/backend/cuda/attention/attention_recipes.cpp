// SPDX-License-Identifier: Apache-2.0
// Where kernels are emulated, so is cuDNN: its headers are enough.
#if !defined(__CUDACC__) && !defined(MOTET_HAS_CUDNN) && __has_include(<cudnn.h>)
#define MOTET_HAS_CUDNN 1
#endif
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/attention_recipes.hpp>

#include <doctest/doctest.h>

#include "gpu_attention_laws.hpp"

#if MOTET_CUDNN_ATTENTION

namespace motet {
namespace {

using laws::gpu;

constexpr attention_shape shape(isize heads, isize kv_heads, isize width, mask_kind mask = mask_kind::full,
                                double scale = 0) {
  return {heads, kv_heads, width, mask, scale};
}
constexpr double allowed = laws::attention_allowed<bf16>;
motet::cuda::attention_recipes& recipes() { return gpu().part<motet::cuda::attention_recipes>(); }

struct batch {
  static constexpr isize samples = 2, length = 9, heads = 4, width = 16, all = 3 * heads * width;
  sequences seq{samples, length, nullptr};
  laws::on_gpu<bf16> qkv{laws::grid<bf16>(samples * length, all).random(1)},
      dy{laws::grid<bf16>(samples * length, heads* width).random(2)};
  laws::on_gpu<bf16> y{samples * length, heads* width}, d{samples * length, all};
  laws::on_gpu<float> lse{samples * length, heads};
  void run(motet::cuda::context& ctx, bool over = false) {
    const auto part = [](const matrix<bf16>& x, isize i) {
      return x.columns(i * heads * width, heads * width);
    };
    const matrix<bf16> x = qkv.all(), dx = over ? qkv.all() : d.all();
    attention_forward(ctx, seq, seq, shape(heads, heads, width), part(x, 0), part(x, 1), part(x, 2), y.all(),
                      lse.all());
    attention_backward(ctx, seq, seq, shape(heads, heads, width), part(x, 0), part(x, 1), part(x, 2), y.all(),
                       lse.all(), dy.all(), part(dx, 0), part(dx, 1), part(dx, 2));
  }
  void run_foretold(bool over = false) {
    laws::gpu_run_foretold([&](motet::cuda::context& ctx) { run(ctx, over); });
  }
};

TEST_CASE("it makes what our kernels make") {
  INFO(recipes().describe());
  batch by_library, own, over;
  auto& settings = gpu().part<motet::cuda::attention_settings>();
  const isize before = recipes().runs();
  by_library.run_foretold();
  over.run_foretold(true);
  CHECK(recipes().runs() == before + 4);
  settings.library = false;
  own.run_foretold();
  CHECK(recipes().describe() == "attention by own kernels");
  settings.library = true;
  CHECK(recipes().runs() == before + 4);
  CHECK(laws::distance(by_library.y.back(), own.y.back()) <= allowed);
  CHECK(laws::distance(by_library.lse.back(), own.lse.back()) <= 1e-5);
  CHECK(laws::distance(by_library.d.back(), own.d.back()) <= allowed);
  CHECK(laws::distance(over.qkv.back(), by_library.d.back()) == 0);
}

motet::cuda::detail::attention_problem problem_of_batch(bool backward, isize samples) {
  motet::cuda::detail::attention_problem p;
  p.backward = backward, p.padded = true;
  p.samples = samples, p.q_rows = p.kv_rows = 9, p.heads = p.kv_heads = 4, p.width = 16;
  for (const int i : {0, 1, 2, 6, 7, 8}) p.strides[i] = 192;
  p.strides[3] = p.strides[5] = 64, p.strides[4] = 4;
  return p;
}

const motet::cuda::detail::cudnn_attention_recipe* find(
    const motet::cuda::detail::attention_problem& problem) {
  isize parts = 0;
  const auto* const found = recipes().find(problem, parts);
  CHECK((found == nullptr || parts == 1));
  return found;
}

TEST_CASE("a fixed order of sums is asked for where settings say so") {
  INFO(recipes().describe());
  auto problem = problem_of_batch(true, 2);
  auto& settings = gpu().part<motet::cuda::attention_settings>();
  const auto* const any = find(problem);
  settings.deterministic = true;
  const auto* const fixed = find(problem);
  settings.deterministic = false;
  REQUIRE((fixed != nullptr && any != nullptr));
  CHECK(fixed != any);
  CHECK(fixed->problem.deterministic);
  CHECK_FALSE(any->problem.deterministic);
  CHECK(find(problem) == any);
  problem.width = 264;  // no engine takes it
  CHECK(find(problem) == nullptr);
  const isize made = recipes().made();
  CHECK(find(problem) == nullptr);
  CHECK(recipes().made() == made);
}

TEST_CASE("recipes are made before a step is recorded, and replayed with it") {
  INFO(recipes().describe());
  batch recorded, twin;
  twin.run_foretold();
  motet::cuda::context dry;
  recorded.run(dry);
  const laws::gpu_room room(dry.memory.peak(), dry.scratch.peak());
  motet::cuda::context ctx = room.context();
  const isize before = recipes().runs();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  gpu().finish();
  motet::cuda::check(cudaStreamBeginCapture(gpu().stream(), cudaStreamCaptureModeThreadLocal),
                     "cudaStreamBeginCapture");
  recorded.run(ctx);
  const auto unknown = problem_of_batch(false, 7);
  CHECK(find(unknown) == nullptr);
  motet::cuda::check(cudaStreamEndCapture(gpu().stream(), &graph), "cudaStreamEndCapture");
  CHECK(find(unknown) != nullptr);
  CHECK(recipes().runs() == before + 2);
  motet::cuda::check(cudaGraphInstantiate(&replay, graph, 0), "cudaGraphInstantiate");
  motet::cuda::check(cudaGraphLaunch(replay, gpu().stream()), "cudaGraphLaunch");
  gpu().finish();
  CHECK(laws::distance(recorded.d.back(), twin.d.back()) == 0);
  cudaGraphExecDestroy(replay);
  cudaGraphDestroy(graph);
}

}  // namespace
}  // namespace motet

#else

TEST_CASE("without cuDNN our kernels do all") {
  CHECK(motet::laws::gpu().part<motet::cuda::attention_recipes>().describe().find("without cuDNN") !=
        std::string::npos);
}

#endif
