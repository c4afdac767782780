// SPDX-License-Identifier: Apache-2.0
// Products of the layers of ViT-L/14 and its text tower in bf16, as layers call them (bias, activation, sums
// into float gradients included), in turns with cuBLASLt called bare for the same product alone with its
// first heuristic. One JSON line for each; a `ratio` above 1 says that ours is faster.
//
//   bench_gpu_products [--smoke] [--turns N] [--only NAME] [--autotune]
#include "timing.hpp"

#include <cublasLt.h>

namespace motet {

namespace {

void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail(cuda_failed, std::string(call) + ": status " + std::to_string(static_cast<int>(status)));
}

// One product, all matrices row by row: forward y (rows x out) = x w^T, input dx (rows x in) = dy w, weight
// dw (out x in) += dy^T x in float. A matrix of rows is a column-major one turned over, and so is the
// product.
enum class kind { forward, input, weight };

class bare_product {
 public:
  bare_product(kind what, isize rows, isize in, isize out) : space_(32 << 20) {
    check(cublasLtCreate(&handle_), "cublasLtCreate");
    check(cublasLtMatmulDescCreate(&what_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    const auto turn = [&](cublasLtMatmulDescAttributes_t which, bool turned) {
      const cublasOperation_t how = turned ? CUBLAS_OP_T : CUBLAS_OP_N;
      check(cublasLtMatmulDescSetAttribute(what_, which, &how, sizeof how), "cublasLtMatmulDescSetAttribute");
    };
    turn(CUBLASLT_MATMUL_DESC_TRANSA, what == kind::forward);
    turn(CUBLASLT_MATMUL_DESC_TRANSB, what == kind::weight);
    const auto layout = [](cublasLtMatrixLayout_t& made, cudaDataType type, isize height, isize width) {
      check(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(height),
                                       static_cast<std::uint64_t>(width), height),
            "cublasLtMatrixLayoutCreate");
    };
    layout(a_, CUDA_R_16BF, in, what == kind::weight ? rows : out);   // w, or x
    layout(b_, CUDA_R_16BF, what == kind::forward ? in : out, rows);  // x, or dy
    layout(c_, what == kind::weight ? CUDA_R_32F : CUDA_R_16BF, what == kind::forward ? out : in,
           what == kind::weight ? out : rows);
    adds_ = what == kind::weight ? 1.0f : 0.0f;
    cublasLtMatmulPreference_t wish = nullptr;
    check(cublasLtMatmulPreferenceCreate(&wish), "cublasLtMatmulPreferenceCreate");
    const auto bytes = static_cast<std::size_t>(space_.size());
    check(cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                               sizeof bytes),
          "workspace");
    int found = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle_, what_, a_, b_, c_, c_, wish, 1, &best_, &found),
          "cublasLtMatmulAlgoGetHeuristic");
    cublasLtMatmulPreferenceDestroy(wish);
    if (found == 0) fail(cuda_failed, "cublasLtMatmulAlgoGetHeuristic knows no way");
  }
  bare_product(const bare_product&) = delete;
  bare_product& operator=(const bare_product&) = delete;
  ~bare_product() {
    for (cublasLtMatrixLayout_t each : {a_, b_, c_}) cublasLtMatrixLayoutDestroy(each);
    cublasLtMatmulDescDestroy(what_);
    cublasLtDestroy(handle_);
  }
  void run(cudaStream_t stream, const void* a, const void* b, void* c) const {
    const float one = 1;
    check(cublasLtMatmul(handle_, what_, &one, a, a_, b, b_, &adds_, c, c_, c, c_, &best_.algo, space_.data(),
                         static_cast<std::size_t>(space_.size()), stream),
          "cublasLtMatmul");
  }

 private:
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t what_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  cublasLtMatmulHeuristicResult_t best_{};
  float adds_ = 0;
  cuda::buffer<std::byte> space_;
};

struct layer {
  const char* name;
  isize rows, in, out;
};

}  // namespace

