// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <doctest/doctest.h>
#include <motet/backend/cuda/products/gemm_recipes.hpp>
#include <motet/backend/cuda/products/linear.hpp>

#include "laws/cuda_run.hpp"
#include "laws/grid.hpp"
#include "support/cuda/fake_cublaslt.hpp"

#include "../../../format/scratch.hpp"

#include <utility>

#if MOTET_CUBLASLT

namespace motet {
using laws::grid, laws::distance, laws::on_gpu;

namespace {

// Kernels of our own and calls of the library.
struct work {
  long kernels = 0, calls = 0;
  bool operator==(const work&) const = default;
};
[[maybe_unused]] std::ostream& operator<<(std::ostream& to, const work& of) {
  return to << of.kernels << " kernels, " << of.calls << " calls";
}
template <class Body>
work done_by([[maybe_unused]] Body&& body) {
#if defined(__CUDACC__)
  return {};
#else
  const auto before = emulation::done_so_far();
  body();
  laws::gpu().finish();
  const auto after = emulation::done_so_far();
  return {after.kernels - before.kernels, after.host_calls - before.host_calls};
#endif
}

// Seconds of a piece of work by the clock of events.
template <class Body>
float seconds_of(motet::cuda::engine& on, Body&& body) {
  cudaEvent_t from = nullptr, to = nullptr;
  motet::cuda::check(cudaEventCreate(&from), "create");
  motet::cuda::check(cudaEventCreate(&to), "create");
  motet::cuda::check(cudaEventRecord(from, on.stream()), "record");
  body();
  motet::cuda::check(cudaEventRecord(to, on.stream()), "record");
  on.finish();
  float found = 0;
  motet::cuda::check(cudaEventElapsedTime(&found, from, to), "elapsed");
  cudaEventDestroy(from);
  cudaEventDestroy(to);
  return found / 1000;
}

struct layer {
  on_gpu<bf16> x, y, pre, dx, dy, replayed;
  on_gpu<float> weight, bias, stream, dweight, dbias;
  sequences seq;
  static constexpr isize rows = 24, in = 16, out = 32;
  layer()
      : x(grid<bf16>(rows, in).random(1)),
        y(rows, out),
        pre(grid<bf16>(rows, out).random(2)),
        dx(rows, in),
        dy(grid<bf16>(rows, out).random(3)),
        replayed(rows, in),
        weight(grid<float>(out, in).random(4)),
        bias(grid<float>(1, out).random(5)),
        stream(grid<float>(rows, out).random(6)),
        dweight(grid<float>(out, in).random(7)),
        dbias(grid<float>(1, out).random(8)),
        seq{rows, 1, nullptr} {
    laws::gpu().part<motet::cuda::weight_copies>().keep(weight.data(), out * in);
    laws::gpu().part<motet::cuda::weight_copies>().keep(bias.data(), out);
  }
  layer(const layer&) = delete;
  ~layer() {
    laws::gpu().part<motet::cuda::weight_copies>().drop(weight.data());
    laws::gpu().part<motet::cuda::weight_copies>().drop(bias.data());
  }
  matrix<const float> w() const { return weight.all(); }
};

}  // namespace

#if !defined(__CUDACC__)
TEST_CASE("what the library can do itself is one call") {
  const layer l;
  const laws::gpu_room room(0, 1 << 21);
  motet::cuda::context ctx = room.context();
  refresh_weights(ctx);
  using tanh_or = activation;
  CHECK(done_by([&] { linear_forward(ctx, l.seq, l.x.all(), l.w(), l.bias.data(), l.y.all()); }) ==
        work{0, 1});
  CHECK(done_by([&] {
          linear_forward(ctx, l.seq, l.x.all(), l.w(), l.bias.data(), l.stream.all(), l.stream.all());
        }) == work{0, 1});
  CHECK(done_by([&] {
          linear_forward(ctx, l.seq, l.x.all(), l.w(), l.bias.data(), tanh_or::gelu_tanh, l.pre.all(),
                         l.y.all());
        }) == work{0, 1});
  CHECK(done_by([&] {
          linear_forward(ctx, l.seq, l.x.all(), l.w(), l.bias.data(), tanh_or::relu, matrix<bf16>{},
                         l.y.all());
        }) == work{0, 1});
  CHECK(done_by([&] {
          linear_forward(ctx, l.seq, l.x.all(), l.w(), l.bias.data(), tanh_or::gelu, l.pre.all(), l.y.all());
        }) == work{1, 1});
  CHECK(done_by([&] { linear_backward_input(ctx, l.seq, l.dy.all(), l.w(), l.dx.all()); }) == work{0, 1});
  CHECK(done_by([&] {
          linear_backward_input(ctx, l.seq, l.dy.all(), l.w(), tanh_or::gelu_tanh, l.x.all(), matrix<bf16>{},
                                l.dx.all());
        }) == work{0, 1});
  CHECK(done_by([&] {
          linear_backward_input(ctx, l.seq, l.dy.all(), l.w(), tanh_or::gelu_tanh, l.x.all(),
                                l.replayed.all(), l.dx.all());
        }) == work{1, 1});
  CHECK(done_by([&] {
          linear_backward_input(ctx, l.seq, l.dy.all(), l.w(), tanh_or::quick_gelu, l.x.all(),
                                l.replayed.all(), l.dx.all());
        }) == work{1, 1});
  CHECK(done_by([&] { linear_backward_weight(ctx, l.x.all(), l.dy.all(), l.dweight.all(), nullptr); }) ==
        work{0, 1});
  CHECK(done_by([&] {
          linear_backward_weight(ctx, l.x.all(), l.dy.all(), l.dweight.all(), l.dbias.data());
        }) == work{1, 1});
  // Gradients of the stream are fp32: one pass rounds them.
  CHECK(done_by([&] {
          linear_backward_weight(ctx, l.x.all(), l.stream.all(), l.dweight.all(), l.dbias.data());
        }) == work{2, 1});
}

#endif

TEST_CASE("a recipe is made once for a shape, and for each share of a GPU") {
  const layer l;
  const laws::gpu_room room(0, 1 << 21);
  motet::cuda::context ctx = room.context();
  refresh_weights(ctx);
  const auto once = [&] { linear_forward(ctx, l.seq, l.x.all(), l.w(), nullptr, l.y.all()); };
  const auto& recipes = laws::gpu().part<motet::cuda::gemm_recipes>();
  once();
  const isize before = recipes.recipes();
  once();
  CHECK(recipes.recipes() == before);
  const int all = laws::gpu().processors();
  laws::gpu().set_processors(32);
  once();
  CHECK(recipes.recipes() == before + 1);
  laws::gpu().set_processors(all);
  once();
  CHECK(recipes.recipes() == before + 1);
  linear_forward(ctx, sequences{8, 1, nullptr}, l.x.all(), l.w(), nullptr, l.y.all());
  CHECK(recipes.recipes() == before + 2);
}

TEST_CASE("products are recorded and replayed") {
  const layer l;
  const laws::gpu_room room(0, 1 << 21);
  motet::cuda::context ctx = room.context();
  auto& engine = laws::gpu();
  engine.part<motet::cuda::product_settings>().cache.clear();
  // Nothing is timed while recording, and a weight that fp8 has not met before is multiplied in bf16.
  ctx.fp8 = engine.part<motet::cuda::product_settings>().autotune = true;
  const sequences seq{16, 1, nullptr};
  refresh_weights(ctx);
  engine.part<motet::cuda::gemm_recipes>();
  linear_forward(ctx, l.seq, l.x.all(), l.w(), l.bias.data(), l.y.all());
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  motet::cuda::check(cudaStreamBeginCapture(engine.stream(), cudaStreamCaptureModeThreadLocal), "begin");
  linear_forward(ctx, seq, l.x.all(), l.w(), l.bias.data(), l.y.all());
  linear_backward_weight(ctx, l.x.all(), l.dy.all(), l.dweight.all(), l.dbias.data());
  motet::cuda::check(cudaStreamEndCapture(engine.stream(), &graph), "end");
  motet::cuda::check(cudaGraphInstantiate(&ready, graph, 0), "instantiate");
  ctx.fp8 = engine.part<motet::cuda::product_settings>().autotune = false;
  const on_gpu<bf16> want(layer::rows, layer::out);
  linear_forward(ctx, seq, l.x.all(), l.w(), l.bias.data(), want.all());
  const auto dweight = l.dweight.back();
  for (int i = 0; i < 2; ++i) motet::cuda::check(cudaGraphLaunch(ready, engine.stream()), "launch");
  engine.finish();
  const auto y = l.y.back(), wanted = want.back();
  laws::deviation off;
  for (isize r = 0; r < seq.rows(); ++r)
    for (isize c = 0; c < layer::out; ++c) off.add_off(y(r, c), wanted(r, c), laws::in_matrix(r, c));
  CHECK(off == 0);
  const auto twice = l.dweight.back();
  grid<float> alone(layer::out, layer::in);
  const on_gpu<float> alone_(alone.fill(0));
  ctx.fp8 = true;  // as it was recorded
  linear_backward_weight(ctx, l.x.all(), l.dy.all(), alone_.all(), l.dbias.data());
  engine.finish();
  alone = alone_.back();
  for (isize o = 0; o < layer::out; ++o)
    for (isize k = 0; k < layer::in; ++k)
      CHECK(laws::off_by(twice(o, k), dweight(o, k) + 2 * alone(o, k)) < 1e-4);
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
}

TEST_CASE("offers are timed on the side: nothing is added twice") {
  auto& how = laws::gpu().part<motet::cuda::product_settings>();
  const auto x = grid<float>(40, 12).random(1), dy = grid<float>(40, 20).random(2),
             before = grid<float>(20, 12).random(3);
  const on_gpu<float> x_(x), dy_(dy), plain_(before), timed_(before);
  const auto run = [&](const on_gpu<float>& to) {
    laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
      linear_backward_weight(ctx, x_.all(), dy_.all(), to.all(), nullptr);
    });
  };
  how.cache.clear();
  how.autotune = true;
  run(timed_);
  how.autotune = false;
  how.library = false;
  run(plain_);
  how.library = true;
  CHECK(distance(timed_.back(), plain_.back()) < 1e-5);
}

