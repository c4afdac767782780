// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/attention/attention.hpp>
#include <motet/backend/cpu/attention/continued_attention.hpp>
#include <motet/backend/cpu/attention/heads_exchange.hpp>
#include <motet/backend/cpu/exchange/rows_in_pieces.hpp>
#include <motet/backend/cpu/experts/grouping.hpp>
#include <motet/backend/cpu/kernels/normal_draws.hpp>
#include <motet/backend/cpu/losses/info_nce.hpp>
#include <motet/backend/cpu/losses/info_nce_part.hpp>
#include <motet/backend/cpu/losses/sigmoid.hpp>
#include <motet/backend/cpu/losses/token_losses.hpp>
#include <motet/backend/cpu/parameters/optimizer.hpp>
#include <motet/backend/cpu/products/continued_linear.hpp>
#include <motet/backend/cpu/products/gemm.hpp>
#include <motet/backend/cpu/rows/activation.hpp>
#include <motet/backend/cpu/rows/dropout.hpp>
#include <motet/backend/cpu/rows/modulation.hpp>
#include <motet/backend/cpu/rows/norm.hpp>
#include <motet/backend/cpu/rows/normalize.hpp>
#include <motet/backend/cpu/rows/patches.hpp>
#include <motet/backend/cpu/rows/swiglu.hpp>

// The kernels that every tower needs, by number type: MOTET_KERNELS_FLOAT(extern) says that another file has
// them, MOTET_KERNELS_FLOAT() makes this file have them. They are most of what a program of towers compiles,
// so a program of several files, or one that is built often, defines MOTET_COMPILED_KERNELS everywhere and
// compiles the files of compiled/ once (with CMake: link motet::compiled). Such a program reads no kernel and
// no intrinsic: kernels of rows for float and bf16 in any mixture, and for double, are there, and the
// products that nets have. For others a file asks for bodies (kernels/bodies.hpp).

// One kernel, and those whose last numbers are float or bf16: any of them (ANY), or at least one of them bf16
// (MIXED). The numbers before these are named.
#if MOTET_KERNEL_BODIES
#define MOTET_KERNEL(KEYWORD, NAME, ...) KEYWORD template struct NAME<__VA_ARGS__>;
#else
#define MOTET_KERNEL(KEYWORD, NAME, ...)  // nobody can instantiate what nobody can read
#endif
#define MOTET_KERNELS_ANY_1(KEYWORD, NAME, ...)                 \
  MOTET_KERNEL(KEYWORD, NAME, __VA_ARGS__ __VA_OPT__(, ) float) \
  MOTET_KERNEL(KEYWORD, NAME, __VA_ARGS__ __VA_OPT__(, ) bf16)
#define MOTET_KERNELS_ANY_2(KEYWORD, NAME, ...)                        \
  MOTET_KERNELS_ANY_1(KEYWORD, NAME, __VA_ARGS__ __VA_OPT__(, ) float) \
  MOTET_KERNELS_ANY_1(KEYWORD, NAME, __VA_ARGS__ __VA_OPT__(, ) bf16)
#define MOTET_KERNELS_ANY_3(KEYWORD, NAME, ...)                        \
  MOTET_KERNELS_ANY_2(KEYWORD, NAME, __VA_ARGS__ __VA_OPT__(, ) float) \
  MOTET_KERNELS_ANY_2(KEYWORD, NAME, __VA_ARGS__ __VA_OPT__(, ) bf16)
#define MOTET_KERNELS_MIXED_1(KEYWORD, NAME, ...) MOTET_KERNEL(KEYWORD, NAME, __VA_ARGS__ __VA_OPT__(, ) bf16)
#define MOTET_KERNELS_MIXED_2(KEYWORD, NAME, ...)                        \
  MOTET_KERNELS_MIXED_1(KEYWORD, NAME, __VA_ARGS__ __VA_OPT__(, ) float) \
  MOTET_KERNELS_ANY_1(KEYWORD, NAME, __VA_ARGS__ __VA_OPT__(, ) bf16)
