// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/context_attention.hpp>
#include <motet/nn/core/cut_rows.hpp>
#include <motet/nn/core/rules.hpp>
#include <motet/nn/layers/adapters.hpp>
#include <motet/nn/layers/linear.hpp>
#include <motet/nn/layers/norm.hpp>

#include <array>

namespace motet {

// The scaling says how a long context slows the turns of rotary positions; rotary_angles says what each
// number means. A factor of 1 does not slow them.
struct rotary_scaling {
  float factor = 1, slow = 1, fast = 4;
  isize context = 0;
};

struct attention_config {
  isize width = 0;
  isize heads = 1;
  isize kv_heads = 0;  // 0: as many as heads; fewer: grouped-query attention
  // 0: width / heads. Given, heads need not divide the width (25 heads of 64 on a width of 1024)
  isize head_width = 0;
  mask_kind mask = mask_kind::full;
  float rotary = 0;  // base of the rotary embedding; 0: none
  bool bias = true;
  context_attention context_kind = context_attention::heads;  // where context parallelism cuts samples
  bool out_bias = true;                                       // where the other product has one
  // each head's queries and keys go through a root-mean-square norm, whose gain all heads share
  bool head_norm = false;
  float head_epsilon = 1e-6f;
  rotary_scaling scaling{};
  adapter_config adapters{};  // where there are any, they learn alone

  constexpr isize columns_of_head() const { return head_width > 0 ? head_width : width / heads; }
  constexpr isize keyed_heads() const { return kv_heads > 0 ? kv_heads : heads; }
  constexpr isize query_width() const { return heads * columns_of_head(); }
  constexpr isize key_width() const { return keyed_heads() * columns_of_head(); }
  constexpr attention_shape shape() const { return {heads, keyed_heads(), columns_of_head(), mask, 0}; }
  constexpr rotary_angles angles() const {
    return {static_cast<double>(rotary), static_cast<double>(scaling.factor),
            static_cast<double>(scaling.slow), static_cast<double>(scaling.fast), scaling.context};
  }
  // A tensor member has some key-value heads with all the query heads that share them; none where there are
  // more members than those.
  constexpr attention_config held(tensor_cut cut) const {
    attention_config part = *this;
    part.head_width = columns_of_head();
    part.kv_heads = cut.share(keyed_heads()).size();
    part.heads = part.kv_heads * (heads / keyed_heads());
    return part;
  }
};

constexpr verdict check(const attention_config& c) {
  if (const verdict found = at_least(1, {c.width, c.heads}); !found.ok()) return found;
  if (const verdict found = at_least(0, {c.kv_heads, c.head_width}); !found.ok()) return found;
  if (c.head_width == 0 && c.width % c.heads != 0) return {reason::heads_do_not_divide, 0, c.heads, c.width};
  if (c.kv_heads > 0 && c.heads % c.kv_heads != 0)
    return {reason::kv_heads_do_not_divide, 0, c.kv_heads, c.heads};
  if (c.rotary > 0 && c.columns_of_head() % 2 != 0)
    return {reason::odd_rotary_width, 0, c.columns_of_head(), c.columns_of_head() + 1};
  return {};
}

// Self-attention: one product makes queries, keys and values; softmax attention inside each sample; one
// product back to the stream. Tensor parallelism cuts the heads, context parallelism the rows of each sample.
// Asks for: samples of any lengths; heads that divide the width, unless .head_width is given.
// Memory: (rows, queries | keys | values), (rows, heads x head width), and a number for each row and head;
// no scores. With head_norm, (rows, queries | keys) before it, and two numbers for each row and head.
// Errors: MT-N01, MT-N03, MT-N04, MT-N06
// Example:
//   using attend = self_attention<attention_config{.width = 192, .heads = 3, .mask = mask_kind::causal}>;
//   static_assert(attend::packed == 3 * 192);
template <attention_config Config>
struct self_attention {
  static_assert(require<check(Config)>);
  static constexpr isize in = Config.width, out = Config.width;
  static constexpr isize query = Config.query_width(), key = Config.key_width(), packed = query + 2 * key;
  using project_in = linear<in, packed, Config.bias>;
  using project_out = linear<query, out, Config.bias && Config.out_bias>;
  using norm_of_head = norm<Config.columns_of_head(), norm_config{norm_kind::rms, Config.head_epsilon}>;
  static constexpr isize norms_size = Config.head_norm ? 2 * norm_of_head::parameter_size : 0;
  static constexpr isize parameter_size =
      project_in::parameter_size + project_out::parameter_size + norms_size;
  static constexpr isize query_of(tensor_cut cut) { return Config.held(cut).query_width(); }
  static constexpr isize key_of(tensor_cut cut) { return Config.held(cut).key_width(); }
  static constexpr isize packed_of(tensor_cut cut) { return query_of(cut) + 2 * key_of(cut); }
  static constexpr isize out_at(tensor_cut cut) { return project_in::held_size(in, packed_of(cut)); }
  static constexpr isize norms_at(tensor_cut cut) {
    return out_at(cut) + project_out::held_size(query_of(cut), out);
  }
  static constexpr isize size(tensor_cut cut) { return norms_at(cut) + norms_size; }
  static constexpr isize normed_heads(const attention_config& of) { return of.heads + of.keyed_heads(); }

