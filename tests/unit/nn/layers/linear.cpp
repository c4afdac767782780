// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/linear.hpp>

#include "layer_laws.hpp"

using namespace motet;

TEST_CASE("linear with and without bias") {
  laws::check_layer<linear<7, 5>>();
  laws::check_layer<linear<1, 19, false>>();
  laws::check_layer<linear<33, 1>>();
}

TEST_CASE("linear with each activation in its epilogue") {
  laws::check_layer<linear<7, 5, true, activation::gelu>>();
  laws::check_layer<linear<7, 18, false, activation::gelu_tanh>>();
  laws::check_layer<linear<7, 5, true, activation::quick_gelu>>();
  laws::check_layer<linear<7, 5, true, activation::relu>>();
  laws::check_layer<linear<7, 5, true, activation::silu>>();
}

TEST_CASE("linear keeps the value before its activation and nothing else") {
  const auto bytes = [](auto subject) {
    cpu::context ctx;
    subject(ctx);
    return ctx.memory.peak();
  };
  const sequences seq{2, 8, nullptr};
  CHECK_EQ(bytes([&](cpu::context& ctx) {
             linear<16, 16>::saved<fp32> s;
             linear<16, 16>::reserve<fp32>(ctx, seq, s);
           }),
           0);
  CHECK_EQ(bytes([&](cpu::context& ctx) {
             using gelu = linear<16, 16, true, activation::gelu>;
             gelu::saved<mixed_bf16> s;
             gelu::reserve<mixed_bf16>(ctx, seq, s);
           }),
           16 * 16 * 2);
}
