// SPDX-License-Identifier: Apache-2.0
// Every layer against PyTorch: outputs, gradients of inputs and of all parameters.
#include <motet/nn/compose/residual.hpp>
#include <motet/nn/layers/activation.hpp>
#include <motet/nn/layers/attention.hpp>
#include <motet/nn/layers/gated_mlp.hpp>
#include <motet/nn/layers/mlp.hpp>
#include <motet/nn/layers/norm.hpp>
#include <motet/nn/layers/projection.hpp>
#include <motet/nn/towers/attention_pool.hpp>
#include <motet/nn/towers/pool.hpp>

#include "goldens.hpp"

using namespace motet;

namespace {

const laws::golden_file& file() {
  static const laws::golden_file opened("layers");
  return opened;
}

// The ragged batch of the goldens; layers that pool have no sample without rows.
const motet::isize with_empty[] = {0, 3, 3, 8, 9}, without_empty[] = {0, 3, 8, 9};

template <class L>
void check_rows(const std::string& name) {
  const sequences seq{4, 1, with_empty};
  laws::check_golden(file(), name, laws::layer_subject<L>{seq, seq});
}
template <class L>
void check_pool(const std::string& name) {
  const sequences seq{3, 1, without_empty};
  laws::check_golden(file(), name, laws::layer_subject<L>{seq, seq.pooled()});
}

}  // namespace

TEST_CASE("linear and activations") {
  check_rows<linear<7, 5>>("linear_none");
  check_rows<linear<7, 5, true, activation::gelu>>("linear_gelu");
  check_rows<linear<7, 5, true, activation::gelu_tanh>>("linear_gelu_tanh");
  check_rows<linear<7, 5, true, activation::quick_gelu>>("linear_quick_gelu");
  check_rows<linear<7, 5, true, activation::relu>>("linear_relu");
  check_rows<linear<7, 5, true, activation::silu>>("linear_silu");
  check_rows<activate<9, activation::gelu>>("activation_gelu");
  check_rows<activate<9, activation::gelu_tanh>>("activation_gelu_tanh");
  check_rows<activate<9, activation::quick_gelu>>("activation_quick_gelu");
  check_rows<activate<9, activation::relu>>("activation_relu");
  check_rows<activate<9, activation::silu>>("activation_silu");
}

TEST_CASE("norms") {
  check_rows<layer_norm<9>>("layer_norm");
  check_rows<rms_norm<9>>("rms_norm");
}

TEST_CASE("attention") {
  check_rows<self_attention<attention_config{.width = 12, .heads = 3}>>("attention");
  check_rows<self_attention<attention_config{.width = 12, .heads = 3, .mask = mask_kind::causal}>>(
      "attention_causal");
  check_rows<self_attention<attention_config{.width = 12, .heads = 6, .kv_heads = 2, .bias = false}>>(
      "attention_grouped");
  check_rows<self_attention<attention_config{
      .width = 8, .heads = 2, .kv_heads = 1, .mask = mask_kind::causal, .rotary = 100}>>("attention_rotary");
  check_rows<self_attention<attention_config{.width = 16, .heads = 25, .head_width = 3}>>(
      "attention_25_heads");
}

TEST_CASE("mlp, residual, projection") {
  check_rows<mlp<7, 19>>("mlp");
  check_rows<gated_mlp<7, 11>>("gated_mlp");
  check_rows<residual<layer_norm<12>, self_attention<attention_config{.width = 12, .heads = 3}>>>("residual");
  check_rows<projection<7, 5>>("projection");
}

TEST_CASE("pooling") {
  check_pool<pick_head<layer_norm<8>, pick::first>>("pick_first");
  check_pool<pick_head<layer_norm<8>, pick::last>>("pick_last");
  check_pool<reduce_head<layer_norm<8>, mean_pool<8>>>("mean_pool");
  check_pool<attention_pool<attention_config{.width = 8, .heads = 2}>>("attention_pool");
}
