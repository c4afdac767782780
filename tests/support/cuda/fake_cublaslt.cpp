// SPDX-License-Identifier: Apache-2.0
// cuBLASLt on the emulated GPU, as its documentation (CUDA 13) says: matrices by columns, products with their
// epilogues, types and alignments that are supported, and refusals of all others. It is stricter than the
// library where the documentation leaves a choice.
#include "support/cuda/fake_cublaslt.hpp"

#include "support/cuda/machine.hpp"

#include <motet/tensor/dtype.hpp>

#include <cublasLt.h>

#include <cmath>
#include <cstring>
#include <map>
#include <vector>

namespace motet::emulation {
namespace {

using std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, std::uint8_t;

struct description {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  int32_t scale_type = CUDA_R_32F, pointer_mode = CUBLASLT_POINTER_MODE_HOST, a_op = CUBLAS_OP_N,
          b_op = CUBLAS_OP_N, c_op = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr, *aux = nullptr;
  int64_t aux_ld = 0;
  int32_t bias_type = -1, aux_type = -1, processors = 0;
  const void *a_scale = nullptr, *b_scale = nullptr, *c_scale = nullptr, *d_scale = nullptr;
  void* d_amax = nullptr;
  std::int8_t fast = 0;
};
struct layout {
  cudaDataType type = CUDA_R_32F;
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0;
};
struct preference {
  uint64_t workspace = 0;
  uint32_t align[4] = {256, 256, 256, 256};
};
struct handle {
  int alive = 1;
};
// cublasLtMatmulAlgo_t::data keeps what an algorithm was chosen for.
struct algorithm {
  uint64_t mark, problem, workspace;
  uint32_t align[4];
};
static_assert(sizeof(algorithm) <= sizeof(cublasLtMatmulAlgo_t));
constexpr uint64_t algorithm_mark = 0x616c676f72697468;

std::map<uint64_t, double>& delays() {
  static std::map<uint64_t, double> all;
  return all;
}

std::size_t width_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2: return 1;
    case CUDA_R_16BF: return 2;
    case CUDA_R_32F: return 4;
    case CUDA_R_64F: return 8;
    default: return 0;
  }
}
bool small_float(cudaDataType type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

double of_small(uint8_t bits, int exponent_bits) {
  const int fraction_bits = 7 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7f) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = bits & 0x80 ? -1 : 1, step = 1.0 / (1 << fraction_bits);
  if (exponent_bits == 4 && (bits & 0x7f) == 0x7f) return NAN;
  if (exponent_bits == 5 && exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction * step, 1 - bias);
  return sign * std::ldexp(1 + fraction * step, exponent - bias);
}
double read(const void* from, cudaDataType type, int64_t at) {
  switch (type) {
    case CUDA_R_8F_E4M3: return of_small(static_cast<const uint8_t*>(from)[at], 4);
    case CUDA_R_8F_E5M2: return of_small(static_cast<const uint8_t*>(from)[at], 5);
    case CUDA_R_16BF: return static_cast<float>(static_cast<const bf16*>(from)[at]);
    case CUDA_R_64F: return static_cast<const double*>(from)[at];
    default: return static_cast<const float*>(from)[at];
  }
}
void write(void* to, cudaDataType type, int64_t at, double value) {
  switch (type) {
    case CUDA_R_16BF: static_cast<bf16*>(to)[at] = bf16(static_cast<float>(value)); break;
    case CUDA_R_64F: static_cast<double*>(to)[at] = value; break;
    default: static_cast<float*>(to)[at] = static_cast<float>(value);
  }
}
// Operands of tf32 products keep ten bits of their fraction.
double as_tf32(double value) {
  const auto bits = __builtin_bit_cast(uint32_t, static_cast<float>(value));
  return __builtin_bit_cast(float, (bits + 0x1000u) & 0xffffe000u);
}

struct problem {
  description what;
  layout a, b, c, d;
  int64_t m = 0, n = 0, k = 0;

