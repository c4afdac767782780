// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/products/gemm_matrix_kernel.hpp>
#include <motet/backend/cuda/products/gemm_recipes.hpp>
#include <motet/backend/cuda/products/weight_copies.hpp>

namespace motet::cuda {

// An operand as its memory lies, and what a product in bf16 needs where it is of floats: a copy that somebody
// keeps, or room for one.
template <class T>
struct gemm_source {
  matrix<const T> x;
  bool transposed = false;
  bf16* room = nullptr;        // rows * detail::copy_stride(width)
  const bf16* copy = nullptr;  // with the stride of x
  isize padded = 0;            // columns that the room has, those beyond x's being zero; 0: as many as x
};

// Scratch memory that a product may need besides, for biases and sums of n columns.
struct gemm_room {
  std::byte* beside = nullptr;
  static constexpr isize bytes(isize count) { return count * static_cast<isize>(sizeof(double)); }
};

namespace detail {

// Rows of copies begin at 16 bytes.
constexpr isize copy_stride(isize width) { return round_up(width, 8); }

// A copy of an operand in bf16 moves so many bytes.
template <class T>
void note_cast(context& ctx, const matrix<T>& x, isize rows) {
  each_conversion(rows, x.width, x.stride, copy_stride(x.width),
                  [&](isize down, isize across, isize, isize, isize) {
                    ctx.note("cast", 0, static_cast<double>(down * across) * (bytes_of<T> + bytes_of<bf16>));
                  });
}

}  // namespace detail

// An operand in a type that the library multiplies.
struct library_operand {
  const void* data = nullptr;
  dtype kind = dtype::f32;
  isize stride = 0;
  bool transposed = false;
  const float* scale = nullptr;
};

template <class L, class T>
library_operand for_library(context& ctx, const gemm_source<T>& from) {
  if constexpr (std::is_same_v<L, T>) {
    return {from.x.data, dtype_of<L>, from.x.stride, from.transposed, nullptr};
  } else {
    if (from.copy != nullptr) return {from.copy, dtype_of<L>, from.x.stride, from.transposed, nullptr};
    const isize stride = detail::copy_stride(from.x.width);
    detail::convert(ctx.stream(), from.x.rows, from.x.width, from.x.data, from.x.stride, from.room, stride);
    if (from.padded > from.x.width)
      check(cudaMemset2DAsync(from.room + from.x.width, as_size(stride) * sizeof(bf16), 0,
                              as_size(from.padded - from.x.width) * sizeof(bf16), as_size(from.x.rows),
                              ctx.stream()),
            "cudaMemset2DAsync");
    return {from.room, dtype_of<L>, stride, from.transposed, nullptr};
  }
}

namespace detail {

// The bias in the type that the library adds it in, at 16 bytes.
template <class D, class Sum>
const void* bias_for_library(context& ctx, const Sum* bias, isize n, std::byte* room) {
  if (bias == nullptr) return nullptr;
  if constexpr (std::is_same_v<D, Sum>) {
    if (reinterpret_cast<std::uintptr_t>(bias) % 16 == 0) return bias;
  } else if constexpr (std::is_same_v<D, bf16>) {
    const bf16* const kept = ctx.on->part<weight_copies>().copy_of(bias);
    if (kept != nullptr && reinterpret_cast<std::uintptr_t>(kept) % 16 == 0) return kept;
  }
  convert(ctx.stream(), 1, n, bias, n, reinterpret_cast<D*>(room), n);
  return room;
}

// One product by the library and, where it has no such epilogue, a second pass over what it wrote. False: it
// cannot, and out is as it was.
class library_product {
 public:
  library_product(context& ctx, isize m, isize n, isize k, const library_operand& a, const library_operand& b)
      : ctx_(ctx), small_(dtype_bytes(a.kind) == 1) {
    shape_.a = a.kind, shape_.b = b.kind, shape_.m = m, shape_.n = n, shape_.k = k;
    shape_.a_transposed = a.transposed, shape_.b_transposed = b.transposed, shape_.a_stride = a.stride,
    shape_.b_stride = b.stride;
    shape_.tf32 = a.kind == dtype::f32 && ctx.on->part<product_settings>().tf32;
    with_.a = a.data, with_.b = b.data, with_.a_scale = a.scale, with_.b_scale = b.scale;
  }