#if !defined(__CUDACC__)
TEST_CASE(
    "the fastest offer is found once, and other programs take it from the file, if the library knows it") {
  const scratch folder;
  const auto x = grid<bf16>(40, 16).random(1);
  const on_gpu<bf16> x_(x), y_(40, 24);
  const on_gpu<float> weight_(grid<float>(24, 16).random(2));
  grid<bf16> first;
  // A program of its own, as far as products know; what it had timed, and whether it waited for its choice,
  // as only the second offer does not.
  const auto program = [&](bool recording = false) {
    motet::cuda::engine own;
    auto& how = own.part<motet::cuda::product_settings>();
    how.autotune = true;
    how.cache = folder.path();
    auto& recipes = own.part<motet::cuda::gemm_recipes>();
    const laws::gpu_room room(0, 1 << 21);
    motet::cuda::context ctx = room.context();
    ctx.on = &own;
    const auto product = [&] {
      linear_forward(ctx, sequences{40, 1, nullptr}, x_.all(), matrix<const float>(weight_.all()),
                     static_cast<const float*>(nullptr), y_.all());
    };
    cudaGraph_t graph = nullptr;
    if (recording)
      motet::cuda::check(cudaStreamBeginCapture(own.stream(), cudaStreamCaptureModeRelaxed), "begin");
    product();
    if (recording) motet::cuda::check(cudaStreamEndCapture(own.stream(), &graph), "end");
    if (recording) cudaGraphDestroy(graph);
    own.finish();
    const float took = recording ? 0 : seconds_of(own, product);
    if (!recording) {
      if (first.data.empty()) first = y_.back();
      CHECK(distance(y_.back(), first) == 0);
    }
    return std::pair{recipes.timed(), took < 0.5f};
  };
  emulation::pace(0, 1e-4);
  for (const std::uint64_t workspace : {1u << 12, 1u << 16}) emulation::delay_products(workspace, 1);
  CHECK(program(true) == std::pair<isize, bool>{0, true});  // while it records, nothing is timed or kept
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK(program() == std::pair<isize, bool>{1, true});
  CHECK(program() == std::pair<isize, bool>{0, true});
  // One that the library has never heard of is timed anew, and takes the place of the other.
  std::filesystem::path file;
  for (const auto& each : std::filesystem::directory_iterator(folder.path()))
    if (each.path().extension() == ".txt") file = each.path();
  motet::cuda::product_choices known;
  const auto read = [&] { return motet::cuda::parse_product_choices(mapped_file(file).text(), known); };
  REQUIRE(read().empty());
  REQUIRE(known.of.size() == 1);
  CHECK(known.machine.find("cuBLASLt 130000") != std::string::npos);
  const auto good = known.of.begin()->second;
  known.of.begin()->second[0] ^= 1;
  write_file(file, format_product_choices(known));
  CHECK(program() == std::pair<isize, bool>{1, true});
  REQUIRE(read().empty());
  CHECK(known.of.begin()->second == good);
  // One that wants more memory than there is, too: the fake's third word is its workspace.
  known.of.begin()->second[2] = std::uint64_t{1} << 40;
  write_file(file, format_product_choices(known));
  CHECK(program() == std::pair<isize, bool>{1, true});
  // One that the check lets pass and the call refuses.
  known.of.begin()->second = good;
  known.of.begin()->second[3] = std::uint64_t{256} << 32 | 512;
  write_file(file, format_product_choices(known));
  CHECK(program() == std::pair<isize, bool>{1, true});
  REQUIRE(read().empty());
  CHECK(known.of.begin()->second == good);
  for (const std::uint64_t workspace : {1u << 12, 1u << 16}) emulation::delay_products(workspace, 0);
  emulation::pace(0, 0);
}
#endif

