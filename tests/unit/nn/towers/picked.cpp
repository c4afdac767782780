// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/picked.hpp>

#include <motet/nn/compose/residual.hpp>
#include <motet/nn/compose/sequential.hpp>
#include <motet/nn/towers/pool.hpp>

#include "layer_laws.hpp"

using namespace motet;

namespace {

// A row of each sample and nothing else, to say what the picked block must equal.
template <motet::isize Width, pick Which>
struct pick_rows {
  static constexpr motet::isize in = Width, out = Width, parameter_size = 0;
  static void parameters(parameter_list&) {}
  template <class N>
  struct saved {};
  template <class N, class C>
  static void reserve(C&, const sequences&, saved<N>&) {}
  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N>, const sequences& seq, view<X, in> x, view<Y, out> y, saved<N>&) {
    pick_forward(ctx, seq, Which, x, y);
    hand_over(ctx, seq);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N>, const sequences& seq, view<X, in>, view<DY, out> dy,
                             view<DX, in> dx, saved<N>&) {
    zero(ctx, seq, dx);
    hand_over(ctx, seq);
    pick_backward(ctx, seq, Which, dy, dx);
  }
};

// The full branch and then the pick, with the names of the branch.
template <class Branch, pick Which>
struct full_then_pick : sequential<Branch, pick_rows<Branch::out, Which>> {
  static void parameters(parameter_list& list) { Branch::parameters(list); }
};

constexpr attention_config plain{.width = 12, .heads = 3};
constexpr attention_config causal{
    .width = 12, .heads = 6, .kv_heads = 2, .mask = mask_kind::causal, .bias = false};

}  // namespace

TEST_CASE("the picked attention branch keeps the laws") {
  laws::check_layer<residual_picked<layer_norm<12>, plain, pick::first>, true>();
  laws::check_layer<residual_picked<rms_norm<12>, causal, pick::last>, true>();
}

TEST_CASE("the picked attention branch is the full branch and a pick") {
  laws::check_equal_layers<residual_picked<layer_norm<12>, plain, pick::first>,
                           full_then_pick<residual<layer_norm<12>, self_attention<plain>>, pick::first>,
                           true>();
  laws::check_equal_layers<residual_picked<layer_norm<12>, plain, pick::last>,
                           full_then_pick<residual<layer_norm<12>, self_attention<plain>>, pick::last>,
                           true>();
  laws::check_equal_layers<residual_picked<rms_norm<12>, causal, pick::last>,
                           full_then_pick<residual<rms_norm<12>, self_attention<causal>>, pick::last>,
                           true>();
}
