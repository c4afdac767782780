// SPDX-License-Identifier: Apache-2.0
// Where kernels are emulated, so is cuDNN: its headers are enough.
#if !defined(__CUDACC__) && !defined(MOTET_HAS_CUDNN) && __has_include(<cudnn.h>)
#define MOTET_HAS_CUDNN 1
#endif
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention_plans.hpp>

#include <doctest/doctest.h>

#include "gpu_attention_laws.hpp"

#if MOTET_CUDNN_ATTENTION

namespace motet {
namespace {

using laws::attention_layout, laws::check_attention, laws::gpu;

constexpr attention_shape shape(index heads, index kv_heads, index width, mask_kind mask = mask_kind::full, double scale = 0) {
  return {heads, kv_heads, width, mask, scale};
}
constexpr double allowed = laws::attention_allowed<bf16>;
motet::cuda::attention_plans& plans() { return gpu().part<motet::cuda::attention_plans>(); }

TEST_CASE("rows that are no multiple of 16 bytes apart stay with our kernels") {
  CHECK(plans().describe().find("cuDNN") != std::string::npos);
  const index before = plans().runs();
  check_attention<bf16>({shape(4, 2, 16), {9, 9}, {9, 9}, true}, attention_layout::fused, allowed);  // y has odd gaps there
  CHECK(plans().runs() == before);
}

struct batch {
  static constexpr index samples = 2, length = 9, heads = 4, width = 16, all = 3 * heads * width;
  sequences seq{samples, length, nullptr};
  laws::on_gpu<bf16> qkv{laws::grid<bf16>(samples * length, all).random(1)}, dy{laws::grid<bf16>(samples * length, heads* width).random(2)};
  laws::on_gpu<bf16> y{samples * length, heads* width}, d{samples * length, all};
  laws::on_gpu<float> lse{samples * length, heads};
  void run(motet::cuda::context& ctx, bool over = false, mask_kind mask = mask_kind::full) {
    const auto part = [](const matrix<bf16>& x, index i) { return x.columns(i * heads * width, heads * width); };
    const matrix<bf16> x = qkv.all(), dx = over ? qkv.all() : d.all();
    attention_forward(ctx, seq, seq, shape(heads, heads, width, mask), part(x, 0), part(x, 1), part(x, 2), y.all(), lse.all());
    attention_backward(ctx, seq, seq, shape(heads, heads, width, mask), part(x, 0), part(x, 1), part(x, 2), y.all(), lse.all(), dy.all(), part(dx, 0),
                       part(dx, 1), part(dx, 2));
  }
  void run_planned(bool over = false, mask_kind mask = mask_kind::full) {
    laws::gpu_run_planned([&](motet::cuda::context& ctx) { run(ctx, over, mask); });
  }
};

TEST_CASE("it makes what our kernels make") {
  batch by_library, own, over;
  auto& settings = gpu().part<motet::cuda::attention_settings>();
  const index before = plans().runs();
  by_library.run_planned();
  over.run_planned(true);
  CHECK(plans().runs() == before + 4);
  settings.library = false;
  own.run_planned();
  CHECK(plans().describe() == "attention by own kernels");
  settings.library = true;
  CHECK(plans().runs() == before + 4);
  CHECK(laws::distance(by_library.y.back(), own.y.back()) <= allowed);
  CHECK(laws::distance(by_library.lse.back(), own.lse.back()) <= 1e-5);
  CHECK(laws::distance(by_library.d.back(), own.d.back()) <= allowed);
  CHECK(laws::distance(over.qkv.back(), by_library.d.back()) == 0);
}

TEST_CASE("masks stay with our kernels") {
  batch causal;
  const index before = plans().runs();
  causal.run_planned(false, mask_kind::causal);
  CHECK(plans().runs() == before);
}

TEST_CASE("a fixed order of sums is asked for, unless settings say otherwise") {
  motet::cuda::detail::attention_problem problem{true, true, 2, 9, 9, 4, 4, 16, {192, 192, 192, 64, 4, 64, 192, 192, 192}};
  auto& settings = gpu().part<motet::cuda::attention_settings>();
  const auto* const fixed = plans().find(problem);
  settings.deterministic = false;
  const auto* const any = plans().find(problem);
  settings.deterministic = true;
  REQUIRE((fixed != nullptr && any != nullptr));
  CHECK(fixed != any);
  CHECK(fixed->workspace() > any->workspace());
  CHECK(plans().find(problem) == fixed);
  problem.width = 200;  // no engine takes it
  CHECK(plans().find(problem) == nullptr);
  CHECK(plans().find(problem) == nullptr);
}

TEST_CASE("plans are made before a step is recorded, and replayed with it") {
  batch recorded, twin;
  twin.run_planned();
  motet::cuda::context plan;
  recorded.run(plan);
  const laws::gpu_room room(plan.memory.peak(), plan.scratch.peak());
  motet::cuda::context ctx = room.context();
  const index before = plans().runs();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  gpu().finish();
  motet::cuda::check(cudaStreamBeginCapture(gpu().stream(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  recorded.run(ctx);
  motet::cuda::detail::attention_problem unknown{false, true, 7, 9, 9, 4, 4, 16, {192, 192, 192, 64, 4}};
  CHECK(plans().find(unknown) == nullptr);
  motet::cuda::check(cudaStreamEndCapture(gpu().stream(), &graph), "cudaStreamEndCapture");
  CHECK(plans().find(unknown) != nullptr);
  CHECK(plans().runs() == before + 2);
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
  CHECK(motet::laws::gpu().part<motet::cuda::attention_plans>().describe().find("without cuDNN") != std::string::npos);
}

#endif
