// SPDX-License-Identifier: Apache-2.0
// Where kernels are emulated, so is cuDNN: its headers are enough.
#if !defined(__CUDACC__) && !defined(MOTET_HAS_CUDNN) && __has_include(<cudnn.h>)
#define MOTET_HAS_CUDNN 1
#endif
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/attention.hpp>
#include <motet/backend/cuda/device.hpp>
#include <motet/backend/cuda/device/recorder.hpp>
#include <motet/backend/cuda/device/staging.hpp>
#include <motet/backend/cuda/device/taken_paths.hpp>
#include <motet/backend/cuda/products/linear.hpp>
#include <motet/tensor/random.hpp>

#include "laws/cuda_run.hpp"
#include "laws/grid.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace motet;
using motet::cuda::detour, motet::cuda::taken_path, motet::cuda::taken_paths;
using idx = motet::isize;

namespace {

// An engine of its own, whose paths nobody else counted, and what a process is warned of from here on.
struct fixture {
  motet::cuda::engine on;
  taken_paths& paths = on.part<taken_paths>();
  laws::gpu_room room{1 << 20, 1 << 20};
  motet::cuda::context ctx = room.context();
  fixture() {
    laws::gpu().finish();
    ctx.on = &on;
    warnings::of_process().forget();
    ::setenv("MOTET_QUIET", "1", 1);
  }
  ~fixture() { ::unsetenv("MOTET_QUIET"); }

  laws::on_gpu<bf16> x{laws::grid<bf16>(16, 96).random(1)}, y{16, 32},
      narrow{laws::grid<bf16>(16, 20).random(1)};
  laws::on_gpu<float> weight{laws::grid<float>(32, 96).random(2)},
      dweight{laws::grid<float>(32, 96).random(3)}, lse{16, 2};
  laws::on_gpu<double> wide_x{laws::grid<double>(16, 8).random(1)}, wide_y{16, 4},
      wide_weight{laws::grid<double>(4, 8).random(2)};
  const sequences rows{16, 1, nullptr}, samples{2, 8, nullptr};

  void product() { linear_forward(ctx, rows, x.all(), matrix<const float>(weight.all()), nullptr, y.all()); }
  void exact_gelu() {
    linear_forward(ctx, rows, x.all(), matrix<const float>(weight.all()), nullptr, activation::gelu,
                   matrix<bf16>{}, y.all());
  }
  void in_double() {
    linear_forward(ctx, rows, wide_x.all(), matrix<const double>(wide_weight.all()), nullptr, wide_y.all());
  }
  void by_weight() { linear_backward_weight(ctx, x.all(), y.all(), dweight.all(), nullptr); }
  void attention(idx width = 16) {
    const attention_shape shape{2, 2, width, mask_kind::full, 0};
    const auto part = [&](idx i) { return matrix<const bf16>(x.all().columns(i * 2 * width, 2 * width)); };
    attention_forward(ctx, samples, samples, shape, part(0), part(1), part(2), y.all().columns(0, 2 * width),
                      lse.all());
  }
  // The only path of this operation.
  taken_path only(const char* operation) {
    std::vector<taken_path> found;
    for (const taken_path& each : paths.list())
      if (each.operation == operation) found.push_back(each);
    REQUIRE(found.size() == 1);
    return found[0];
  }
  // That it was counted so often, and that the process was warned so, once.
  void check(const char* operation, const char* sentence, const char* warning) {
    on.finish();
    CHECK(only(operation).sentence() == sentence);
    REQUIRE(warnings::of_process().said().size() == 1);
    CHECK(warnings::of_process().said()[0].substr(0, std::string(warning).size()) == warning);
  }
};

}  // namespace

TEST_CASE_FIXTURE(fixture, "paths are counted by place, way and reason; one that is known takes no memory") {
  const detour odd{"heads are # wide", 12};
  for (int k = 0; k < 3; ++k) paths.count("picture", "attention", "cuDNN");
  paths.count("picture", "attention", "own kernels", odd);
  paths.count("picture", "attention", "own kernels", odd);
  paths.count("caption", "attention", "own kernels", {"cuDNN has no plan", 0, paths.kept("no engine")});
  std::vector<std::string> told;
  for (const taken_path& each : paths.list()) told.push_back(each.sentence());
  CHECK(told ==
        std::vector<std::string>{"caption: attention by own kernels, 1 time: cuDNN has no plan: no engine",
                                 "picture: attention by cuDNN, 3 times",
                                 "picture: attention by own kernels, 2 times: heads are 12 wide"});
  CHECK(paths.summary() == "attention by own kernels 3, attention by cuDNN 3");
  CHECK(paths.calls("attention") == 6);
  CHECK(paths.kept("no engine") == paths.kept(std::string("no ") + "engine"));
  for (idx width = 0; width < 1000; ++width)
    paths.count("", "product", "own kernel", {"# wide", width % 500});
  CHECK(paths.calls("product") == 1000);
  CHECK(paths.list().size() == 503);
  paths.instead_of("", "product", {"fp8 is not there"});
  paths.count("", "input", "pinned memory");
  CHECK(only("input").why == "fp8 is not there");
  paths.forget();
  CHECK(paths.list().empty());
  CHECK(warnings::of_process().said().empty());
}

