// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/attention.hpp>
#include <motet/nn/layers/entering_rows.hpp>

#include <cassert>

namespace motet {

// Whoever runs backward through layers that look at rows beside sets the gradients of these to zero first, as
// each of the layers adds to them.
template <class N, isize Beside, class C>
void forget_beside(C& ctx, const sequences& seq) {
  using stream = typename N::stream;
  auto* const to = static_cast<stream*>(seq.beside->entering.gradients);
  const sequences rows{seq.samples, 0, seq.beside->row_offsets};
  if (to != nullptr) zero(ctx, rows, matrix<stream>{to, rows.rows(), Beside, Beside});
}

// Attention from the rows of a text to rows of `Beside` columns that another module brings to the same sample
// (rows_beside): queries are made of the former, keys and values of the latter. A sample without such rows
// hears nothing: what attention gives it is zero, before the bias of the last product.
// Asks for: sequences with `beside`; heads that divide the width; no rotary positions, as the two kinds of
// rows have none in common.
// Memory: (rows beside, keys | values), twice (rows, queries), and a number for each row and head; no scores.
// Errors: MT-N01, MT-N03, MT-N04, MT-N24
// Example:
//   using look = cross_attention<attention_config{.width = 64, .heads = 4}, 48>;
//   static_assert(look::in == 64 && look::out == 64 && look::beside == 48);
template <attention_config Config, isize Beside>
struct cross_attention {
  static_assert(require<check(Config)>);
  static_assert(Beside > 0, "motet: sizes of a net must be positive [MT-N04]");
  static_assert(Config.rotary == 0 && Config.mask == mask_kind::full,
                "motet: rows of another module have no order among those that look at them");
  static constexpr isize in = Config.width, out = Config.width, beside = Beside, query = Config.query_width(),
                         key = Config.key_width();
  using project_query = linear<in, query, Config.bias>;
  using project_beside = linear<Beside, 2 * key, Config.bias>;
  using project_out = linear<query, out, Config.bias && Config.out_bias>;
  static constexpr isize beside_at = project_query::parameter_size,
                         out_at = beside_at + project_beside::parameter_size;
  static constexpr isize parameter_size = out_at + project_out::parameter_size;

  static void parameters(parameter_list& list) {
    list.child<project_query>("query");
    list.child<project_beside>("beside");
    list.child<project_out>("out");
  }

  template <class N>
  struct saved {
    view<typename N::value, query> q, mixed;     // (rows, queries)
    view<typename N::value, 2 * key> kv;         // (rows beside, keys | values)
    view<typename N::master, Config.heads> lse;  // (rows, heads)
    // The gradients of q and kv between the two parts of backward; they may be in the same memory.
    matrix<typename N::value> d_q, d_kv;
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    s.q = ctx.memory.template take_rows<typename N::value, query>(seq.rows());
    s.mixed = ctx.memory.template take_rows<typename N::value, query>(seq.rows());
    s.lse = ctx.memory.template take_rows<typename N::master, Config.heads>(seq.rows());
    s.kv = ctx.memory.template take_rows<typename N::value, 2 * key>(others(seq).rows());
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    forward_add(ctx, w, seq, x, view<const Y, out>{}, y, s);
  }
  // y = residual + attention, in the epilogue of the last product.
  template <class C, class N, class X, class R, class Y>
  static void forward_add(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<R, out> residual,
                          view<Y, out> y, saved<N>& s) {
    static_assert(
        requires { requires C::looks_beside; },
        "motet: this device has not been tried with attention to rows of another module [MT-N24]");
    const sequences rows = others(seq);
    linear_forward(ctx, seq, x, project_query::weight(w.data), project_query::bias(w.data), s.q);
    if (!is_kept(ctx, s.kv))
      linear_forward(ctx, rows, entered<N>(seq), project_beside::weight(w.data + beside_at),
                     project_beside::bias(w.data + beside_at), s.kv);
    // Rows of the two kinds belong to different threads.
    synchronize(ctx);
    run_apart(ctx, [&](auto& apart) {
      attention_forward(apart, seq, rows, Config.shape(), s.q, s.kv.columns(0, key), s.kv.columns(key, key),
                        s.mixed, s.lse);
    });
    synchronize(ctx);
    linear_forward(ctx, seq, s.mixed, project_out::weight(w.data + out_at),
                   project_out::bias(w.data + out_at), residual, y);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in>, view<DY, out> dy,
                             view<DX, in> dx, saved<N>& s) {
    using stream = typename N::stream;
    const sequences rows = others(seq);
    s.d_q = gradient_room(ctx, s.q), s.d_kv = gradient_room(ctx, s.kv);
    const isize mark = ctx.memory.mark();
    const auto d_mixed = ctx.memory.template take_rows<typename N::value, query>(seq.rows());
    linear_backward_input(ctx, seq, dy, project_out::weight(w.data + out_at), d_mixed);
    synchronize(ctx);
    attention_backward(ctx, seq, rows, Config.shape(), s.q, s.kv.columns(0, key), s.kv.columns(key, key),
                       s.mixed, s.lse, d_mixed, s.d_q, s.d_kv.columns(0, key), s.d_kv.columns(key, key));
    synchronize(ctx);
    linear_backward_input(ctx, seq, s.d_q, project_query::weight(w.data), dx);
    if (seq.beside->entering.gradients != nullptr) {
      const matrix<stream> sums{static_cast<stream*>(seq.beside->entering.gradients), rows.rows(), Beside,
                                Beside};
      linear_backward_input(ctx, rows, s.d_kv, project_beside::weight(w.data + beside_at), sums, sums);
    }
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N>, const sequences& seq, view<X, in> x, view<DY, out> dy,
                              saved<N>& s, gradients<N> g) {
    linear_backward_weight(ctx, x, s.d_q, project_query::weight(g.data), project_query::bias(g.data));
    linear_backward_weight(ctx, entered<N>(seq), s.d_kv, project_beside::weight(g.data + beside_at),
                           project_beside::bias(g.data + beside_at));
    linear_backward_weight(ctx, s.mixed, dy, project_out::weight(g.data + out_at),
                           project_out::bias(g.data + out_at));
  }

 private:
  // Says whether an earlier pass over the same sample made it, and kept it there.
  template <class C, class KV>
  static bool is_kept(C& ctx, KV& kv) {
    if constexpr (requires { ctx.keeps_beside(kv); }) return ctx.keeps_beside(kv);
    else return false;
  }
  static sequences others(const sequences& seq) {
    assert(seq.beside != nullptr);
    return {seq.samples, 0, seq.beside->row_offsets};
  }
  template <class N>
  static matrix<const typename N::stream> entered(const sequences& seq) {
    return {static_cast<const typename N::stream*>(seq.beside->entering.rows), others(seq).rows(), Beside,
            Beside};
  }
};

}  // namespace motet
