// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cuda/products/product_shape.hpp>

#include <doctest/doctest.h>

#include <set>

using motet::dtype;
using motet::cuda::fused, motet::cuda::product_shape;

TEST_CASE("the text of a shape is readable, and another one for each other shape") {
  product_shape of;
  of.a = of.b = of.d = dtype::bf16;
  of.b_transposed = true;
  of.epilogue = fused::gelu_bias;
  of.m = 512, of.n = 4096, of.k = 1024, of.a_stride = of.b_stride = 1024, of.d_stride = 4096;
  of.a_at = of.b_at = of.d_at = 8;
  CHECK(text_of(of) ==
        "bf16 bf16^T bf16 gelu_bias, size 512 4096 1024, strides 1024 1024 0 4096 0, aligned 8 8 0 8, "
        "processors 0");
  std::set<std::string> texts{text_of(of)};
  std::size_t count = 1;
  const auto other = [&](auto change) {
    product_shape made = of;
    change(made);
    texts.insert(text_of(made));
    CHECK(texts.size() == ++count);
    CHECK(text_of(made).find(':') == std::string::npos);
  };
  for (dtype product_shape::*each : {&product_shape::a, &product_shape::b, &product_shape::d})
    for (const dtype kind : {dtype::f32, dtype::f8_e4m3, dtype::f8_e5m2})
      other([&](product_shape& s) { s.*each = kind; });
  for (bool product_shape::*each : {&product_shape::a_transposed, &product_shape::b_transposed,
                                    &product_shape::added, &product_shape::tf32})
    other([&](product_shape& s) { s.*each = !(s.*each); });
  for (motet::isize product_shape::*each :
       {&product_shape::m, &product_shape::n, &product_shape::k, &product_shape::a_stride,
        &product_shape::b_stride, &product_shape::c_stride, &product_shape::d_stride,
        &product_shape::aux_stride})
    other([&](product_shape& s) { s.*each += 1; });
  for (std::uint8_t product_shape::*each :
       {&product_shape::a_at, &product_shape::b_at, &product_shape::c_at, &product_shape::d_at})
    other([&](product_shape& s) { s.*each += 1; });
  other([](product_shape& s) { s.processors = 66; });
  for (int kind = 0; kind <= static_cast<int>(fused::relu_bias); ++kind)
    if (kind != static_cast<int>(fused::gelu_bias))
      other([&](product_shape& s) { s.epilogue = static_cast<fused>(kind); });
}