#define MOTET_KERNELS_MIXED_3(KEYWORD, NAME, ...)                        \
  MOTET_KERNELS_MIXED_2(KEYWORD, NAME, __VA_ARGS__ __VA_OPT__(, ) float) \
  MOTET_KERNELS_ANY_2(KEYWORD, NAME, __VA_ARGS__ __VA_OPT__(, ) bf16)
#define MOTET_KERNELS_MIXED_4(KEYWORD, NAME, ...)                        \
  MOTET_KERNELS_MIXED_3(KEYWORD, NAME, __VA_ARGS__ __VA_OPT__(, ) float) \
  MOTET_KERNELS_ANY_3(KEYWORD, NAME, __VA_ARGS__ __VA_OPT__(, ) bf16)

#define MOTET_KERNELS_ALONE(KEYWORD, T)                         \
  MOTET_KERNEL(KEYWORD, convert_kernel, T, T)                   \
  MOTET_KERNEL(KEYWORD, sum_kernel, T, T, T)                    \
  MOTET_KERNEL(KEYWORD, listed_rows_kernel, T, T)               \
  MOTET_KERNEL(KEYWORD, row_product_kernel, T, T, T)            \
  MOTET_KERNEL(KEYWORD, activation_kernel, T, T)                \
  MOTET_KERNEL(KEYWORD, activation_backward_kernel, T, T, T)    \
  MOTET_KERNEL(KEYWORD, swiglu_kernel, T, T)                    \
  MOTET_KERNEL(KEYWORD, swiglu_backward_kernel, T, T, T)        \
  MOTET_KERNEL(KEYWORD, norm_kernel, T, T, T, T)                \
  MOTET_KERNEL(KEYWORD, norm_backward_kernel, T, T, T, T, T, T) \
  MOTET_KERNEL(KEYWORD, norm_columns_kernel, T, T, T, T)        \
  MOTET_KERNEL(KEYWORD, normalize_kernel, T, T, T)              \
  MOTET_KERNEL(KEYWORD, normalize_backward_kernel, T, T, T, T)  \
  MOTET_KERNEL(KEYWORD, dropout_kernel, T, T)                   \
  MOTET_KERNEL(KEYWORD, gated_sum_kernel, T, T, T, T)           \
  MOTET_KERNEL(KEYWORD, gated_sum_backward_kernel, T, T, T, T)  \
  MOTET_KERNEL(KEYWORD, normals_kernel, T)                      \
  MOTET_KERNEL(KEYWORD, update_kernel, T)                       \
  MOTET_KERNEL(KEYWORD, detail::rotary_turns, T)                \
  MOTET_KERNEL(KEYWORD, detail::info_nce_kernel, T)             \
  MOTET_KERNEL(KEYWORD, detail::info_nce_part_kernel, T)        \
  MOTET_KERNEL(KEYWORD, detail::sigmoid_kernel, T)              \
  MOTET_KERNEL(KEYWORD, detail::logit_sums_kernel, T)           \
  MOTET_KERNEL(KEYWORD, detail::logit_slopes_kernel, T, T)      \
  MOTET_KERNEL(KEYWORD, detail::combine_kernel, T, T, T, T)     \
  MOTET_KERNEL(KEYWORD, detail::weighed_rows_kernel, T, T)
