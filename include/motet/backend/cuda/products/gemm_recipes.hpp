// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/taken_paths.hpp>
#include <motet/backend/cuda/products/product_settings.hpp>
#include <motet/backend/cuda/products/product_shape.hpp>
#include <motet/nn/core/operations.hpp>

#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#if MOTET_CUBLASLT
#include <cublasLt.h>
#endif

namespace motet::cuda {

struct product_operands {
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  void *d = nullptr, *bias = nullptr, *aux = nullptr;
  // of fp8 operands: a number on the GPU that they are multiplied by
  const float *a_scale = nullptr, *b_scale = nullptr;
};

#if MOTET_CUBLASLT

namespace detail {

using motet::cuda::check;
inline void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail(gpu_library_failed, std::string(call) + ": " + cublasLtGetStatusName(status));
}

inline cudaDataType_t library_type(dtype kind) {
  switch (kind) {
    case dtype::bf16: return CUDA_R_16BF;
    case dtype::f8_e4m3: return CUDA_R_8F_E4M3;
    case dtype::f8_e5m2: return CUDA_R_8F_E5M2;
    default: return CUDA_R_32F;
  }
}

inline cublasLtEpilogue_t library_epilogue(fused kind) {
  switch (kind) {
    case fused::nothing: return CUBLASLT_EPILOGUE_DEFAULT;
    case fused::bias: return CUBLASLT_EPILOGUE_BIAS;
    case fused::gelu: return CUBLASLT_EPILOGUE_GELU;
    case fused::gelu_bias: return CUBLASLT_EPILOGUE_GELU_BIAS;
    case fused::gelu_aux: return CUBLASLT_EPILOGUE_GELU_AUX;
    case fused::gelu_aux_bias: return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case fused::dgelu: return CUBLASLT_EPILOGUE_DGELU;
    case fused::relu: return CUBLASLT_EPILOGUE_RELU;
    case fused::relu_bias: return CUBLASLT_EPILOGUE_RELU_BIAS;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

inline std::uint8_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256u;
  return static_cast<std::uint8_t>(__builtin_ctzll(bits));
}

// Descriptors of one product and what the library chose for it. The library thinks in columns: our d by rows
// is its d^T by columns, so that its A is our b and its B is our a, and a bias of our columns is one of its
// rows.
class product_recipe {
 public:
  product_recipe() = default;
  product_recipe(product_recipe&& from) noexcept { *this = std::move(from); }
  product_recipe& operator=(product_recipe&& from) noexcept {
    std::swap(what_, from.what_);
    for (int i = 0; i < 4; ++i) std::swap(layouts_[i], from.layouts_[i]);
    std::swap(chosen, from.chosen);
    std::swap(usable, from.usable);
    std::swap(kept, from.kept);
    std::swap(refused, from.refused);
    return *this;
  }
  explicit product_recipe(const product_shape& shape) {
    check(cublasLtMatmulDescCreate(&what_, shape.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                                   CUDA_R_32F),
          "cublasLtMatmulDescCreate");
    set(CUBLASLT_MATMUL_DESC_TRANSA,
        static_cast<std::int32_t>(shape.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N));
    set(CUBLASLT_MATMUL_DESC_TRANSB,
        static_cast<std::int32_t>(shape.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N));
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(library_epilogue(shape.epilogue)));
    // A bias of fp8 operands is bf16, whatever the output is.
    if (dtype_bytes(shape.a) == 1 && shape.epilogue == fused::bias)
      set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(CUDA_R_16BF));
    // Forward, sums of fp8 products are kept in the tensor cores; of gradients they are moved to fp32 now and
    // then.
    if (shape.a == dtype::f8_e4m3 && shape.b == dtype::f8_e4m3)
      set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
    if (shape.processors > 0)
      set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, static_cast<std::int32_t>(shape.processors));
    layout(0, shape.b, shape.b_transposed ? shape.k : shape.n, shape.b_transposed ? shape.n : shape.k,
           shape.b_stride);
    layout(1, shape.a, shape.a_transposed ? shape.m : shape.k, shape.a_transposed ? shape.k : shape.m,
           shape.a_stride);
    layout(2, shape.d, shape.n, shape.m, shape.added ? shape.c_stride : shape.d_stride);
    layout(3, shape.d, shape.n, shape.m, shape.d_stride);
  }
  ~product_recipe() {
    for (auto each : layouts_)
      if (each != nullptr) cublasLtMatrixLayoutDestroy(each);
    if (what_ != nullptr) cublasLtMatmulDescDestroy(what_);
  }

  // Addresses that belong to the description. The library looks at their alignment when it chooses.
  void point(const product_shape& shape, const product_operands& with) {
    if (with.bias != nullptr) {
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(with.bias));
    }
    if (with.aux != nullptr) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<const void*>(with.aux));
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, static_cast<std::int64_t>(shape.aux_stride));
    }
    // The library's A is our b.
    if (with.b_scale != nullptr)
      set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const void*>(with.b_scale));
    if (with.a_scale != nullptr)
      set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, static_cast<const void*>(with.a_scale));
  }

  // The library's offers come best first; there are none where it has nothing for this.
  int offers(cublasLtHandle_t library, const product_shape& shape, isize workspace,
             cublasLtMatmulHeuristicResult_t* found, int most) {
    cublasLtMatmulPreference_t want = nullptr;
    check(cublasLtMatmulPreferenceCreate(&want), "cublasLtMatmulPreferenceCreate");
    const auto ask = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& value) {
      check(cublasLtMatmulPreferenceSetAttribute(want, what, &value, sizeof(value)),
            "cublasLtMatmulPreferenceSetAttribute");
    };
    ask(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(workspace));
    ask(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, std::uint32_t{1} << shape.b_at);
    ask(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, std::uint32_t{1} << shape.a_at);
    ask(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
        std::uint32_t{1} << (shape.added ? shape.c_at : shape.d_at));
    ask(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, std::uint32_t{1} << shape.d_at);
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        library, what_, layouts_[0], layouts_[1], layouts_[2], layouts_[3], want, most, found, &count);
    cublasLtMatmulPreferenceDestroy(want);
    refused = cublasLtGetStatusName(status);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return 0;
    check(status, "cublasLtMatmulAlgoGetHeuristic");
    int good = 0;
    for (int i = 0; i < count; ++i)
      if (found[i].state == CUBLAS_STATUS_SUCCESS) found[good++] = found[i];
    return good;
  }

  cublasStatus_t run(cublasLtHandle_t library, const product_operands& with,
                     const cublasLtMatmulHeuristicResult_t& how, void* d, void* workspace, bool added,
                     cudaStream_t stream) const {
    const float one = 1, beta = added ? 1.0f : 0.0f;
    // Without an addend C is not read, but it must be an address; D is one of the same layout.
    return cublasLtMatmul(library, what_, &one, with.b, layouts_[0], with.a, layouts_[1], &beta,
                          added ? with.c : d, layouts_[2], d, layouts_[3], &how.algo, workspace,
                          how.workspaceSize, stream);
  }

  // This algorithm, which another program found; false: the library does not know it, or not for this, or it
  // wants more memory.
  bool take(cublasLtHandle_t library, const product_algorithm& found, isize workspace) {
    cublasLtMatmulHeuristicResult_t result{};
    static_assert(sizeof(result.algo) == sizeof(found) && std::is_trivially_copyable_v<cublasLtMatmulAlgo_t>,
                  "motet: an algorithm of cuBLASLt is bytes that may be kept in a file");
    std::memcpy(&result.algo, found.data(), sizeof(found));
    const cublasLtMatmulAlgo_t asked = result.algo;
    if (cublasLtMatmulAlgoCheck(library, what_, layouts_[0], layouts_[1], layouts_[2], layouts_[3], &asked,
                                &result) != CUBLAS_STATUS_SUCCESS)
      return false;
    if (result.workspaceSize > as_size(workspace)) return false;
    result.algo = asked;
    chosen = result;
    return usable = kept = true;
  }
  product_algorithm algorithm() const {
    product_algorithm found;
    std::memcpy(found.data(), &chosen.algo, sizeof(found));
    return found;
  }

  cublasLtMatmulHeuristicResult_t chosen{};
  bool usable = false;
  bool kept = false;              // what was chosen comes from a cache
  const char* refused = nullptr;  // the library's last word

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t what, const T& value) {
    check(cublasLtMatmulDescSetAttribute(what_, what, &value, sizeof(value)),
          "cublasLtMatmulDescSetAttribute");
  }
  void layout(int which, dtype type, isize rows, isize columns, isize stride) {
    check(cublasLtMatrixLayoutCreate(&layouts_[which], library_type(type), static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(columns), static_cast<std::int64_t>(stride)),
          "cublasLtMatrixLayoutCreate");
  }
  cublasLtMatmulDesc_t what_ = nullptr;
  cublasLtMatrixLayout_t layouts_[4] = {};
};

}  // namespace detail