  template <class Out, class Epilogue>
  bool into(Out* out, isize stride, const Epilogue& e, std::byte* room) {
    return tell(any(out, stride, e, room));
  }
  // The reason why the library could not, or not in one call.
  const detour& why() const { return why_; }

  // out += a b
  bool added_to(float* out, isize stride) { return tell(attempt(fused::nothing, out, stride, out, stride)); }

 private:
  bool tell(bool done) {
    if (!done && why_.none()) why_ = {"the library cannot add such a product to what is there"};
    if (!done && small_) does_without(ctx_, "product", why_.with(fp8_not_used));
    if (!done) return false;
    if (second_ && why_.none()) why_ = {"the library has no epilogue for all of it"};
    else if (second_ && shape_.a == dtype::bf16) why_ = why_.with(product_off_library);
    if (small_)
      took(ctx_, "product", second_ ? "cuBLASLt in fp8, then a kernel" : "cuBLASLt in fp8",
           second_ ? why_ : detour{});
    else took(ctx_, "product", second_ ? "cuBLASLt, then a kernel" : "cuBLASLt", second_ ? why_ : detour{});
    return true;
  }

  template <class Out, class Epilogue>
  bool any(Out* out, isize stride, const Epilogue& e, std::byte* room) {
    constexpr bool active = Epilogue::mode != epilogue_mode::linear;
    if constexpr (Epilogue::mode == epilogue_mode::forward) {
      if (e.kind != activation::none || e.pre != nullptr) return forward(out, stride, e, room);
    }
    if constexpr (Epilogue::mode == epilogue_mode::backward) return backward(out, stride, e);
    if constexpr (!active || Epilogue::mode == epilogue_mode::forward) return sum(out, stride, e, room);
  }

  template <class D>
  bool attempt(fused what, D* d, isize stride, const std::type_identity_t<D>* c = nullptr, isize c_stride = 0,
               const void* bias = nullptr, void* aux = nullptr, isize aux_stride = 0) {
    product_shape shape = shape_;
    product_operands with = with_;
    shape.d = dtype_of<D>, shape.d_stride = stride, shape.epilogue = what,
    shape.aux_stride = aux != nullptr ? aux_stride : 0;
    shape.added = c != nullptr, shape.c_stride = c != nullptr ? c_stride : 0;
    with.d = d, with.c = c, with.bias = const_cast<void*>(bias), with.aux = aux;
    auto& recipes = ctx_.on->part<gemm_recipes>();
    if (recipes.run(shape, with)) return true;
    if (why_.none()) why_ = recipes.why();
    return false;
  }
  // The second pass.
  template <class... Of>
  void then(const Of&... of) {
    second_ = true;
    finish(ctx_.stream(), shape_.m, shape_.n, of...);
  }
  // The library adds a bias in bf16 to products of fp8 operands, whatever the output is.
  template <class D, class Sum>
  const void* bias(const Sum* from, std::byte* room) const {
    return small_ ? bias_for_library<bf16>(ctx_, from, shape_.n, room)
                  : bias_for_library<D>(ctx_, from, shape_.n, room);
  }

  // out = a b + bias + residual (+ out)
  template <class Out, class Epilogue>
  bool sum(Out* out, isize stride, const Epilogue& e, std::byte* room) {
    using residual = typename Epilogue::residual_number;
    const Out* beside = e.accumulate ? out : nullptr;
    isize beside_stride = stride;
    bool residual_done = e.residual == nullptr;
    if constexpr (std::is_same_v<residual, Out>) {
      if (!residual_done && beside == nullptr)
        beside = e.residual, beside_stride = e.residual_stride, residual_done = true;
    }
    const void* const b = bias<Out>(e.bias, room);
    const bool all =
        attempt(b != nullptr ? fused::bias : fused::nothing, out, stride, beside, beside_stride, b);
    if (!all && (b == nullptr || !attempt(fused::nothing, out, stride, beside, beside_stride))) return false;
    Epilogue rest = e;
    rest.accumulate = false;
    if (all) rest.bias = nullptr;
    if (residual_done) rest.residual = nullptr;
    if (rest.bias != nullptr || rest.residual != nullptr) then(out, stride, out, stride, rest);
    return true;
  }

