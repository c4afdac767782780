// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/dtype.hpp>

#include <string>

namespace motet::cuda {

// The library may do this with a sum before it stores it.
enum class fused : std::uint8_t {
  nothing,
  bias,
  gelu,  // its tanh form is the library's
  gelu_bias,
  gelu_aux,  // and keeps what was before
  gelu_aux_bias,
  dgelu,
  relu,
  relu_bias,
};

// d = epilogue(a b + c), all by rows; a is (m, k), or (k, m) when transposed, b is (k, n), or (n, k) when
// transposed; c: none, or added as it is, which may be d. Everything that a recipe is kept for, but for the
// addresses.
struct product_shape {
  dtype a = dtype::f32, b = dtype::f32, d = dtype::f32;
  bool a_transposed = false, b_transposed = false, added = false, tf32 = false;
  fused epilogue = fused::nothing;
  isize m = 0, n = 0, k = 0, a_stride = 0, b_stride = 0, c_stride = 0, d_stride = 0, aux_stride = 0;
  int processors = 0;  // to use; 0: all
  // what the addresses are multiples of: 2^these bytes, up to 2^8
  std::uint8_t a_at = 0, b_at = 0, c_at = 0, d_at = 0;
  bool operator==(const product_shape&) const = default;
};

// Everything of it in words, other ones for other shapes: what a choice is filed under.
inline std::string text_of(const product_shape& of) {
  const auto type = [](dtype kind) {
    switch (kind) {
      case dtype::bf16: return "bf16";
      case dtype::f8_e4m3: return "f8_e4m3";
      case dtype::f8_e5m2: return "f8_e5m2";
      default: return "f32";
    }
  };
  constexpr const char* epilogues[] = {"nothing",       "bias",  "gelu", "gelu_bias", "gelu_aux",
                                       "gelu_aux_bias", "dgelu", "relu", "relu_bias"};
  std::string text = std::string(type(of.a)) + (of.a_transposed ? "^T " : " ") + type(of.b) +
                     (of.b_transposed ? "^T " : " ") + type(of.d);
  text += of.added ? " added" : "";
  text += of.tf32 ? " tf32" : "";
  text += std::string(" ") + epilogues[as_size(of.epilogue)];
  const auto list = [&](const char* name, auto... numbers) {
    text += name;
    ((text += ' ' + std::to_string(numbers)), ...);
  };
  list(", size", of.m, of.n, of.k);
  list(", strides", of.a_stride, of.b_stride, of.c_stride, of.d_stride, of.aux_stride);
  list(", aligned", of.a_at, of.b_at, of.c_at, of.d_at);
  list(", processors", of.processors);
  return text;
}

}  // namespace motet::cuda