TEST_CASE_FIXTURE(fixture, "whatever libraries take or refuse, each call is counted once") {
  const random_stream draws(5, "paths");
  auto drawn = [&, next = std::uint64_t(0)](std::uint32_t below) mutable {
    return draws.below(next++, below);
  };
  auto& products = on.part<motet::cuda::product_settings>();
  auto& attends = on.part<motet::cuda::attention_settings>();
  long multiplied = 0, attended = 0;
  for (int k = 0; k < 60; ++k) {
    products.library = MOTET_CUBLASLT != 0 && drawn(4) > 0;
    attends.library = drawn(4) > 0;
    ctx.fp8 = drawn(3) == 0;
#if !defined(__CUDACC__)
    if (drawn(4) == 0)
      emulation::refuse(drawn(2) == 0 ? "cublasLtMatmulAlgoGetHeuristic" : "cublasLtMatmul",
                        cudaErrorUnknown);
#endif
    switch (drawn(5)) {
      case 0: product(), ++multiplied; break;
      case 1: exact_gelu(), ++multiplied; break;
      case 2: by_weight(), ++multiplied; break;
      case 3: in_double(), ++multiplied; break;
      default: attention(drawn(2) == 0 ? 8 : 12), ++attended;
    }
  }
#if !defined(__CUDACC__)
  for (const char* each : {"cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul"}) emulation::is_refused(each);
#endif
  on.finish();
  CHECK(paths.calls("product") == multiplied);
  CHECK(paths.calls("attention") == attended);
  long by_library = 0, all = 0;
  for (const taken_path& each : paths.list()) {
    all += each.count;
    by_library += each.way == "cuDNN" ? each.count : 0;
    // An operation that is not on the best path says why, and one that is has nothing to say.
    CHECK(
        (each.way != "own kernel" && each.way != "own matrix kernels" && each.way != "cuBLASLt, then a kernel"
             ? true
             : !each.why.empty()));
  }
  CHECK(all == multiplied + attended);
  CHECK(by_library == on.part<motet::cuda::attention_recipes>().runs());
  const std::vector<std::string> said = warnings::of_process().said();
  CHECK(!said.empty());
  CHECK(said.size() == std::set<std::string>(said.begin(), said.end()).size());
}

TEST_CASE("what ended engines took is kept, and a device tells its own") {
  const auto count = [] {
    long sum = 0;
    for (const taken_path& each : taken_paths::of_ended_engines())
      sum += each.operation == "test of ends" ? each.count : 0;
    return sum;
  };
  for (int k = 1; k <= 2; ++k) {
    motet::cuda::device one;
    CHECK(one.paths().empty());
    one.on().part<taken_paths>().count("", "test of ends", "a way");
    CHECK(one.paths().size() == 1);
    CHECK(one.describe().ends_with("; test of ends by a way 1"));
    CHECK(count() == k - 1);
  }
  CHECK(count() == 2);
}

TEST_CASE_FIXTURE(fixture, "inputs come from pinned memory or through pieces") {
  const std::vector<int> host(100);
  const motet::cuda::pinned_buffer<int> pinned(100);
  const laws::flat_on_gpu<int> to(idx{100});
  for (int k = 0; k < 2; ++k) bring(ctx, host.data(), to.data(), 100);
  bring(ctx, pinned.data(), to.data(), 100);
  brought(ctx);
  on.finish();
  CHECK(paths.summary() == "input by pinned pieces 2, input by pinned memory 1");
  CHECK(warnings::of_process().said().empty());
}