  // pre = a b + bias; out = activation(pre)
  template <class Out, class Epilogue>
  bool forward(Out* out, isize stride, const Epilogue& e, std::byte* room) {
    using pre = typename Epilogue::pre_number;
    const bool plain = e.residual == nullptr && !e.accumulate && !small_;
    if (plain && e.kind == activation::gelu_tanh) {
      const void* const b = bias<Out>(e.bias, room);
      if (e.pre == nullptr) {
        if (attempt(b != nullptr ? fused::gelu_bias : fused::gelu, out, stride, nullptr, 0, b)) return true;
      } else if constexpr (std::is_same_v<pre, Out>) {
        if (attempt(b != nullptr ? fused::gelu_aux_bias : fused::gelu_aux, out, stride, nullptr, 0, b, e.pre,
                    e.pre_stride))
          return true;
      }
    }
    if (plain && e.kind == activation::relu && e.pre == nullptr) {
      const void* const b = bias<Out>(e.bias, room);
      if (attempt(b != nullptr ? fused::relu_bias : fused::relu, out, stride, nullptr, 0, b)) return true;
    }
    // The product goes where the values before the activation are kept, or to the output; a second pass
    // applies the rest.
    Epilogue first{}, rest = e;
    first.bias = e.bias, rest.bias = nullptr, rest.pre = nullptr;
    if (e.pre != nullptr) {
      if (!sum(e.pre, e.pre_stride, first, room)) return false;
      then(e.pre, e.pre_stride, out, stride, rest);
      return true;
    }
    if (rest.accumulate || !sum(out, stride, first, room)) return false;
    then(out, stride, out, stride, rest);
    return true;
  }

  // out = a b * activation'(pre); replayed = activation(pre)
  template <class Out, class Epilogue>
  bool backward(Out* out, isize stride, const Epilogue& e) {
    using pre = typename Epilogue::pre_number;
    using sum_number = typename Epilogue::sum;
    if constexpr (std::is_same_v<pre, Out>) {
      const bool plain = e.residual == nullptr && !e.accumulate && e.bias == nullptr && !small_;
      if (plain && e.kind == activation::gelu_tanh &&
          attempt(fused::dgelu, out, stride, nullptr, 0, nullptr, e.pre, e.pre_stride)) {
        if (e.replayed != nullptr)
          then(e.pre, e.pre_stride, e.replayed, e.replayed_stride,
               gemm_epilogue<sum_number, pre, pre, epilogue_mode::forward>{.kind = e.kind});
        return true;
      }
    }
    if (e.accumulate || !attempt(fused::nothing, out, stride)) return false;
    then(out, stride, out, stride, e);
    return true;
  }