  static constexpr bool adapted = Config.adapters.any();
  using in_adapters =
      product_adapters<in, Config.adapters,
                       adapted_of(Config.adapters, {0, query}, {query, query + key}, {query + key, packed}),
                       "qkv">;
  using out_adapters =
      product_adapters<query, Config.adapters, adapted_outputs{}.with(Config.adapters.out, {0, out}), "out">;
  static constexpr isize adapter_size = in_adapters::size + out_adapters::size;
  static constexpr adapted_part in_held(tensor_cut cut) {
    const isize q = query_of(cut), k = key_of(cut);
    return {in, adapted_of(Config.adapters, {0, q}, {q, q + k}, {q + k, q + 2 * k})};
  }
  static constexpr adapted_part out_held(tensor_cut cut) {
    return {query_of(cut), out_adapters::whole.outputs};
  }
  static constexpr isize out_adapters_at(tensor_cut cut) { return in_adapters::size_of(in_held(cut)); }
  static constexpr isize held_adapters(tensor_cut cut) {
    return out_adapters_at(cut) + out_adapters::size_of(out_held(cut));
  }

  static void parameters(parameter_list& list) {
    const interval held = list.cut().share(Config.keyed_heads());
    const auto columns = [&](isize first, isize each) {
      return interval{first + held.begin * each, first + held.end * each};
    };
    const isize of_key = Config.columns_of_head(), of_query = query / Config.keyed_heads();
    const interval queries = columns(0, of_query), keys = columns(query, of_key),
                   values = columns(query + key, of_key);
    list.child_rows<project_in>("qkv", {queries, keys, values});
    list.child_columns<project_out>("out", queries);
    if constexpr (Config.head_norm) {
      list.child<norm_of_head>("query_norm");
      list.child<norm_of_head>("key_norm");
    }
    in_adapters::parameters(list, "qkv", adapted_of(Config.adapters, queries, keys, values));
    out_adapters::parameters(list, "out", queries);
  }