// Weights, statistics and sums are float.
#define MOTET_KERNELS_MIXED(KEYWORD)                                 \
  MOTET_KERNELS_MIXED_2(KEYWORD, convert_kernel)                     \
  MOTET_KERNELS_MIXED_3(KEYWORD, sum_kernel)                         \
  MOTET_KERNELS_MIXED_1(KEYWORD, listed_rows_kernel, float)          \
  MOTET_KERNELS_MIXED_2(KEYWORD, row_product_kernel, float)          \
  MOTET_KERNELS_MIXED_2(KEYWORD, activation_kernel)                  \
  MOTET_KERNELS_MIXED_3(KEYWORD, activation_backward_kernel)         \
  MOTET_KERNELS_MIXED_2(KEYWORD, swiglu_kernel)                      \
  MOTET_KERNELS_MIXED_3(KEYWORD, swiglu_backward_kernel)             \
  MOTET_KERNELS_MIXED_2(KEYWORD, norm_kernel, float, float)          \
  MOTET_KERNELS_MIXED_4(KEYWORD, norm_backward_kernel, float, float) \
  MOTET_KERNELS_MIXED_2(KEYWORD, norm_columns_kernel, float, float)  \
  MOTET_KERNELS_MIXED_2(KEYWORD, normalize_kernel, float)            \
  MOTET_KERNELS_MIXED_3(KEYWORD, normalize_backward_kernel, float)   \
  MOTET_KERNELS_MIXED_2(KEYWORD, dropout_kernel)                     \
  MOTET_KERNELS_MIXED_4(KEYWORD, gated_sum_kernel)                   \
  MOTET_KERNELS_MIXED_4(KEYWORD, gated_sum_backward_kernel)          \
  MOTET_KERNELS_MIXED_1(KEYWORD, normals_kernel)                     \
  MOTET_KERNELS_MIXED_1(KEYWORD, detail::rotary_turns)               \
  MOTET_KERNELS_MIXED_1(KEYWORD, detail::logit_sums_kernel)          \
  MOTET_KERNELS_MIXED_2(KEYWORD, detail::logit_slopes_kernel)        \
  MOTET_KERNELS_MIXED_3(KEYWORD, detail::combine_kernel, float)      \
  MOTET_KERNELS_MIXED_1(KEYWORD, detail::weighed_rows_kernel, float)

#define MOTET_KERNELS_GEMM(KEYWORD, COMPUTE, A, B, OUT, EPILOGUE) \
  KEYWORD template void gemm<COMPUTE, A, B, OUT, EPILOGUE>(       \
      isize, isize, isize, gemm_operand<A>, gemm_operand<B>, OUT*, isize, const EPILOGUE&, std::byte*);

// All modes of a product that ends in activations.
#define MOTET_KERNELS_LINEAR(KEYWORD, COMPUTE, A, B, OUT, SUM)                                           \
  MOTET_KERNELS_GEMM(KEYWORD, COMPUTE, A, B, OUT, detail::linear_epilogue<SUM MOTET_KERNELS_COMMA OUT>)  \
  MOTET_KERNELS_GEMM(KEYWORD, COMPUTE, A, B, OUT, detail::forward_epilogue<SUM MOTET_KERNELS_COMMA OUT>) \
  MOTET_KERNELS_GEMM(KEYWORD, COMPUTE, A, B, OUT, detail::backward_epilogue<SUM MOTET_KERNELS_COMMA OUT>)
#define MOTET_KERNELS_COMMA ,

// Tiles of attention and of losses: T the numbers that are computed with, FROM those of activations.
#define MOTET_KERNELS_CONVERT(KEYWORD, T, FROM)                                                 \
  KEYWORD template void pack<T, FROM>(isize, isize, const FROM*, isize, T*, isize);             \
  KEYWORD template void pack_transposed<T, FROM>(isize, isize, const FROM*, isize, T*, isize);  \
  KEYWORD template void unpack<T, FROM>(isize, isize, const T*, isize, const T*, FROM*, isize); \
  KEYWORD template void dot_rows<T, FROM>(isize, isize, const T*, isize, const FROM*, isize, T*);
#define MOTET_KERNELS_TILES(KEYWORD, T)                                                                      \
  KEYWORD template void multiply<T>(isize, isize, isize, const T*, isize, isize, const T*, isize, T*, isize, \
                                    bool);                                                                   \
  KEYWORD template void unpack_add<T>(isize, isize, const T*, isize, T*, isize);                             \
  KEYWORD template void scale_rows<T>(isize, isize, const T*, T*, isize);                                    \
  KEYWORD template void times_vector<T>(isize, isize, const T*, isize, const T*, T*, isize);                 \
  KEYWORD template void softmax<T>(isize, isize, cpu::visible_columns, T, T*, isize, T*, T*, T*);            \
  KEYWORD template void softmax_backward<T>(isize, isize, cpu::visible_columns, T, T, const T*, const T*,    \
                                            T*, T*, isize);                                                  \
  MOTET_KERNELS_CONVERT(KEYWORD, T, T)