#if MOTET_CUDNN_ATTENTION
TEST_CASE_FIXTURE(
    fixture,
    "attention that cuDNN does not take says why, and what own kernels were asked for warns of nothing") {
  SUBCASE("it takes it") {
    for (int k = 0; k < 2; ++k) attention();
    on.finish();
    CHECK(only("attention").sentence() == "attention by cuDNN, 2 times");
    CHECK(warnings::of_process().said().empty());
  }
  SUBCASE("asked for") {
    on.part<motet::cuda::attention_settings>().library = false;
    attention();
    on.finish();
    CHECK(only("attention").sentence() ==
          "attention by own matrix kernels, 1 time: own kernels were asked for");
    CHECK(warnings::of_process().said().empty());
  }
  SUBCASE("an odd width") {
    for (int k = 0; k < 3; ++k) attention(12);
    check("attention",
          "attention by own matrix kernels, 3 times: heads are 12 wide, which is no multiple of 8",
          "motet: some attention runs by own kernels, slower than by cuDNN: attention: heads are 12 wide, "
          "which is no multiple of 8. Take heads");
  }
  SUBCASE("little memory") {
    on.part<motet::cuda::attention_settings>().workspace = 1;
    attention();
    CHECK(only("attention").why.starts_with("one head needs "));
    CHECK(only("attention").why.ends_with(" bytes of workspace, more than attention_settings has"));
  }
  SUBCASE("first met in a record") {
    on.finish();
    cudaGraph_t graph = nullptr;
    on.part<motet::cuda::attention_recipes>();
    motet::cuda::check(cudaStreamBeginCapture(on.stream(), cudaStreamCaptureModeThreadLocal),
                       "cudaStreamBeginCapture");
    attention();
    motet::cuda::check(cudaStreamEndCapture(on.stream(), &graph), "cudaStreamEndCapture");
    cudaGraphDestroy(graph);
    check("attention",
          "attention by own matrix kernels, 1 time: its shape came for the first time while a graph was "
          "recorded",
          "motet: some attention runs by own kernels");
  }
#if !defined(__CUDACC__)
  SUBCASE("cuDNN without its parts") {
    emulation::refuse("cudnnCreate", cudaErrorUnknown);
    const char* const before = std::getenv("LD_LIBRARY_PATH");
    const std::string kept = before != nullptr ? before : "";
    ::setenv("LD_LIBRARY_PATH", "/opt/nowhere", 1);
    for (int k = 0; k < 2; ++k) attention();
    if (before != nullptr) ::setenv("LD_LIBRARY_PATH", kept.c_str(), 1);
    else ::unsetenv("LD_LIBRARY_PATH");
    const std::string version = std::to_string(cudnnGetVersion());
    const std::string why = "cuDNN " + version +
                            " does not begin: refused by the emulation, libcudnn_graph.so.9 is not there; "
                            "LD_LIBRARY_PATH is /opt/nowhere";
    check("attention", ("attention by own matrix kernels, 2 times: " + why).c_str(),
          ("motet: attention runs by own kernels, as cuDNN cannot be used: attention: " + why +
           ". Install cuDNN 9.17 or newer")
              .c_str());
    CHECK(on.part<motet::cuda::attention_recipes>().describe() == "attention by own kernels: " + why);
  }
  SUBCASE("an old cuDNN") {
    emulation::refuse("cudnnGetVersion", cudaErrorUnknown);
    attention();
    check("attention", "attention by own matrix kernels, 1 time: cuDNN 91600 is too old, 91700 is wanted",
          "motet: attention runs by own kernels, as cuDNN cannot be used: attention: cuDNN 91600 is too old, "
          "91700 is wanted. Install cuDNN 9.17");
  }
  SUBCASE("a library without a plan, in its own words") {
    emulation::refuse("cudnnBackendFinalize", cudaErrorUnknown);
    attention();
    check("attention",
          "attention by own matrix kernels, 1 time: cuDNN has no plan for heads that are 16 wide: refused by "
          "the emulation, the graph is not supported",
          "motet: some attention runs by own kernels, slower than by cuDNN: attention: cuDNN has no plan");
  }
#endif
}
#endif