  context& ctx_;
  product_shape shape_;
  product_operands with_;
  bool small_;           // fp8 operands
  bool second_ = false;  // another pass was needed
  detour why_;
};

// The library multiplies operands of a product in this type: void where it does not.
template <class Compute, class A, class B>
using library_number = std::conditional_t<
    std::is_same_v<Compute, bf16>, bf16,
    std::conditional_t<std::is_same_v<Compute, float> && std::is_same_v<A, float> && std::is_same_v<B, float>,
                       float, void>>;

// The reason why the library is not asked.
inline detour without_library(isize k) {
  if (k <= 0) return {"there is nothing to sum up"};
  if (MOTET_CUBLASLT == 0) return detour{"this program was built without cuBLASLt"}.with(product_off_library);
  return {"own kernels were asked for"};
}

// Notes the passes that the library's products of this kind need behind them: into() above, as far as its
// rules are known without a library to ask. What passes compute was noted with the product.
template <class Out, class Epilogue>
void note_passes(context& ctx, isize m, isize n, const Epilogue& e) {
  using pre = typename Epilogue::pre_number;
  using residual = typename Epilogue::residual_number;
  const double elements = static_cast<double>(m) * static_cast<double>(n);
  const bool plain = e.residual == nullptr && !e.accumulate;
  const auto note = [&](const char* name, double bytes_of_element) {
    ctx.note(name, 0, elements * bytes_of_element);
  };
  if (m <= 0 || n <= 0) return;
  if constexpr (Epilogue::mode == epilogue_mode::forward) {
    if (e.kind == activation::none && e.pre == nullptr) return;
    if (plain && e.kind == activation::gelu_tanh && (e.pre == nullptr || std::is_same_v<pre, Out>)) return;
    if (plain && e.kind == activation::relu && e.pre == nullptr) return;
    note("activation_forward", e.pre != nullptr ? bytes_of<pre> + bytes_of<Out> : 2 * bytes_of<Out>);
  } else if constexpr (Epilogue::mode == epilogue_mode::backward) {
    const bool fits =
        plain && std::is_same_v<pre, Out> && e.bias == nullptr && e.kind == activation::gelu_tanh;
    if (!fits)
      note("activation_backward", 2 * bytes_of<Out> + bytes_of<pre> * (e.replayed != nullptr ? 2 : 1));
    else if (e.replayed != nullptr) note("activation_forward", 2 * bytes_of<pre>);
  } else if (e.residual != nullptr && (e.accumulate || !std::is_same_v<residual, Out>)) {
    note("add", 2 * bytes_of<Out> + bytes_of<residual>);
  }
}

// Our own kernels multiply; the result names which. The one of the tensor cores is compiled where there is no
// library, which takes the products that would fit.
template <class Compute, class A, class B, class Out, class Epilogue>
const char* multiply_portable(context& ctx, isize m, isize n, isize k, const gemm_source<A>& a,
                              const gemm_source<B>& b, Out* out, isize out_stride, const Epilogue& epilogue) {
#if !MOTET_CUBLASLT
  if constexpr (std::is_same_v<Compute, bf16>) {
    if (k > 0 && ctx.on->part<product_settings>().matrix_kernel) {
      const auto narrow = [&](const auto& from) {
        const library_operand made = for_library<bf16>(ctx, from);
        return gemm_operand<bf16>{static_cast<const bf16*>(made.data), made.stride, made.transposed};
      };
      const gemm_operand<bf16> left = narrow(a), right = narrow(b);
      if (fits_matrix_tiles(left, right, m, n, k, out, out_stride, epilogue)) {
        const auto run = [&]<bool ATransposed, bool BTransposed>() {
          multiply_matrix_tiled<ATransposed, BTransposed>(ctx.stream(), whole_product{m, k}, n, left, right,
                                                          0, out, out_stride, 0, epilogue);
        };
        if (left.transposed)
          right.transposed ? run.template operator()<true, true>() : run.template operator()<true, false>();
        else
          right.transposed ? run.template operator()<false, true>() : run.template operator()<false, false>();
        return "own matrix kernel";
      }
    }
  }
#endif
  multiply_own(ctx.stream(), m, n, k, gemm_operand<A>{a.x.data, a.x.stride, a.transposed},
               gemm_operand<B>{b.x.data, b.x.stride, b.transposed}, out, out_stride, epilogue);
  return "own kernel";
}

}  // namespace detail

// out[m, n] = epilogue(a[m, k] b[k, n]), begun on the stream. Compute says how the products are taken: float
// (operands float), bf16 (operands bf16 or float, which are rounded where the library multiplies; sums in
// fp32), or double. Where b is padded, a has as many columns. The library takes what it can; the rest our own
// kernel does.
template <class Compute, class A, class B, class Out, class Epilogue>
void gemm(context& ctx, isize m, isize n, isize k, const gemm_source<A>& a, const gemm_source<B>& b, Out* out,
          isize out_stride, const Epilogue& epilogue, const gemm_room& room) {
  if (m <= 0 || n <= 0) return;
  using number = detail::library_number<Compute, A, B>;
  detour why{"cuBLASLt is asked for products of one type, fp32 or bf16, alone"};
  if constexpr (!std::is_void_v<number> && !std::is_same_v<Out, double>) {
    why = detail::without_library(k);
    if (k > 0 && ctx.on->part<product_settings>().library) {
      detail::library_product by(ctx, m, n, b.padded > 0 ? b.padded : k, for_library<number>(ctx, a),
                                 for_library<number>(ctx, b));
      if (by.into(out, out_stride, epilogue, room.beside)) return;
      why = by.why().with(product_off_library);
    }
  }
  took(ctx, "product", detail::multiply_portable<Compute>(ctx, m, n, k, a, b, out, out_stride, epilogue),
       why);
}

}  // namespace motet::cuda