// Norms over rows of X, with statistics and weights of T and results of Y; what the weight part reads is of
// V.
#define MOTET_KERNELS_NORM_BACK(KEYWORD, T, X, Y, R, V)                                                 \
  KEYWORD template void norm_backward_input(context&, const sequences&, norm_kind, matrix<X>, const T*, \
                                            matrix<T>, matrix<Y>, matrix<R>, matrix<T>,                 \
                                            const norm_also<V, T>&);
#define MOTET_KERNELS_NORM(KEYWORD, T, X, Y)                                                                 \
  KEYWORD template void norm_forward(context&, const sequences&, norm_kind, matrix<X>, const T*, const T*,   \
                                     double, matrix<Y>, matrix<T>);                                          \
  KEYWORD template void norm_replay(context&, const sequences&, norm_kind, matrix<X>, const T*, const T*,    \
                                    matrix<T>, matrix<Y>);                                                   \
  KEYWORD template void norm_backward_weight(context&, norm_kind, matrix<X>, matrix<T>, matrix<Y>, T*, T*);  \
  KEYWORD template void norm_backward_weight(context&, norm_kind, matrix<X>, matrix<T>, matrix<const Y>, T*, \
                                             T*);                                                            \
  MOTET_KERNELS_NORM_BACK(KEYWORD, T, X, Y, T, Y)                                                            \
  MOTET_KERNELS_NORM_BACK(KEYWORD, T, X, Y, const T, Y)                                                      \
  MOTET_KERNELS_NORM_BACK(KEYWORD, T, X, const Y, const T, Y)
#define MOTET_KERNELS_NORMS(KEYWORD, T, Y) \
  MOTET_KERNELS_NORM(KEYWORD, T, T, Y)     \
  MOTET_KERNELS_NORM(KEYWORD, T, const T, Y)

// Attention of a net's own rows, with statistics of L.
#define MOTET_KERNELS_ATTENTION(KEYWORD, T, L)                                                               \
  KEYWORD template void attention_forward(context&, const sequences&, const sequences&,                      \
                                          const attention_shape&, matrix<T>, matrix<T>, matrix<T>,           \
                                          matrix<T>, matrix<L>);                                             \
  KEYWORD template void attention_backward(                                                                  \
      context&, const sequences&, const sequences&, const attention_shape&, matrix<T>, matrix<T>, matrix<T>, \
      matrix<T>, matrix<L>, matrix<T>, matrix<T>, matrix<T>, matrix<T>);

// Rows of activations Y that come of products with sums of T, and the rows that enter a net of pictures.
#define MOTET_KERNELS_ROWS(KEYWORD, T, Y)                                                                  \
  KEYWORD template void activation_backward(context&, const sequences&, activation, matrix<Y>, matrix<T>,  \
                                            matrix<Y>);                                                    \
  KEYWORD template void swiglu_forward(context&, const sequences&, matrix<Y>, matrix<Y>);                  \
  KEYWORD template void swiglu_backward(context&, const sequences&, matrix<Y>, matrix<Y>, matrix<Y>);      \
  KEYWORD template void patches(context&, const sequences&, const patch_geometry&, matrix<const T>,        \
                                matrix<Y>);                                                                \
  KEYWORD template void patches(context&, const sequences&, const patch_geometry&, const packed_pictures&, \
                                matrix<Y>);

// What losses do with logits of T, whose gradients are D, and with features.
#define MOTET_KERNELS_SLOPES(KEYWORD, T, D)                                                              \
  KEYWORD template void token_slopes(context&, const sequences&, matrix<T>, const std::int32_t*, z_loss, \
                                     matrix<T>, matrix<D>);
#define MOTET_KERNELS_LOSSES(KEYWORD, T)                                                                 \
  KEYWORD template void token_losses(context&, const sequences&, matrix<T>, const std::int32_t*, z_loss, \
                                     matrix<T>);                                                         \
  MOTET_KERNELS_SLOPES(KEYWORD, T, T)                                                                    \
  KEYWORD template void normalize_forward(context&, const sequences&, matrix<T>, matrix<T>, matrix<T>);  \
  KEYWORD template void normalize_backward(context&, const sequences&, matrix<T>, matrix<T>,             \
                                           matrix<const T>, matrix<T>);