  bool epilogue_is(std::initializer_list<cublasLtEpilogue_t> kinds) const {
    for (auto kind : kinds)
      if (what.epilogue == static_cast<uint32_t>(kind)) return true;
    return false;
  }
  bool biased() const {
    return epilogue_is({CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS,
                        CUBLASLT_EPILOGUE_GELU_AUX_BIAS});
  }
  bool keeps() const { return epilogue_is({CUBLASLT_EPILOGUE_GELU_AUX, CUBLASLT_EPILOGUE_GELU_AUX_BIAS}); }
  bool derives() const { return epilogue_is({CUBLASLT_EPILOGUE_DGELU}); }
  cudaDataType bias_type() const { return small_float(a.type) && biased() ? CUDA_R_16BF : d.type; }

  uint64_t number() const {
    uint64_t all = 0;
    for (const int64_t part :
         {m, n, k, a.ld, b.ld, c.ld, d.ld, static_cast<int64_t>(a.type), static_cast<int64_t>(b.type),
          static_cast<int64_t>(d.type), static_cast<int64_t>(what.epilogue), static_cast<int64_t>(what.a_op),
          static_cast<int64_t>(what.b_op), static_cast<int64_t>(what.compute),
          static_cast<int64_t>(what.processors), what.aux_ld})
      all = (all ^ static_cast<uint64_t>(part)) * 0x100000001b3ull + 0x9e3779b97f4a7c15ull;
    return all;
  }
};