  template <class N>
  struct saved {
    matrix<typename N::value> qkv;  // (rows, queries | keys | values)
    // likewise, between the two parts of backward; it may be the memory of qkv
    matrix<typename N::value> d_qkv;
    matrix<typename N::value> mixed;  // (rows, heads x head width)
    matrix<typename N::master> lse;   // (rows, heads)
    // Instead of qkv and lse, where rows of other ranks are exchanged for heads; then qkv exists only while
    // it is computed, and its gradient.
    exchanged_heads<typename N::value, typename N::master> exchanged;
    // (rows, width) of all members, between the two parts of backward, where the layer is cut
    view<typename N::value, out> dy_all;
    // Heads with norms have (rows, queries | keys) before these, (rows, two for each head), and, between the
    // two parts of backward, the gradient behind them and what sums of it the backend leaves.
    matrix<typename N::value> plain, d_normed;
    matrix<typename N::master> stats;
    std::array<matrix<typename N::master>, Config.head_norm ? as_size(normed_heads(Config)) : 0> sums;
    typename in_adapters::template saved<N> adapted_in;
    typename out_adapters::template saved<N> adapted_out;
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s, tensor_cut cut = {}) {
    const sequences rows = cut.whole() ? seq : rows_of_all(ctx);
    s.mixed = cut_rows::take<typename N::value>(ctx, rows, query_of(cut));
    if constexpr (Config.head_norm) {
      s.plain = cut_rows::take<typename N::value>(ctx, rows, query_of(cut) + key_of(cut));
      s.stats = cut_rows::take<typename N::master>(ctx, rows, 2 * normed_heads(Config.held(cut)));
    }
    in_adapters::template reserve<N>(ctx, rows, s.adapted_in);
    out_adapters::template reserve<N>(ctx, rows, s.adapted_out);
    if (exchanges_heads(ctx)) return reserve_exchanged(ctx, Config.held(cut).shape(), s.exchanged);
    s.qkv = cut_rows::take<typename N::value>(ctx, rows, packed_of(cut));
    s.lse = cut_rows::take<typename N::master>(ctx, rows, Config.held(cut).heads);
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    forward_add(ctx, w, seq, x, view<const Y, out>{}, y, s);
  }
  // y = residual + attention(x), in the epilogue of the last product.
  template <class C, class N, class X, class R, class Y>
  static void forward_add(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<R, out> residual,
                          view<Y, out> y, saved<N>& s) {
    if (w.cut.whole()) {
      mix(ctx, w, seq, s, [&](auto&& product) {
        product(seq, interval{0, x.rows}, matrix<X>(x));
        return matrix<X>(x);
      });
      linear_forward(ctx, seq, s.mixed, out_weight(w), out_bias(w), residual, y);
      add_out_adapters(ctx, w, seq, {0, y.rows}, matrix<Y>(y), s);
    } else {
      const isize mark = ctx.memory.mark();
      mix(ctx, w, rows_of_all(ctx), s, [&](auto&& product) {
        return matrix<typename N::value>(cut_rows::gather_for<typename N::value>(ctx, x, product));
      });
      cut_rows::forward_sum(
          ctx, w.cut, s.mixed, out_weight(w), out_bias(w), residual, y,
          cut_rows::more_if<adapted>([&](const sequences& some, interval rows, auto partial) {
            add_out_adapters(ctx, w, some, rows, partial, s);
          }));
      release(ctx, mark);
    }
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in>, view<DY, out> dy,
                             view<DX, in> dx, saved<N>& s) {
    if (w.cut.whole()) {
      mix_backward(ctx, w, seq, matrix<DY>(dy), s, [&](auto&& product) {
        product(seq, interval{0, dy.rows}, matrix<DY>(dy));
      });
      in_adapters::template reserve_backward<N>(ctx, seq, s.adapted_in);
      linear_backward_input(ctx, seq, s.d_qkv, in_weight(w), dx);
      add_in_adapters_backward(ctx, w, seq, {0, dx.rows}, matrix<DX>(dx), s);
    } else {
      s.dy_all = cut_rows::room<typename N::value, out>(ctx);
      mix_backward(ctx, w, rows_of_all(ctx), matrix<typename N::value>(s.dy_all), s,
                   [&](auto&& product) { cut_rows::gather_for(ctx, dy, s.dy_all, product); });
      in_adapters::template reserve_backward<N>(ctx, rows_of_all(ctx), s.adapted_in);
      cut_rows::backward_sum(
          ctx, s.d_qkv, in_weight(w), dx,
          cut_rows::more_if<adapted>([&](const sequences& some, interval rows, auto partial) {
            add_in_adapters_backward(ctx, w, some, rows, partial, s);
          }));
    }
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, [[maybe_unused]] const sequences& seq, view<X, in> x,
                              view<DY, out> dy, saved<N>& s, gradients<N> g) {
    if constexpr (adapted) {
      const auto add = [&](const sequences& rows, const auto& from, const auto& d) {
        in_adapters::backward_weight(ctx, in_held(w.cut), w.block, rows, matrix(from), s.d_qkv, s.adapted_in,
                                     g.adapters);
        out_adapters::backward_weight(ctx, out_held(w.cut), w.block, rows, s.mixed, matrix(d), s.adapted_out,
                                      g.adapters + out_adapters_at(w.cut));
      };
      if (w.cut.whole()) return add(seq, x, dy);
      const isize mark = ctx.memory.mark();
      add(rows_of_all(ctx), cut_rows::gather<typename N::value>(ctx, x), s.dy_all);
      return release(ctx, mark);
    }
    if constexpr (Config.head_norm) {
      const attention_config held = Config.held(w.cut);
      for (isize h = 0; h < normed_heads(held); ++h)
        norm_backward_weight(ctx, norm_kind::rms, head(s.plain, held, h), s.stats.columns(2 * h, 2),
                             head(s.d_normed, held, h), s.sums[as_size(h)], gain(g, held, h), nullptr);
    }
    if (w.cut.whole()) {
      linear_backward_weight(ctx, x, s.d_qkv, in_weight(g), in_bias(g));
      linear_backward_weight(ctx, s.mixed, dy, out_weight(g), out_bias(g));
    } else {
      const isize mark = ctx.memory.mark();
      const auto all = cut_rows::gather_beside<typename N::value>(ctx, x, [&] {
        linear_backward_weight(ctx, s.mixed, s.dy_all, out_weight(g), nullptr);
        linear_backward_bias(ctx, dy, out_bias(g));
      });
      linear_backward_weight(ctx, all, s.d_qkv, in_weight(g), in_bias(g));
      release(ctx, mark);
    }
  }

