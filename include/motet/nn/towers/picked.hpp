// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/kept_outputs.hpp>
#include <motet/nn/layers/attention.hpp>
#include <motet/nn/layers/norm.hpp>

namespace motet {

// Rows change hands where a ragged batch is pooled: equal shares of samples are not equal shares of rows.
// Uniform batches split alike.
template <class C>
void hand_over(C& ctx, const sequences& seq) {
  if (seq.offsets != nullptr) synchronize(ctx);
}

// The attention branch of a tower's last block when pooling reads one row of each sample: keys and values
// come from all rows, but the query, the output and everything after them exist for the picked row alone.
// Exact, and it saves 10/12 of a block. Parameters are those of residual<Norm, self_attention<Config>>.
template <class Norm, attention_config Config, pick Which>
struct residual_picked {
  static_assert(Config.rotary == 0,
                "motet: a picked row has no rotary position of its own; use the full block");
  static_assert(Which == pick::last || Config.mask == mask_kind::full,
                "motet: under a causal mask only the last row sees all keys; use the full block");
  using inner = self_attention<Config>;
  using project_in = typename inner::project_in;
  using project_out = typename inner::project_out;
  static constexpr isize in = Config.width, out = Config.width, query = inner::query, key = inner::key;
  static constexpr isize inner_at = Norm::parameter_size, out_at = inner_at + inner::out_at({});
  static constexpr isize parameter_size = inner_at + inner::parameter_size;

  static void parameters(parameter_list& list) {
    list.child<Norm>("norm");
    inner::parameters(list);
  }

  template <class N>
  struct saved {
    typename Norm::template saved<N> norm;
    view<typename N::value, 2 * key> kv;         // (rows, keys | values)
    view<typename N::value, query> q, mixed;     // (samples, query)
    view<typename N::master, Config.heads> lse;  // (samples, heads)
    view<typename N::value, in> normed;  // (rows, width), from forward on or from backward's input part
    view<typename N::value, in> normed_picked;  // (samples, width), likewise
    view<typename N::value, in> d_normed;       // (rows, width), between the two parts of backward
    matrix<typename N::value> d_kv, d_q;        // of kv and q, likewise; they may be their memory
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    Norm::template reserve<N>(ctx, seq, s.norm);
    s.kv = ctx.memory.template take_rows<typename N::value, 2 * key>(seq.rows());
    s.q = ctx.memory.template take_rows<typename N::value, query>(seq.samples);
    s.mixed = ctx.memory.template take_rows<typename N::value, query>(seq.samples);
    s.lse = ctx.memory.template take_rows<typename N::master, Config.heads>(seq.samples);
    if (keeps_outputs(ctx)) take_normed<N>(ctx, seq, s);
  }

  // y has one row for each sample.
  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    const isize mark = ctx.memory.mark();
    const sequences picked = seq.pooled();
    if (!keeps_outputs(ctx)) take_normed<N>(ctx, seq, s);
    const auto x_picked = ctx.memory.template take_rows<typename N::stream, in>(seq.samples);
    const auto w_in = project_in::weight(w.data + inner_at);
    const auto b_in = project_in::bias(w.data + inner_at);
    Norm::forward(ctx, w, seq, x, s.normed, s.norm);
    linear_forward(ctx, seq, s.normed, w_in.slice(query, 2 * key), b_in ? b_in + query : nullptr, s.kv);
    pick_forward(ctx, seq, Which, s.normed, s.normed_picked);
    pick_forward(ctx, seq, Which, x, x_picked);
    hand_over(ctx, seq);
    linear_forward(ctx, picked, s.normed_picked, w_in.slice(0, query), b_in, s.q);
    hand_over(ctx, seq);
    attention_forward(ctx, picked, seq, Config.shape(), s.q, s.kv.columns(0, key), s.kv.columns(key, key),
                      s.mixed, s.lse);
    hand_over(ctx, seq);
    linear_forward(ctx, picked, s.mixed, project_out::weight(w.data + out_at),
                   project_out::bias(w.data + out_at), x_picked, y);
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<DY, out> dy,
                             view<DX, in> dx, saved<N>& s) {
    using value = typename N::value;
    const sequences picked = seq.pooled();
    Norm::reserve_backward(ctx, seq, s.norm);
    if (!keeps_outputs(ctx)) take_normed<N>(ctx, seq, s);
    s.d_normed = ctx.memory.template take_rows<value, in>(seq.rows());
    s.d_kv = gradient_room(ctx, s.kv), s.d_q = gradient_room(ctx, s.q);
    const isize mark = ctx.memory.mark();
    const auto d_mixed = ctx.memory.template take_rows<value, query>(seq.samples);
    const auto d_normed_picked = ctx.memory.template take_rows<value, in>(seq.samples);
    const auto w_in = project_in::weight(w.data + inner_at);
    linear_backward_input(ctx, picked, dy, project_out::weight(w.data + out_at), d_mixed);
    hand_over(ctx, seq);
    const auto k = s.kv.columns(0, key), v = s.kv.columns(key, key);
    attention_backward(ctx, picked, seq, Config.shape(), s.q, k, v, s.mixed, s.lse, d_mixed, s.d_q,
                       s.d_kv.columns(0, key), s.d_kv.columns(key, key));
    hand_over(ctx, seq);
    linear_backward_input(ctx, seq, s.d_kv, w_in.slice(query, 2 * key), s.d_normed);
    linear_backward_input(ctx, picked, s.d_q, w_in.slice(0, query), d_normed_picked);
    hand_over(ctx, seq);
    pick_backward(ctx, seq, Which, d_normed_picked, s.d_normed);
    const view<value, in> again = keeps_outputs(ctx) ? view<value, in>{} : s.normed;
    Norm::backward_rows(ctx, w, seq, x, s.d_normed, matrix<const DX>{}, dx, again, {}, s.norm);
    if (again) pick_forward(ctx, seq, Which, s.normed, s.normed_picked);
    pick_backward(ctx, seq, Which, dy, dx);
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<DY, out> dy,
                              saved<N>& s, gradients<N> g) {
    const auto g_in = project_in::weight(g.data + inner_at);
    const auto gb_in = project_in::bias(g.data + inner_at);
    linear_backward_weight(ctx, s.normed, s.d_kv, g_in.slice(query, 2 * key),
                           gb_in ? gb_in + query : nullptr);
    linear_backward_weight(ctx, s.normed_picked, s.d_q, g_in.slice(0, query), gb_in);
    linear_backward_weight(ctx, s.mixed, dy, project_out::weight(g.data + out_at),
                           project_out::bias(g.data + out_at));
    Norm::backward_weight(ctx, w, seq, x, s.d_normed, s.norm, g);
  }

 private:
  template <class N, class C>
  static void take_normed(C& ctx, const sequences& seq, saved<N>& s) {
    s.normed = ctx.memory.template take_rows<typename N::value, in>(seq.rows());
    s.normed_picked = ctx.memory.template take_rows<typename N::value, in>(seq.samples);
  }
};

}  // namespace motet
