// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/towers/picked.hpp>

namespace motet {

// One learned query for all samples looks over the rows of each: y = out(attention(query, keys(x),
// values(x))).
// Asks for: samples of one row or more; heads that divide the width.
// Memory: (rows, keys | values), twice (samples, queries), and a number for each sample and head; no scores.
// Errors: MT-N01, MT-N03, MT-N04, MT-N06
// Example:
//   using look = attention_pool<attention_config{.width = 64, .heads = 4}>;
//   static_assert(look::in == 64 && look::out == 64);
template <attention_config Config>
struct attention_pool {
  static_assert(require<check(Config)>);
  static constexpr isize in = Config.width, out = Config.width, query = Config.query_width(),
                         key = Config.key_width();
  using project_in = linear<in, 2 * key, Config.bias>;
  using project_out = linear<query, out, Config.bias>;
  static constexpr isize in_at = parameter_space(query), out_at = in_at + project_in::parameter_size;
  static constexpr isize parameter_size = out_at + project_out::parameter_size;

  static void parameters(parameter_list& list) {
    list.matrix("query", 1, query, {fill::normal, 0.02f}, false);
    list.child<project_in>("kv");
    list.child<project_out>("out");
  }

  template <class N>
  struct saved {
    view<typename N::value, 2 * key> kv;         // (rows, keys | values)
    view<typename N::value, query> q, mixed;     // (samples, query)
    view<typename N::master, Config.heads> lse;  // (samples, heads)
    // of kv and q, between the two parts of backward; they may be their memory
    matrix<typename N::value> d_kv, d_q;
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    s.kv = ctx.memory.template take_rows<typename N::value, 2 * key>(seq.rows());
    s.q = ctx.memory.template take_rows<typename N::value, query>(seq.samples);
    s.mixed = ctx.memory.template take_rows<typename N::value, query>(seq.samples);
    s.lse = ctx.memory.template take_rows<typename N::master, Config.heads>(seq.samples);
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    const sequences one = seq.pooled();
    linear_forward(ctx, seq, x, project_in::weight(w.data + in_at), project_in::bias(w.data + in_at), s.kv);
    zero(ctx, one, s.q);
    // the same query for every sample
    position_forward(ctx, one, matrix<const typename N::master>{w.data, 1, query, query}, s.q);
    hand_over(ctx, seq);
    attention_forward(ctx, one, seq, Config.shape(), s.q, s.kv.columns(0, key), s.kv.columns(key, key),
                      s.mixed, s.lse);
    hand_over(ctx, seq);
    linear_forward(ctx, one, s.mixed, project_out::weight(w.data + out_at),
                   project_out::bias(w.data + out_at), y);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in>, view<DY, out> dy,
                             view<DX, in> dx, saved<N>& s) {
    const sequences one = seq.pooled();
    s.d_kv = gradient_room(ctx, s.kv), s.d_q = gradient_room(ctx, s.q);
    const isize mark = ctx.memory.mark();
    const auto d_mixed = ctx.memory.template take_rows<typename N::value, query>(seq.samples);
    linear_backward_input(ctx, one, dy, project_out::weight(w.data + out_at), d_mixed);
    hand_over(ctx, seq);
    const auto k = s.kv.columns(0, key), v = s.kv.columns(key, key);
    attention_backward(ctx, one, seq, Config.shape(), s.q, k, v, s.mixed, s.lse, d_mixed, s.d_q,
                       s.d_kv.columns(0, key), s.d_kv.columns(key, key));
    hand_over(ctx, seq);
    linear_backward_input(ctx, seq, s.d_kv, project_in::weight(w.data + in_at), dx);
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N>, const sequences& seq, view<X, in> x, view<DY, out> dy,
                              saved<N>& s, gradients<N> g) {
    linear_backward_weight(ctx, x, s.d_kv, project_in::weight(g.data + in_at),
                           project_in::bias(g.data + in_at));
    linear_backward_weight(ctx, s.mixed, dy, project_out::weight(g.data + out_at),
                           project_out::bias(g.data + out_at));
    position_backward_weight(ctx, seq.pooled(), s.d_q, matrix<typename N::master>{g.data, 1, query, query});
  }
};

}  // namespace motet