// A net that goes on row by row: caches of T, rows of X, weights of W, what an epilogue reads or keeps of P,
// rows that are made of Y.
#define MOTET_KERNELS_CONTINUED_TO(KEYWORD, T, W, X, P, Y)                                                   \
  KEYWORD template void detail::multiply_by_columns(continued_context<T>&, matrix<const X>, matrix<const W>, \
                                                    const detail::linear_epilogue<W, P>&, matrix<Y>);        \
  KEYWORD template void detail::multiply_by_columns(continued_context<T>&, matrix<const X>, matrix<const W>, \
                                                    const detail::forward_epilogue<W, P>&, matrix<Y>);
#define MOTET_KERNELS_CONTINUED_OF(KEYWORD, T, W, X, P) \
  MOTET_KERNELS_CONTINUED_TO(KEYWORD, T, W, X, P, T)    \
  MOTET_KERNELS_CONTINUED_TO(KEYWORD, T, W, X, P, W)
#define MOTET_KERNELS_CONTINUED(KEYWORD, T, W)                                                       \
  KEYWORD template void attention_forward(continued_context<T>&, const sequences&, const sequences&, \
                                          const attention_shape&, matrix<T>, matrix<T>, matrix<T>,   \
                                          matrix<T>, matrix<W>);

// Rows of X that a tensor group gathers as Y, and sums of Y that go back to rows of R.
#define MOTET_KERNELS_GATHER(KEYWORD, X, Y)                                                    \
  KEYWORD template void detail::gather_pieces(context&, matrix<const X>, matrix<Y>, row_work); \
  KEYWORD template void detail::gather_beside(context&, matrix<const X>, matrix<Y>, work_ref<>);
#define MOTET_KERNELS_SCATTER(KEYWORD, Y, R) \
  KEYWORD template void detail::scatter_made(context&, matrix<Y>, matrix<const R>, matrix<Y>, row_work);

// Attention over a context group that exchanges rows for heads, with statistics of L.
#define MOTET_KERNELS_HEADS(KEYWORD, T, L)                                                        \
  KEYWORD template void heads_attention_forward(cpu::context&, const attention_shape&, matrix<T>, \
                                                exchanged_heads<T, L>&, matrix<T>);               \
  KEYWORD template void heads_attention_backward(cpu::context&, const attention_shape&,           \
                                                 exchanged_heads<T, L>&, matrix<T>, matrix<T>);

#define MOTET_KERNELS_REAL(KEYWORD, T)               \
  namespace motet::cpu {                             \
  MOTET_KERNELS_ALONE(KEYWORD, T)                    \
  MOTET_KERNELS_LINEAR(KEYWORD, T, T, T, T, T)       \
  MOTET_KERNELS_NORMS(KEYWORD, T, T)                 \
  MOTET_KERNELS_ATTENTION(KEYWORD, T, T)             \
  MOTET_KERNELS_ROWS(KEYWORD, T, T)                  \
  MOTET_KERNELS_LOSSES(KEYWORD, T)                   \
  MOTET_KERNELS_CONTINUED(KEYWORD, T, T)             \
  MOTET_KERNELS_CONTINUED_TO(KEYWORD, T, T, T, T, T) \
  MOTET_KERNELS_GATHER(KEYWORD, T, T)                \
  MOTET_KERNELS_SCATTER(KEYWORD, T, T)               \
  namespace tiles {                                  \
  MOTET_KERNELS_TILES(KEYWORD, T)                    \
  }                                                  \
  }                                                  \
  namespace motet {                                  \
  MOTET_KERNELS_HEADS(KEYWORD, T, T)                 \
  }