// Products that the library takes, of one engine: a recipe for each shape, made when it is first met.
class gemm_recipes {
 public:
  explicit gemm_recipes(engine& on) : on_(on) {
    detail::check(cublasLtCreate(&library_), "cublasLtCreate");
    check(cudaDeviceGetAttribute(&all_processors_, cudaDevAttrMultiProcessorCount, on.gpu()),
          "cudaDeviceGetAttribute");
    workspace_ = buffer<std::byte>(on.part<product_settings>().workspace);
  }
  gemm_recipes(const gemm_recipes&) = delete;
  gemm_recipes& operator=(const gemm_recipes&) = delete;
  ~gemm_recipes() {
    recipes_.clear();
    if (library_ != nullptr) cublasLtDestroy(library_);
  }

  // The result is false where the library has nothing for this, and nothing was done. What a recipe cannot
  // know is asked here: the rules of epilogues and addresses.
  bool run(product_shape shape, const product_operands& with) {
    if (on_.processors() < all_processors_) shape.processors = on_.processors();
    shape.a_at = detail::alignment_of(with.a);
    shape.b_at = detail::alignment_of(with.b);
    shape.c_at = shape.added ? detail::alignment_of(with.c) : std::uint8_t{0};
    shape.d_at = detail::alignment_of(with.d);
    if (with.bias != nullptr && detail::alignment_of(with.bias) < 4)
      return refuse({"a bias does not lie at 16 bytes"});
    if (with.aux != nullptr && (detail::alignment_of(with.aux) < 4 || shape.aux_stride % 8 != 0))
      return refuse({"rows of what an epilogue keeps do not lie at 16 bytes"});
    detail::product_recipe& recipe = recipe_for(shape, with);
    if (!recipe.usable)
      return refuse({"cuBLASLt has nothing for its shape, types and epilogue", 0, recipe.refused});
    recipe.point(shape, with);
    const auto refused = [](cublasStatus_t status) {
      return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH ||
             status == CUBLAS_STATUS_INVALID_VALUE;
    };
    const auto once = [&] {
      return recipe.run(library_, with, recipe.chosen, with.d, workspace_.data(), shape.added, on_.stream());
    };
    cublasStatus_t status = once();
    // Some rules it tells only now.
    if (refused(status) && std::exchange(recipe.kept, false)) {
      choose(recipe, shape, with);
      if (recipe.usable) status = once();
    }
    if (refused(status)) {
      recipe.usable = false;
      recipe.refused = cublasLtGetStatusName(status);
      return refuse({"cuBLASLt refuses it when it runs", 0, recipe.refused});
    }
    detail::check(status, "cublasLtMatmul");
    return true;
  }