TEST_CASE("tf32 is what one asks for") {
  auto& how = laws::gpu().part<motet::cuda::product_settings>();
  const auto x = grid<float>(20, 48).random(1), weight = grid<float>(28, 48).random(2);
  const on_gpu<float> x_(x), weight_(weight), y_(20, 28), rounded_(20, 28);
  const auto run = [&](const on_gpu<float>& to) {
    laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
      linear_forward(ctx, sequences{20, 1, nullptr}, x_.all(), matrix<const float>(weight_.all()),
                     static_cast<const float*>(nullptr), to.all());
    });
  };
  run(y_);
  how.tf32 = true;
  run(rounded_);
  how.tf32 = false;
  CHECK(distance(rounded_.back(), y_.back()) < 3e-3);
  CHECK(distance(rounded_.back(), y_.back()) > 1e-6);
}

TEST_CASE("what the library refuses is told, and nothing is done") {
  auto& recipes = laws::gpu().part<motet::cuda::gemm_recipes>();
  const on_gpu<bf16> a(3, 7), b(7, 5), d(3, 5);
  motet::cuda::product_shape shape;
  shape.a = shape.b = shape.d = dtype::bf16;
  shape.m = 3, shape.n = 5, shape.k = 7, shape.a_stride = 7, shape.b_stride = 5, shape.d_stride = 5;
  motet::cuda::product_operands with;
  with.a = a.data(), with.b = b.data(), with.d = d.data();
#if !defined(__CUDACC__)
  CHECK(!recipes.run(shape, with));
#endif
  shape.a = shape.b = dtype::f8_e5m2;  // nothing multiplies two of these
  shape.m = shape.n = shape.k = shape.a_stride = shape.b_stride = shape.d_stride = 16;
  shape.b_transposed = true;
  const on_gpu<bf16> room(16, 16);
  with.a = with.b = room.data(), with.d = room.data() + 128;
  CHECK(!recipes.run(shape, with));
}

}  // namespace motet

#endif