#define MOTET_KERNELS_FLOAT(KEYWORD) MOTET_KERNELS_REAL(KEYWORD, float)
#define MOTET_KERNELS_DOUBLE(KEYWORD)                  \
  MOTET_KERNELS_REAL(KEYWORD, double)                  \
  namespace motet::cpu {                               \
  MOTET_KERNEL(KEYWORD, convert_kernel, float, double) \
  MOTET_KERNEL(KEYWORD, convert_kernel, double, float) \
  }
// Routers multiply in float, whatever their rows are.
#define MOTET_KERNELS_BF16(KEYWORD)                                            \
  namespace motet::cpu {                                                       \
  MOTET_KERNELS_MIXED(KEYWORD)                                                 \
  MOTET_KERNELS_LINEAR(KEYWORD, bf16, bf16, float, bf16, float)                \
  MOTET_KERNELS_LINEAR(KEYWORD, bf16, float, float, bf16, float)               \
  MOTET_KERNELS_GEMM(KEYWORD, bf16, bf16, float, float, gemm_epilogue<float>)  \
  MOTET_KERNELS_GEMM(KEYWORD, bf16, float, bf16, float, gemm_epilogue<float>)  \
  MOTET_KERNELS_GEMM(KEYWORD, bf16, bf16, bf16, float, gemm_epilogue<float>)   \
  MOTET_KERNELS_GEMM(KEYWORD, bf16, bf16, float, float,                        \
                     detail::forward_epilogue<float MOTET_KERNELS_COMMA bf16>) \
  MOTET_KERNELS_GEMM(KEYWORD, float, float, float, float,                      \
                     detail::forward_epilogue<float MOTET_KERNELS_COMMA bf16>) \
  MOTET_KERNELS_GEMM(KEYWORD, float, bf16, float, float, gemm_epilogue<float>) \
  MOTET_KERNELS_NORMS(KEYWORD, float, bf16)                                    \
  MOTET_KERNELS_NORM_BACK(KEYWORD, float, float, float, const float, bf16)     \
  MOTET_KERNELS_ATTENTION(KEYWORD, bf16, float)                                \
  MOTET_KERNELS_ROWS(KEYWORD, float, bf16)                                     \
  MOTET_KERNELS_SLOPES(KEYWORD, float, bf16)                                   \
  MOTET_KERNELS_CONTINUED(KEYWORD, bf16, float)                                \
  MOTET_KERNELS_CONTINUED_OF(KEYWORD, bf16, float, bf16, bf16)                 \
  MOTET_KERNELS_CONTINUED_OF(KEYWORD, bf16, float, bf16, float)                \
  MOTET_KERNELS_CONTINUED_OF(KEYWORD, bf16, float, float, bf16)                \
  MOTET_KERNELS_CONTINUED_OF(KEYWORD, bf16, float, float, float)               \
  MOTET_KERNELS_GATHER(KEYWORD, float, bf16)                                   \
  MOTET_KERNELS_GATHER(KEYWORD, bf16, bf16)                                    \
  MOTET_KERNELS_SCATTER(KEYWORD, bf16, bf16)                                   \
  namespace tiles {                                                            \
  MOTET_KERNELS_CONVERT(KEYWORD, float, bf16)                                  \
  }                                                                            \
  }                                                                            \
  namespace motet {                                                            \
  MOTET_KERNELS_HEADS(KEYWORD, bf16, float)                                    \
  }

namespace motet::cpu::detail {

template <class Sum, class Out>
using linear_epilogue = gemm_epilogue<Sum, Out, Out, epilogue_mode::linear>;
template <class Sum, class Out>
using forward_epilogue = gemm_epilogue<Sum, Out, Out, epilogue_mode::forward>;
template <class Sum, class Out>
using backward_epilogue = gemm_epilogue<Sum, Out, Out, epilogue_mode::backward>;

}  // namespace motet::cpu::detail

#if defined(MOTET_COMPILED_KERNELS)
MOTET_KERNELS_FLOAT(extern)
#if !defined(MOTET_COMPILED_WITHOUT_FP64)
MOTET_KERNELS_DOUBLE(extern)
#endif
#if !defined(MOTET_COMPILED_WITHOUT_BF16)
MOTET_KERNELS_BF16(extern)
#endif
#endif