  const detour& why() const { return why_; }
  isize recipes() const { return static_cast<isize>(recipes_.size()); }
  // Shapes whose offers were timed here.
  isize timed() const { return timed_; }
  // Recipes that the library had nothing for: other epilogues or our own kernels did their work, slower.
  isize refused() const {
    isize count = 0;
    for (const auto& each : recipes_) count += each.second.usable ? 0 : 1;
    return count;
  }

 private:
  struct hash {
    std::size_t operator()(const product_shape& s) const {
      std::uint64_t all = 0;
      const auto mix = [&](auto value) {
        all = (all ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15ull, all ^= all >> 29;
      };
      mix(s.m), mix(s.n), mix(s.k), mix(s.a_stride), mix(s.b_stride), mix(s.c_stride), mix(s.d_stride),
          mix(s.aux_stride), mix(s.processors);
      mix(static_cast<int>(s.a) | static_cast<int>(s.b) << 8 | static_cast<int>(s.d) << 16 |
          static_cast<int>(s.epilogue) << 24);
      mix(s.a_transposed | s.b_transposed << 1 | s.added << 2 | s.tf32 << 3);
      mix(s.a_at | s.b_at << 4 | s.c_at << 8 | s.d_at << 12);
      return as_size(all);
    }
  };

  bool refuse(const detour& because) { return why_ = because, false; }