#if MOTET_CUBLASLT && !defined(__CUDACC__)
TEST_CASE_FIXTURE(fixture, "products that cuBLASLt does not take in one call say why") {
  SUBCASE("it takes them") {
    product(), by_weight();
    on.finish();
    CHECK(only("product").sentence() == "product by cuBLASLt, 2 times");
    CHECK(warnings::of_process().said().empty());
  }
  SUBCASE("no such epilogue") {
    exact_gelu();
    on.finish();
    CHECK(only("product").sentence() ==
          "product by cuBLASLt, then a kernel, 1 time: the library has no epilogue for all of it");
    CHECK(warnings::of_process().said().empty());
  }
  SUBCASE("nothing is offered") {
    emulation::refuse("cublasLtMatmulAlgoGetHeuristic", cudaErrorUnknown);
    for (int k = 0; k < 2; ++k) product();  // a plan that found nothing is not asked about again
    check("product",
          "product by own kernel, 2 times: cuBLASLt has nothing for its shape, types and epilogue: "
          "CUBLAS_STATUS_NOT_SUPPORTED",
          "motet: some products run by slower kernels: product: cuBLASLt has nothing for its shape, types "
          "and epilogue: CUBLAS_STATUS_NOT_SUPPORTED. "
          "Build with cuBLASLt");
  }
  SUBCASE("it is refused when it runs") {
    emulation::refuse("cublasLtMatmul", cudaErrorUnknown);
    product();
    on.finish();
    CHECK(only("product").why == "cuBLASLt refuses it when it runs: CUBLAS_STATUS_NOT_SUPPORTED");
  }
  SUBCASE("an epilogue is refused, the product is not") {
    const laws::on_gpu<float> bias{laws::grid<float>(1, 32).random(4)};
    emulation::refuse("cublasLtMatmulAlgoGetHeuristic", cudaErrorUnknown);
    linear_forward(ctx, rows, x.all(), matrix<const float>(weight.all()), bias.data(), y.all());
    check("product",
          "product by cuBLASLt, then a kernel, 1 time: cuBLASLt has nothing for its shape, types and "
          "epilogue: CUBLAS_STATUS_NOT_SUPPORTED",
          "motet: some products run by slower kernels: product: cuBLASLt has nothing");
  }
  SUBCASE("fp8 of sizes that it does not take") {
    ctx.fp8 = true;
    const laws::on_gpu<float> thin{laws::grid<float>(32, 20).random(4)};
    linear_forward(ctx, rows, narrow.all(), matrix<const float>(thin.all()), nullptr, y.all());
    check(
        "product", "product by cuBLASLt, 1 time: widths are no multiples of 16",
        "motet: fp8 was asked for, and some products run without it: product: widths are no multiples of 16");
  }
}
#endif

#if !defined(__CUDACC__)
TEST_CASE_FIXTURE(fixture, "work that cannot be recorded goes kernel by kernel, and says why") {
  int calls = 0;
  const auto work = [&](motet::cuda::context& at) { ++calls, at.on->take_real(); };
  const auto run = [&] {
    run_recorded(
        ctx, [](std::vector<idx>& into) { into.push_back(1); }, work);
  };
  SUBCASE("it can be") {
    for (int k = 0; k < 4; ++k) run();
    CHECK(paths.summary() == "work by a graph 3, work by single kernels 1");
    CHECK(warnings::of_process().said().empty());
  }
  SUBCASE("nobody wants graphs") {
    on.part<motet::cuda::recorder>().want(false);
    run();
    CHECK(only("work").why == "graphs are not asked for");
  }
  SUBCASE("it cannot") {
    emulation::refuse("cudaStreamBeginCapture", cudaErrorMemoryAllocation);
    for (int k = 0; k < 4; ++k) run();
    CHECK(paths.calls("work") == 4);
    REQUIRE(warnings::of_process().said().size() == 1);
    const std::string why = on.part<motet::cuda::recorder>().not_recorded();
    CHECK(warnings::of_process().said()[0] ==
          "motet: work runs kernel by kernel, as it could not be recorded as a graph: work: recording "
          "failed: " +
              why +
              ". Report what it says; MOTET_CUDA_GRAPHS=0 asks for no graphs; MOTET_QUIET=1 says nothing "
              "[MT-B33]");
  }
}

TEST_CASE_FIXTURE(fixture, "memory that cannot be pinned is told, unless it is pinned already") {
  std::vector<int> host(100);
  emulation::refuse("cudaHostRegister", cudaErrorMemoryAllocation);
  CHECK_FALSE(motet::cuda::pinned_memory(host.data(), 400).pinned());
  REQUIRE(warnings::of_process().said().size() == 1);
  CHECK(warnings::of_process().said()[0].starts_with(
      "motet: memory of the host could not be pinned, so inputs are copied twice: 400 bytes: "));
  warnings::of_process().forget();
  const motet::cuda::pinned_memory one(host.data(), 400);
  CHECK(one.pinned());
  CHECK_FALSE(motet::cuda::pinned_memory(host.data(), 400).pinned());
  CHECK(warnings::of_process().said().empty());
}
#endif