 private:
  // The matrices are those of weights, or of gradients.
  template <class W>
  static auto in_weight(W w) {
    return project_in::weight(w.data, in, packed_of(w.cut));
  }
  template <class W>
  static auto in_bias(W w) {
    return project_in::bias(w.data, in, packed_of(w.cut));
  }
  template <class W>
  static auto out_weight(W w) {
    return project_out::weight(w.data + out_at(w.cut), query_of(w.cut), out);
  }
  template <class W>
  static auto out_bias(W w) {
    return project_out::bias(w.data + out_at(w.cut), query_of(w.cut), out);
  }

  // Rows are those that the products read and write: of all members, where they are cut.
  template <class C, class N, class Y>
  static void add_out_adapters(C& ctx, weights<N> w, const sequences& some, interval rows, matrix<Y> y,
                               saved<N>& s) {
    out_adapters::forward(ctx, out_held(w.cut), w.adapters + out_adapters_at(w.cut), w.block, some, rows,
                          cut_rows::some_rows(s.mixed, rows), y, s.adapted_out);
  }
  template <class C, class N, class DX>
  static void add_in_adapters_backward(C& ctx, weights<N> w, const sequences& some, interval rows,
                                       matrix<DX> dx, saved<N>& s) {
    in_adapters::backward_input(ctx, in_held(w.cut), w.adapters, w.block, some, rows,
                                cut_rows::some_rows(s.d_qkv, rows), dx, s.adapted_in);
  }

  template <class C>
  static bool exchanges_heads(const C& ctx) {
    return Config.context_kind == context_attention::heads && rows_are_cut(ctx);
  }
  // Gives queries and keys their positions, or takes them away from gradients.
  template <class C, class T>
  static void turn(C& ctx, const sequences& seq, const attention_config& held, int direction, matrix<T> qkv) {
    if constexpr (Config.rotary > 0) {
      // Read by the compiler: at run time clang 16 takes another member's bytes for this one.
      constexpr rotary_angles angles = Config.angles();
      const auto both = qkv.columns(0, held.query_width() + held.key_width());
      if (rows_are_cut(ctx)) rotary_of_part(ctx, held.head_width, angles, direction, both);
      else rotary(ctx, seq, held.head_width, angles, direction, both);
    }
  }

  // Heads of queries come first, then those of keys, each with the norm of its kind.
  template <class T>
  static matrix<T> head(matrix<T> of, const attention_config& held, isize h) {
    return of.columns(h * held.head_width, held.head_width);
  }
  template <class W>
  static auto gain(W w, const attention_config& held, isize h) {
    return w.data + norms_at(w.cut) + (h < held.heads ? 0 : norm_of_head::parameter_size);
  }
  template <class C, class N>
  static void norm_heads(C& ctx, weights<N> w, const sequences& seq, const attention_config& held,
                         saved<N>& s) {
    if constexpr (Config.head_norm) {
      copy(ctx, seq, s.qkv.columns(0, s.plain.width), s.plain);
      for (isize h = 0; h < normed_heads(held); ++h)
        norm_forward(ctx, seq, norm_kind::rms, head(s.plain, held, h), gain(w, held, h), nullptr,
                     static_cast<double>(Config.head_epsilon), head(s.qkv, held, h),
                     s.stats.columns(2 * h, 2));
    }
  }
  // Takes memory that the weight part reads.
  template <class C, class N>
  static void reserve_norms_backward(C& ctx, const sequences& seq, const attention_config& held,
                                     saved<N>& s) {
    if constexpr (Config.head_norm) {
      s.d_normed = cut_rows::take<typename N::value>(ctx, seq, s.plain.width);
      for (isize h = 0; h < normed_heads(held) && !adapted; ++h)
        s.sums[as_size(h)] = norm_sums<typename N::master>(ctx, seq.rows(), held.head_width);
    }
  }
  template <class C, class N>
  static void norm_heads_backward(C& ctx, weights<N> w, const sequences& seq, const attention_config& held,
                                  saved<N>& s) {
    if constexpr (Config.head_norm) {
      using value = typename N::value;
      using master = typename N::master;
      copy(ctx, seq, s.d_qkv.columns(0, s.plain.width), s.d_normed);
      for (isize h = 0; h < normed_heads(held); ++h)
        norm_backward_input(ctx, seq, norm_kind::rms, head(s.plain, held, h), gain(w, held, h),
                            s.stats.columns(2 * h, 2), head(s.d_normed, held, h), matrix<const value>{},
                            head(s.d_qkv, held, h),
                            norm_also<value, master>{{}, nullptr, {}, s.sums[as_size(h)]});
    }
  }

