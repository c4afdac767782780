// SPDX-License-Identifier: Apache-2.0
// The descriptions of products that linear layers, attention and losses make, before the real cuBLASLt. What
// they say is judged anywhere: a library refuses attributes that it does not know or of another size. What it
// offers for them it tells only where there is a GPU; there, whatever our code counts on must be offered, and
// the rest is listed.
#include <motet/backend/cuda/products/gemm_recipes.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using namespace motet;
using cuda::fused;

struct asked {
  std::string name;
  cuda::product_shape shape;
  bool needed;  // our own kernels or second passes would be far slower
};

const char* name_of(fused kind) {
  static const char* const names[] = {"alone",         "bias",  "gelu", "gelu_bias", "gelu_aux",
                                      "gelu_aux_bias", "dgelu", "relu", "relu_bias"};
  return names[static_cast<int>(kind)];
}
bool has_bias(fused kind) {
  return kind == fused::bias || kind == fused::gelu_bias || kind == fused::gelu_aux_bias ||
         kind == fused::relu_bias;
}
bool has_aux(fused kind) {
  return kind == fused::gelu_aux || kind == fused::gelu_aux_bias || kind == fused::dgelu;
}

// A product of rows (m, k) by (k, n) that lie packed.
asked product(dtype a, dtype b, dtype d, bool a_turned, bool b_turned, fused epilogue, bool added,
              bool needed, bool tf32 = false) {
  cuda::product_shape s;
  s.a = a, s.b = b, s.d = d, s.a_transposed = a_turned, s.b_transposed = b_turned, s.epilogue = epilogue,
  s.added = added, s.tf32 = tf32;
  s.m = 768, s.n = 3072, s.k = 1536;
  s.a_stride = a_turned ? s.m : s.k, s.b_stride = b_turned ? s.k : s.n, s.d_stride = s.n;
  s.c_stride = added ? s.n : 0, s.aux_stride = has_aux(epilogue) ? s.n : 0;
  s.a_at = s.b_at = s.d_at = 8, s.c_at = added ? 8 : 0;
  const auto type = [](dtype of) {
    return of == dtype::bf16 ? "bf16" : of == dtype::f8_e4m3 ? "e4m3" : of == dtype::f8_e5m2 ? "e5m2" : "f32";
  };
  const std::string name = std::string(type(a)) + " " + type(b) + " -> " + type(d) +
                           (a_turned ? " T" : " N") + (b_turned ? "T " : "N ");
  return {name + name_of(epilogue) + (added ? " added" : "") + (tf32 ? " tf32" : ""), s, needed};
}

std::vector<asked> all_products() {
  std::vector<asked> all;
  const auto half = dtype::bf16, single = dtype::f32, values = dtype::f8_e4m3, gradients = dtype::f8_e5m2;
  for (const auto& [a_turned, b_turned] :
       {std::pair{false, true}, {false, false}, {true, false}, {true, true}})
    for (const bool added : {false, true}) {
      for (const auto d : {half, single}) {
        for (const auto kind : {fused::nothing, fused::bias})
          all.push_back(product(half, half, d, a_turned, b_turned, kind, added, true));
        for (const auto kind : {fused::gelu, fused::gelu_bias, fused::gelu_aux, fused::gelu_aux_bias,
                                fused::dgelu, fused::relu, fused::relu_bias})
          if (!added) all.push_back(product(half, half, d, a_turned, b_turned, kind, added, false));
      }
      for (const bool tf32 : {false, true})
        for (const auto kind : {fused::nothing, fused::bias})
          all.push_back(product(single, single, single, a_turned, b_turned, kind, added, true, tf32));
    }
  for (const auto d : {half, single})
    for (const bool added : {false, true}) {
      all.push_back(product(values, values, d, false, true, fused::nothing, added, true));
      all.push_back(product(values, values, d, false, true, fused::bias, added, d == half));
      all.push_back(product(gradients, values, d, false, true, fused::nothing, added, true));
    }
  return all;
}

}  // namespace

#if MOTET_CUBLASLT

TEST_CASE("what products say of themselves is known to the library") {
  MESSAGE("cuBLASLt " << cublasLtGetVersion());
  cublasLtHandle_t library = nullptr;
  const bool asks = cublasLtCreate(&library) == CUBLAS_STATUS_SUCCESS;
  int major = 0;
  if (asks) CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess);
  else MESSAGE("no GPU: what the library offers is not known");
  for (const asked& each : all_products()) {
    CAPTURE(each.name);
    cuda::detail::product_recipe recipe(each.shape);
    float scale = 1;
    cuda::product_operands with;
    // the library looks at its alignment
    void* const somewhere = reinterpret_cast<void*>(std::uintptr_t{1} << 20);
    with.a = with.b = with.c = with.d = somewhere;
    if (has_bias(each.shape.epilogue)) with.bias = somewhere;
    if (has_aux(each.shape.epilogue)) with.aux = somewhere;
    const bool small = dtype_bytes(each.shape.a) == 1;
    if (small) with.a_scale = with.b_scale = &scale;
    CHECK_NOTHROW(recipe.point(each.shape, with));
    if (!asks || (small && major < 9)) continue;
    cublasLtMatmulHeuristicResult_t found[8];
    const int offers = recipe.offers(library, each.shape, motet::isize{32} << 20, found, 8);
    if (each.needed) CHECK(offers > 0);
    else if (offers == 0) MESSAGE("nothing is offered for " << each.name);
  }
  if (asks) cublasLtDestroy(library);
}

// So that the test above can fail.
TEST_CASE("the library refuses an attribute of another size") {
  cublasLtMatmulDesc_t made = nullptr;
  REQUIRE(cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
  const std::int32_t fast = 1;
  CHECK(cublasLtMatmulDescSetAttribute(made, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof(fast)) ==
        CUBLAS_STATUS_INVALID_VALUE);
  const std::int8_t narrow = 1;
  CHECK(cublasLtMatmulDescSetAttribute(made, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &narrow, sizeof(narrow)) ==
        CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulDescDestroy(made);
}

#endif