cublasStatus_t look(problem& p, const uint32_t (&align)[4]) {
  const auto& w = p.what;
  if (w.c_op != CUBLAS_OP_N || w.pointer_mode != CUBLASLT_POINTER_MODE_HOST)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool a_turned = w.a_op == CUBLAS_OP_T, b_turned = w.b_op == CUBLAS_OP_T;
  p.m = static_cast<int64_t>(a_turned ? p.a.columns : p.a.rows),
  p.k = static_cast<int64_t>(a_turned ? p.a.rows : p.a.columns);
  p.n = static_cast<int64_t>(b_turned ? p.b.rows : p.b.columns);
  if (static_cast<int64_t>(b_turned ? p.b.columns : p.b.rows) != p.k) return CUBLAS_STATUS_INVALID_VALUE;
  for (const layout* each : {&p.c, &p.d})
    if (static_cast<int64_t>(each->rows) != p.m || static_cast<int64_t>(each->columns) != p.n)
      return CUBLAS_STATUS_INVALID_VALUE;
  for (const layout* each : {&p.a, &p.b, &p.c, &p.d})
    if (each->ld < static_cast<int64_t>(each->rows) || each->rows == 0 || each->columns == 0)
      return CUBLAS_STATUS_INVALID_VALUE;

  // The table of types.
  const bool fp8 = small_float(p.a.type) || small_float(p.b.type);
  if (fp8) {
    if (!small_float(p.a.type) || !small_float(p.b.type) ||
        (p.a.type == CUDA_R_8F_E5M2 && p.b.type == CUDA_R_8F_E5M2))
      return CUBLAS_STATUS_NOT_SUPPORTED;
    if (w.compute != CUBLAS_COMPUTE_32F || w.scale_type != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!a_turned || b_turned) return CUBLAS_STATUS_NOT_SUPPORTED;
    // Of A, which comes transposed, and of B the rows in memory are p.k, of D p.m: these are whole pieces of
    // 16 bytes. How many columns B and D have is free; PyTorch's scaled products, which are this call, rely
    // on it.
    if (p.m % 16 != 0 || p.k % 16 != 0) return CUBLAS_STATUS_NOT_SUPPORTED;
    if ((p.d.type != CUDA_R_16BF && p.d.type != CUDA_R_32F) || p.c.type != p.d.type)
      return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!p.epilogue_is({CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU,
                        CUBLASLT_EPILOGUE_RELU_BIAS}))
      return CUBLAS_STATUS_NOT_SUPPORTED;
  } else {
    if (w.a_scale != nullptr || w.b_scale != nullptr || w.c_scale != nullptr || w.d_scale != nullptr ||
        w.d_amax != nullptr)
      return CUBLAS_STATUS_INVALID_VALUE;
    if (p.a.type != p.b.type || p.c.type != p.d.type) return CUBLAS_STATUS_NOT_SUPPORTED;
    const bool half = p.a.type == CUDA_R_16BF && (p.d.type == CUDA_R_16BF || p.d.type == CUDA_R_32F) &&
                      w.compute == CUBLAS_COMPUTE_32F;
    const bool single = p.a.type == CUDA_R_32F && p.d.type == CUDA_R_32F &&
                        (w.compute == CUBLAS_COMPUTE_32F || w.compute == CUBLAS_COMPUTE_32F_FAST_TF32);
    const bool twice = p.a.type == CUDA_R_64F && p.d.type == CUDA_R_64F && w.compute == CUBLAS_COMPUTE_64F;
    if (!half && !single && !twice) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (w.scale_type != (twice ? CUDA_R_64F : CUDA_R_32F)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (twice && w.epilogue != CUBLASLT_EPILOGUE_DEFAULT) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (!p.epilogue_is({CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU}) && !p.biased() && !p.keeps() &&
      !p.derives() && !p.epilogue_is({CUBLASLT_EPILOGUE_GELU}))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (p.biased()) {
    if (w.bias == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (w.bias_type != -1 && w.bias_type != p.bias_type()) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (reinterpret_cast<std::uintptr_t>(w.bias) % 16 != 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (p.keeps() || p.derives()) {
    if (w.aux == nullptr || w.aux_ld < p.m || w.aux_ld % 8 != 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (w.aux_type != -1 && w.aux_type != p.d.type) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (reinterpret_cast<std::uintptr_t>(w.aux) % 16 != 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  // Kernels move at least four bytes at a time, those of fp8 sixteen.
  int which = 0;
  for (const layout* each : {&p.a, &p.b, &p.c, &p.d}) {
    const std::size_t least = fp8 ? 16 : 4;
    if (align[which++] < (width_of(each->type) > least ? width_of(each->type) : least))
      return CUBLAS_STATUS_NOT_SUPPORTED;
    if (static_cast<std::size_t>(each->ld) * width_of(each->type) % least != 0)
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return CUBLAS_STATUS_SUCCESS;
}

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}
double gelu_slope(double x) {
  const double t = std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.79788456080286535588 * (1 + 3 * 0.044715 * x * x);
}

void compute(const problem& p, double alpha, const void* a, const void* b, double beta, const void* c,
             void* d, void* workspace, uint64_t workspace_size) {
  if (workspace_size > 0) std::memset(workspace, 0xff, static_cast<std::size_t>(workspace_size));
  const auto& w = p.what;
  const bool a_turned = w.a_op == CUBLAS_OP_T, b_turned = w.b_op == CUBLAS_OP_T,
             tf32 = w.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const auto of_a = [&](int64_t i, int64_t l) {
    const double v = read(a, p.a.type, a_turned ? i * p.a.ld + l : l * p.a.ld + i);
    return tf32 ? as_tf32(v) : v;
  };
  const auto of_b = [&](int64_t l, int64_t j) {
    const double v = read(b, p.b.type, b_turned ? l * p.b.ld + j : j * p.b.ld + l);
    return tf32 ? as_tf32(v) : v;
  };
  const auto scale = [](const void* at) {
    return at != nullptr ? static_cast<double>(*static_cast<const float*>(at)) : 1.0;
  };
  const double by = alpha * scale(w.a_scale) * scale(w.b_scale), by_c = beta * scale(w.c_scale),
               by_d = scale(w.d_scale);
  std::vector<double> left(static_cast<std::size_t>(p.m * p.k)), right(static_cast<std::size_t>(p.n * p.k));
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t l = 0; l < p.k; ++l) left[static_cast<std::size_t>(i * p.k + l)] = of_a(i, l);
  for (int64_t j = 0; j < p.n; ++j)
    for (int64_t l = 0; l < p.k; ++l) right[static_cast<std::size_t>(j * p.k + l)] = of_b(l, j);
  double most = 0;
  for (int64_t j = 0; j < p.n; ++j)
    for (int64_t i = 0; i < p.m; ++i) {
      double v = 0;
      for (int64_t l = 0; l < p.k; ++l)
        v += left[static_cast<std::size_t>(i * p.k + l)] * right[static_cast<std::size_t>(j * p.k + l)];
      v = by * v + (beta != 0 ? by_c * read(c, p.c.type, j * p.c.ld + i) : 0);
      if (p.biased()) v += read(w.bias, p.bias_type(), i);
      if (p.keeps()) write(w.aux, p.d.type, j * w.aux_ld + i, v);
      if (p.epilogue_is({CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS}) || p.keeps()) v = gelu(v);
      if (p.epilogue_is({CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS})) v = v > 0 ? v : 0;
      if (p.derives()) v *= gelu_slope(read(w.aux, p.d.type, j * w.aux_ld + i));
      most = std::fabs(v) > most ? std::fabs(v) : most;
      write(d, p.d.type, j * p.d.ld + i, v * by_d);
    }
  if (w.d_amax != nullptr) *static_cast<float*>(w.d_amax) = static_cast<float>(most);
}

description* real(cublasLtMatmulDesc_t from) { return reinterpret_cast<description*>(from); }
layout* real(cublasLtMatrixLayout_t from) { return reinterpret_cast<layout*>(from); }
preference* real(cublasLtMatmulPreference_t from) { return reinterpret_cast<preference*>(from); }

template <class T>
cublasStatus_t set(T& to, const void* from, std::size_t bytes) {
  if (from == nullptr || bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

struct bytes_between {
  const char *begin, *end;
  bool meets(const bytes_between& other) const { return begin < other.end && other.begin < end; }
};
bytes_between reach(const void* data, const layout& of) {
  const auto* const begin = static_cast<const char*>(data);
  const auto elements = static_cast<std::size_t>(of.ld) * (of.columns - 1) + of.rows;
  return {begin, begin + elements * width_of(of.type)};
}
// Columns of a matrix may lie between those of another.
bool meets(const void* x, const layout& of_x, const void* y, const layout& of_y) {
  if (!reach(x, of_x).meets(reach(y, of_y))) return false;
  const auto bytes_x = of_x.ld * static_cast<int64_t>(width_of(of_x.type)),
             bytes_y = of_y.ld * static_cast<int64_t>(width_of(of_y.type));
  if (bytes_x != bytes_y) return true;
  const int64_t apart =
      ((static_cast<const char*>(y) - static_cast<const char*>(x)) % bytes_x + bytes_x) % bytes_x;
  const auto own_x = static_cast<int64_t>(of_x.rows * width_of(of_x.type)),
             own_y = static_cast<int64_t>(of_y.rows * width_of(of_y.type));
  return apart < own_x || apart + own_y > bytes_x;
}

}  // namespace

void delay_products(uint64_t workspace, double seconds) { delays()[workspace] = seconds; }

}  // namespace motet::emulation

using namespace motet::emulation;

extern "C" {

cublasStatus_t CUBLASWINAPI cublasLtCreate(cublasLtHandle_t* to) {
  if (to == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *to = reinterpret_cast<cublasLtHandle_t>(new handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtDestroy(cublasLtHandle_t which) {
  delete reinterpret_cast<handle*>(which);
  return CUBLAS_STATUS_SUCCESS;
}
const char* CUBLASWINAPI cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "CUBLAS_STATUS_OTHER";
  }
}
const char* CUBLASWINAPI cublasLtGetStatusString(cublasStatus_t status) {
  return cublasLtGetStatusName(status);
}
size_t CUBLASWINAPI cublasLtGetVersion() { return 130000; }

cublasStatus_t CUBLASWINAPI cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* to,
                                                     cublasComputeType_t compute_type, cudaDataType_t scale) {
  auto* const made = new description;
  made->compute = compute_type, made->scale_type = scale;
  *to = reinterpret_cast<cublasLtMatmulDesc_t>(made);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t which) {
  delete real(which);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t which,
                                                           cublasLtMatmulDescAttributes_t what,
                                                           const void* from, size_t bytes) {
  description& to = *real(which);
  switch (what) {
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: return set(to.pointer_mode, from, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA: return set(to.a_op, from, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return set(to.b_op, from, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSC: return set(to.c_op, from, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return set(to.epilogue, from, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return set(to.bias, from, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return set(to.bias_type, from, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return set(to.aux, from, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return set(to.aux_ld, from, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE: return set(to.aux_type, from, bytes);
    case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET: return set(to.processors, from, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER: return set(to.a_scale, from, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER: return set(to.b_scale, from, bytes);
    case CUBLASLT_MATMUL_DESC_C_SCALE_POINTER: return set(to.c_scale, from, bytes);
    case CUBLASLT_MATMUL_DESC_D_SCALE_POINTER: return set(to.d_scale, from, bytes);
    case CUBLASLT_MATMUL_DESC_AMAX_D_POINTER: return set(to.d_amax, from, bytes);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM: return set(to.fast, from, bytes);
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* to, cudaDataType type,
                                                       uint64_t rows, uint64_t cols, int64_t ld) {
  if (width_of(type) == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  *to = reinterpret_cast<cublasLtMatrixLayout_t>(new layout{type, rows, cols, ld});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t which) {
  delete real(which);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* to) {
  *to = reinterpret_cast<cublasLtMatmulPreference_t>(new preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t which) {
  delete real(which);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t which,
                                                                 cublasLtMatmulPreferenceAttributes_t what,
                                                                 const void* from, size_t bytes) {
  preference& to = *real(which);
  switch (what) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return set(to.workspace, from, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return set(to.align[0], from, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return set(to.align[1], from, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return set(to.align[2], from, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return set(to.align[3], from, bytes);
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t what,
                                                           cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                           cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                           cublasLtMatmulPreference_t want, int most,
                                                           cublasLtMatmulHeuristicResult_t found[],
                                                           int* count) {
  if (count == nullptr || most <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  *count = 0;
  if (is_refused("cublasLtMatmulAlgoGetHeuristic")) return CUBLAS_STATUS_NOT_SUPPORTED;
  problem p{*real(what), *real(a), *real(b), *real(c), *real(d)};
  const preference& wanted = *real(want);
  if (const auto status = look(p, wanted.align); status != CUBLAS_STATUS_SUCCESS) return status;
  for (const uint64_t workspace : {uint64_t{1} << 12, uint64_t{0}, uint64_t{1} << 16}) {
    if (*count == most || workspace > wanted.workspace) continue;
    algorithm made{algorithm_mark, p.number(), workspace, {}};
    std::memcpy(made.align, wanted.align, sizeof(made.align));
    auto& to = found[(*count)++];
    to = {};
    std::memcpy(&to.algo, &made, sizeof(made));
    to.workspaceSize = workspace;
    to.state = CUBLAS_STATUS_SUCCESS;
    to.wavesCount = 1;
  }
  return *count > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t what,
                                                    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                    const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulHeuristicResult_t* found) {
  if (algo == nullptr || found == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  problem p{*real(what), *real(a), *real(b), *real(c), *real(d)};
  algorithm chosen;
  std::memcpy(&chosen, algo, sizeof(chosen));
  if (chosen.mark != algorithm_mark) return CUBLAS_STATUS_INVALID_VALUE;
  if (const auto status = look(p, chosen.align); status != CUBLAS_STATUS_SUCCESS) return status;
  if (chosen.problem != p.number()) return CUBLAS_STATUS_INVALID_VALUE;
  // It says what it would take, and leaves the algorithm as it is.
  found->workspaceSize = chosen.workspace;
  found->state = CUBLAS_STATUS_SUCCESS;
  found->wavesCount = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmul(cublasLtHandle_t which, cublasLtMatmulDesc_t what,
                                           const void* alpha, const void* a, cublasLtMatrixLayout_t of_a,
                                           const void* b, cublasLtMatrixLayout_t of_b, const void* beta,
                                           const void* c, cublasLtMatrixLayout_t of_c, void* d,
                                           cublasLtMatrixLayout_t of_d, const cublasLtMatmulAlgo_t* algo,
                                           void* workspace, size_t workspace_size, cudaStream_t stream) {
  if (which == nullptr || reinterpret_cast<handle*>(which)->alive != 1) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (is_refused("cublasLtMatmul")) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (alpha == nullptr || beta == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  problem p{*real(what), *real(of_a), *real(of_b), *real(of_c), *real(of_d)};
  const void* const at[4] = {a, b, c, d};
  uint32_t align[4];
  for (int i = 0; i < 4; ++i)
    align[i] = 1u << __builtin_ctzll(reinterpret_cast<std::uintptr_t>(at[i]) | 256u);
  if (const auto status = look(p, align); status != CUBLAS_STATUS_SUCCESS) return status;
  if (algo != nullptr) {
    algorithm chosen;
    std::memcpy(&chosen, algo, sizeof(chosen));
    if (chosen.mark != algorithm_mark || chosen.problem != p.number()) return CUBLAS_STATUS_INVALID_VALUE;
    for (int i = 0; i < 4; ++i)
      if (align[i] < chosen.align[i]) return CUBLAS_STATUS_INVALID_VALUE;
    if (chosen.workspace > workspace_size) return CUBLAS_STATUS_INVALID_VALUE;
    workspace_size = chosen.workspace;
  }
  if (workspace_size > 0 && (workspace == nullptr || reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0))
    return CUBLAS_STATUS_INVALID_VALUE;
  for (const void* each : {at[0], at[1], at[2], at[3], static_cast<const void*>(p.biased() ? p.what.bias : d),
                           static_cast<const void*>(p.keeps() || p.derives() ? p.what.aux : d)})
    if (memory_kind_of(each) == memory_kind::pageable)
      fault("cublasLtMatmul is given memory that a GPU cannot reach");
  if (meets(a, p.a, d, p.d) || meets(b, p.b, d, p.d)) fault("cublasLtMatmul writes over its operands");
  const double x = p.what.scale_type == CUDA_R_64F ? *static_cast<const double*>(alpha)
                                                   : static_cast<double>(*static_cast<const float*>(alpha));
  const double y = p.what.scale_type == CUDA_R_64F ? *static_cast<const double*>(beta)
                                                   : static_cast<double>(*static_cast<const float*>(beta));
  if (y != 0) {
    if (c == d ? p.c.ld != p.d.ld : meets(c, p.c, d, p.d)) fault("cublasLtMatmul: C overlaps D and is not D");
  }
  const auto late = delays().find(workspace_size);
  if (late == delays().end() || late->second <= 0) {
    call(stream, [=] { compute(p, x, a, b, y, c, d, workspace, workspace_size); });
    return CUBLAS_STATUS_SUCCESS;
  }
  const auto begin = std::make_shared<double>(0);
  const auto work = [=, delay = late->second] {
    began_no_sooner(*begin + delay);
    compute(p, x, a, b, y, c, d, workspace, workspace_size);
  };
  call(stream, work, [begin] { return *begin = could_begin(), true; });
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