  detail::product_recipe& recipe_for(const product_shape& shape, const product_operands& with) {
    if (const auto found = recipes_.find(shape); found != recipes_.end()) return found->second;
    detail::product_recipe& recipe = recipes_.emplace(shape, detail::product_recipe(shape)).first->second;
    recipe.point(shape, with);
    const product_algorithm* const known =
        on_.part<product_settings>().autotune ? cache().find(text_of(shape)) : nullptr;
    if (known == nullptr || !recipe.take(library_, *known, workspace_.size())) choose(recipe, shape, with);
    return recipe;
  }
  // The first offer of the library is taken, or the one that takes the least time here; that is kept.
  void choose(detail::product_recipe& recipe, const product_shape& shape, const product_operands& with) {
    constexpr int most = 8;
    cublasLtMatmulHeuristicResult_t found[most];
    const bool time = on_.part<product_settings>().autotune && !capturing(on_);
    const int count = recipe.offers(library_, shape, workspace_.size(), found, time ? most : 1);
    recipe.usable = count > 0;
    if (!recipe.usable) return;
    const int best = count > 1 ? fastest(recipe, shape, with, found, count) : -1;
    recipe.chosen = found[best >= 0 ? best : 0];
    timed_ += count > 1;
    if (best >= 0) cache().keep(text_of(shape), recipe.algorithm());
  }
  product_cache& cache() {
    if (!cache_) {
      cudaDeviceProp gpu{};
      check(cudaGetDeviceProperties(&gpu, on_.gpu()), "cudaGetDeviceProperties");
      int driver = 0;
      check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
      cache_.emplace(on_.part<product_settings>().cache,
                     sentence({gpu.name, ", sm_", gpu.major, gpu.minor, ", ", gpu.multiProcessorCount,
                               " multiprocessors, driver ", driver, ", cuBLASLt ", cublasLtGetVersion()}));
    }
    return *cache_;
  }

  // Runs each offer on the operands as they are, with another output, so that nothing is added twice. What an
  // epilogue writes besides is written again. -1: none of them runs.
  int fastest(const detail::product_recipe& recipe, const product_shape& shape, const product_operands& with,
              const cublasLtMatmulHeuristicResult_t* found, int count) const {
    const buffer<std::byte> out(shape.m * shape.d_stride * dtype_bytes(shape.d));
    cudaEvent_t begin = nullptr, end = nullptr;
    check(cudaEventCreate(&begin), "cudaEventCreate");
    check(cudaEventCreate(&end), "cudaEventCreate");
    constexpr int repeats = 3;
    int best = -1;
    float least = -1;
    for (int i = 0; i < count; ++i) {
      bool fits = true;
      for (int repeat = 0; repeat <= repeats && fits; ++repeat) {
        // the first one loads the kernel
        if (repeat == 1) check(cudaEventRecord(begin, on_.stream()), "cudaEventRecord");
        fits = recipe.run(library_, with, found[i], out.data(), workspace_.data(), shape.added,
                          on_.stream()) == CUBLAS_STATUS_SUCCESS;
      }
      check(cudaEventRecord(end, on_.stream()), "cudaEventRecord");
      check(cudaEventSynchronize(end), "cudaEventSynchronize");
      float took = 0;
      if (!fits) continue;
      check(cudaEventElapsedTime(&took, begin, end), "cudaEventElapsedTime");
      if (least < 0 || took < least) least = took, best = i;
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return best;
  }

  engine& on_;
  cublasLtHandle_t library_ = nullptr;
  int all_processors_ = 0;
  detour why_;
  buffer<std::byte> workspace_;
  std::optional<product_cache> cache_;
  isize timed_ = 0;
  std::unordered_map<product_shape, detail::product_recipe, hash> recipes_;
};

#else

// A build without the library refuses all.
class gemm_recipes {
 public:
  explicit gemm_recipes(engine&) {}
  bool run(const product_shape&, const product_operands&) { return false; }
  detour why() const { return {"this program was built without cuBLASLt"}; }
  isize recipes() const { return 0; }
  isize timed() const { return 0; }
  isize refused() const { return 0; }
};

#endif

}  // namespace motet::cuda
