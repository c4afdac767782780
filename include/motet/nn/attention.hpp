// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layer.hpp>
#include <motet/nn/linear.hpp>

namespace motet {

struct attention_config {
  index width = 0;
  index heads = 1;
  index kv_heads = 0;    // 0: as many as heads; fewer: grouped-query attention
  index head_width = 0;  // 0: width / heads. Given, heads need not divide the width (25 heads of 64 on a width of 1024)
  mask_kind mask = mask_kind::full;
  float rotary = 0;  // base of the rotary embedding; 0: none
  bool bias = true;

  constexpr index columns_of_head() const { return head_width > 0 ? head_width : width / heads; }
  constexpr index query_width() const { return heads * columns_of_head(); }
  constexpr index key_width() const { return (kv_heads > 0 ? kv_heads : heads) * columns_of_head(); }
  constexpr attention_shape shape() const { return {heads, kv_heads > 0 ? kv_heads : heads, columns_of_head(), mask, 0}; }
};

constexpr verdict check(const attention_config& c) {
  if (c.width <= 0 || c.heads <= 0 || c.kv_heads < 0 || c.head_width < 0) return {reason::not_positive, 0, c.width < c.heads ? c.width : c.heads, 1};
  if (c.head_width == 0 && c.width % c.heads != 0) return {reason::heads_do_not_divide, 0, c.heads, c.width};
  if (c.kv_heads > 0 && c.heads % c.kv_heads != 0) return {reason::kv_heads_do_not_divide, 0, c.kv_heads, c.heads};
  if (c.rotary > 0 && c.columns_of_head() % 2 != 0) return {reason::odd_rotary_width, 0, c.columns_of_head(), c.columns_of_head() + 1};
  return {};
}

// Self-attention: one product makes queries, keys and values; softmax attention inside each sample; one product back to the stream.
template <attention_config Config>
struct self_attention {
  static_assert(require<check(Config)>);
  static constexpr index in = Config.width, out = Config.width;
  static constexpr index query = Config.query_width(), key = Config.key_width(), packed = query + 2 * key;
  using project_in = linear<in, packed, Config.bias>;
  using project_out = linear<query, out, Config.bias>;
  static constexpr index out_at = project_in::parameter_size;
  static constexpr index parameter_size = out_at + project_out::parameter_size;

  static void parameters(parameter_list& list) {
    list.child<project_in>("qkv");
    list.child<project_out>("out");
  }

  template <class N>
  struct saved {
    view<typename N::value, packed> qkv;         // (rows, queries | keys | values); backward overwrites it with its gradient
    view<typename N::value, query> mixed;        // (rows, heads x head width)
    view<typename N::master, Config.heads> lse;  // (rows, heads)
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    s.qkv = ctx.memory.template take_rows<typename N::value, packed>(seq.rows());
    s.mixed = ctx.memory.template take_rows<typename N::value, query>(seq.rows());
    s.lse = ctx.memory.template take_rows<typename N::master, Config.heads>(seq.rows());
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y, saved<N>& s) {
    mix(ctx, w, seq, x, s);
    const auto w_out = w.data + out_at;
    linear_forward(ctx, seq, s.mixed, project_out::weight(w_out), project_out::bias(w_out), y);
  }
  // y = residual + attention(x), in the epilogue of the last product.
  template <class C, class N, class X, class R, class Y>
  static void forward_add(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<R, out> residual, view<Y, out> y, saved<N>& s) {
    mix(ctx, w, seq, x, s);
    const auto w_out = w.data + out_at;
    linear_forward(ctx, seq, s.mixed, project_out::weight(w_out), project_out::bias(w_out), residual, y);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in>, view<DY, out> dy, view<DX, in> dx, saved<N>& s) {
    const index mark = ctx.memory.mark();
    const auto d_mixed = ctx.memory.template take_rows<typename N::value, query>(seq.rows());
    linear_backward_input(ctx, seq, dy, project_out::weight(w.data + out_at), d_mixed);
    const auto q = queries(s.qkv), k = keys(s.qkv), v = values(s.qkv);
    attention_backward(ctx, seq, seq, Config.shape(), q, k, v, s.mixed, s.lse, d_mixed, q, k, v);
    if constexpr (Config.rotary > 0)
      rotary(ctx, seq, Config.columns_of_head(), static_cast<double>(Config.rotary), -1, s.qkv.columns(0, query + key));
    linear_backward_input(ctx, seq, s.qkv, project_in::weight(w.data), dx);
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N>, const sequences&, view<X, in> x, view<DY, out> dy, saved<N>& s, gradients<N> g) {
    linear_backward_weight(ctx, x, s.qkv, project_in::weight(g.data), project_in::bias(g.data));
    const auto g_out = g.data + out_at;
    linear_backward_weight(ctx, s.mixed, dy, project_out::weight(g_out), project_out::bias(g_out));
  }

  template <class T>
  static matrix<T> queries(view<T, packed> qkv) {
    return qkv.columns(0, query);
  }
  template <class T>
  static matrix<T> keys(view<T, packed> qkv) {
    return qkv.columns(query, key);
  }
  template <class T>
  static matrix<T> values(view<T, packed> qkv) {
    return qkv.columns(query + key, key);
  }

 private:
  template <class C, class N, class X>
  static void mix(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, saved<N>& s) {
    linear_forward(ctx, seq, x, project_in::weight(w.data), project_in::bias(w.data), s.qkv);
    if constexpr (Config.rotary > 0) rotary(ctx, seq, Config.columns_of_head(), static_cast<double>(Config.rotary), 1, s.qkv.columns(0, query + key));
    attention_forward(ctx, seq, seq, Config.shape(), queries(s.qkv), keys(s.qkv), values(s.qkv), s.mixed, s.lse);
  }
};

}  // namespace motet