  // Queries, keys and values of the heads that are held, and what attention makes of them. Called with a
  // product, projected makes it of all rows, some at a time, and returns them.
  template <class C, class N, class Projected>
  static void mix(C& ctx, weights<N> w, const sequences& seq, saved<N>& s, Projected&& projected) {
    const attention_config held = Config.held(w.cut);
    const isize mark = ctx.memory.mark(), wide = held.query_width(), narrow = held.key_width();
    if (exchanges_heads(ctx)) s.qkv = cut_rows::take<typename N::value>(ctx, seq, packed_of(w.cut));
    [[maybe_unused]] const auto x = projected([&](const sequences& some, interval rows, auto of) {
      linear_forward(ctx, some, of, in_weight(w), in_bias(w), cut_rows::some_rows(s.qkv, rows));
    });
    in_adapters::forward(ctx, in_held(w.cut), w.adapters, w.block, seq, x, s.qkv, s.adapted_in);
    norm_heads(ctx, w, seq, held, s);
    turn(ctx, seq, held, 1, s.qkv);
    const auto q = s.qkv.columns(0, wide), k = s.qkv.columns(wide, narrow),
               v = s.qkv.columns(wide + narrow, narrow);
    if (!rows_are_cut(ctx)) attention_forward(ctx, seq, seq, held.shape(), q, k, v, s.mixed, s.lse);
    else if constexpr (Config.context_kind == context_attention::ring)
      ring_attention_forward(ctx, held.shape(), q, k, v, s.mixed, s.lse);
    else heads_attention_forward(ctx, held.shape(), s.qkv, s.exchanged, s.mixed);
    if (exchanges_heads(ctx)) release(ctx, mark);
  }
  // Makes s.d_qkv; projected as above, of the rows of dy.
  template <class C, class N, class DY, class Projected>
  static void mix_backward(C& ctx, weights<N> w, const sequences& seq, matrix<DY> dy, saved<N>& s,
                           Projected&& projected) {
    const attention_config held = Config.held(w.cut);
    if (exchanges_heads(ctx)) s.qkv = cut_rows::take<typename N::value>(ctx, seq, packed_of(w.cut));
    s.d_qkv = rows_are_cut(ctx) ? s.qkv : gradient_room(ctx, s.qkv);
    reserve_norms_backward(ctx, seq, held, s);
    out_adapters::template reserve_backward<N>(ctx, seq, s.adapted_out);
    const isize mark = ctx.memory.mark(), wide = held.query_width(), narrow = held.key_width();
    const auto d_mixed = cut_rows::take<typename N::value>(ctx, seq, wide);
    projected([&](const sequences& some, interval rows, auto of) {
      linear_backward_input(ctx, some, of, out_weight(w), cut_rows::some_rows(d_mixed, rows));
    });
    out_adapters::backward_input(ctx, out_held(w.cut), w.adapters + out_adapters_at(w.cut), w.block, seq, dy,
                                 d_mixed, s.adapted_out);
    const auto queries = [&](const auto& of) { return of.columns(0, wide); };
    const auto keys = [&](const auto& of) { return of.columns(wide, narrow); };
    const auto values = [&](const auto& of) { return of.columns(wide + narrow, narrow); };
    const auto q = queries(s.qkv), k = keys(s.qkv), v = values(s.qkv), dq = queries(s.d_qkv),
               dk = keys(s.d_qkv), dv = values(s.d_qkv);
    if (!rows_are_cut(ctx))
      attention_backward(ctx, seq, seq, held.shape(), q, k, v, s.mixed, s.lse, d_mixed, dq, dk, dv);
    else if constexpr (Config.context_kind == context_attention::ring)
      ring_attention_backward(ctx, held.shape(), q, k, v, s.mixed, s.lse, d_mixed, dq, dk, dv);
    else heads_attention_backward(ctx, held.shape(), s.exchanged, d_mixed, s.d_qkv);
    turn(ctx, seq, held, -1, s.d_qkv);
    norm_heads_backward(ctx, w, seq, held, s);
    release(ctx, mark);
  }
};

}  // namespace motet