void measure(cuda::device& on, const bench::settings& how, bool autotune) {
  on.on().part<cuda::product_settings>().autotune = autotune;
  const isize pictures = how.size(128 * 257, 48), words = how.size(128 * 77, 32), wide = how.size(1024, 64),
              narrow = how.size(768, 32);
  const std::vector<layer> layers = {
      {"picture qkv", pictures, wide, 3 * wide},  {"picture attention out", pictures, wide, wide},
      {"picture up", pictures, wide, 4 * wide},   {"picture down", pictures, 4 * wide, wide},
      {"caption qkv", words, narrow, 3 * narrow}, {"caption up", words, narrow, 4 * narrow},
      {"caption down", words, 4 * narrow, narrow}};
  const double peak = on.measure_peak<bf16>(how.size(8192, 64), how.size(4096, 64), how.size(4096, 64));
  bench::line("{\"peak_tflops\": %.1f}", peak * 1e-12);
  std::vector<double> ratios;
  std::string slowest;
  for (const layer& of : layers) {
    const isize rotated = how.size(256 << 20, 4096);
    const bench::rotating<bf16> x(on, of.rows * of.in, 1, rotated), y(on, of.rows * of.out, 1, rotated),
        w(on, of.in * of.out, 0.05f, 0);
    const bench::rotating<float> weights(on, of.in * of.out, 0.05f, 0), bias(on, of.out, 1, 0),
        d_weights(on, of.in * of.out, 1, 0), d_bias(on, of.out, 1, 0), d_bare(on, of.in * of.out, 1, 0);
    const sequences seq{of.rows, 1, nullptr};
    const auto rows_of = [&](bf16* at, isize width) { return matrix<bf16>{at, of.rows, width, width}; };
    const matrix<const float> weight{weights[0], of.out, of.in, of.in};
    const bare_product forward(kind::forward, of.rows, of.in, of.out),
        input(kind::input, of.rows, of.in, of.out), gradient(kind::weight, of.rows, of.in, of.out);
    const double flops =
        2.0 * static_cast<double>(of.rows) * static_cast<double>(of.in) * static_cast<double>(of.out);
    // As trainers do: products read a copy of the weights in bf16.
    on.keep_weights<bf16>(weights[0], of.in * of.out);
    on.run([](cuda::context& ctx) { refresh_weights(ctx); });
    const auto tell = [&](const char* what, const bare_product& bare, auto&& operands,
                          std::function<void(cuda::context&, isize)> run) {
      if (!how.wants(std::string(of.name) + ", " + what)) return;
      const bench::contender alone{&on, [&](cuda::context& ctx, isize t) {
                                     if (!ctx.measuring()) operands(ctx.stream(), bare, t);
                                   }};
      const bench::timed found = bench::compare({alone, {&on, std::move(run)}}, how.turns(15));
      const double ratio = 1 / found.ratios[1];
      if (ratios.empty() || ratio < *std::min_element(ratios.begin(), ratios.end()))
        slowest = std::string(of.name) + ", " + what;
      ratios.push_back(ratio);
      bench::line(
          "{\"product\": \"%s, %s\", \"autotune\": %s, \"rows\": %td, \"in\": %td, \"out\": %td, \"tflops\": "
          "%.1f, \"bare_tflops\": %.1f, "
          "\"of_peak\": %.3f, "
          "\"ratio\": %.3f}",
          of.name, what, autotune ? "true" : "false", of.rows, of.in, of.out,
          flops / found.seconds[1] * 1e-12, flops / found.seconds[0] * 1e-12, flops / found.seconds[1] / peak,
          ratio);
    };
    const auto go_forward = [&](cudaStream_t stream, const bare_product& bare, isize t) {
      bare.run(stream, w[0], x[t], y[t]);
    };
    tell("forward with bias", forward, go_forward, [&](cuda::context& ctx, isize t) {
      linear_forward(ctx, seq, matrix<const bf16>(rows_of(x[t], of.in)), weight, bias[0],
                     rows_of(y[t], of.out));
    });
    {
      const bench::rotating<bf16> pre(on, of.rows * of.out, 1, 0);
      tell("forward with bias and gelu", forward, go_forward, [&](cuda::context& ctx, isize t) {
        linear_forward(ctx, seq, matrix<const bf16>(rows_of(x[t], of.in)), weight, bias[0], activation::gelu,
                       rows_of(pre[0], of.out), rows_of(y[t], of.out));
      });
    }
    tell(
        "backward, input", input,
        [&](cudaStream_t stream, const bare_product& bare, isize t) { bare.run(stream, w[0], y[t], x[t]); },
        [&](cuda::context& ctx, isize t) {
          linear_backward_input(ctx, seq, matrix<const bf16>(rows_of(y[t], of.out)), weight,
                                rows_of(x[t], of.in));
        });
    tell(
        "backward, weight and bias", gradient,
        [&](cudaStream_t stream, const bare_product& bare, isize t) {
          bare.run(stream, x[t], y[t], d_bare[0]);
        },
        [&](cuda::context& ctx, isize t) {
          linear_backward_weight(ctx, matrix<const bf16>(rows_of(x[t], of.in)),
                                 matrix<const bf16>(rows_of(y[t], of.out)),
                                 matrix<float>{d_weights[0], of.out, of.in, of.in}, d_bias[0]);
        });
    on.finish();
    on.drop_weights(weights[0]);
  }
  if (ratios.empty()) return;
  bench::tell("products: peak %.0f TFLOP/s; over bare cuBLASLt %.2fx median of %zu, lowest %.2fx (%s)",
              peak * 1e-12, bench::median(ratios), ratios.size(),
              *std::min_element(ratios.begin(), ratios.end()), slowest.c_str());
}

}  // namespace motet

int main(int count, char** words) {
  bool autotune = false;
  motet::bench::settings how("bench_gpu_products",
                             "products as layers call them, beside cuBLASLt called bare");
  how.offer_turns();
  how.offer_names();
  how.flag("--autotune", autotune,
           "time the library's best offers for each new shape, once, and take the fastest");
  return how.run(count, words, [&] {
    return motet::bench::on_gpu([&](motet::cuda::device& on) { motet::measure(on, how, autotune); });
  });
}
