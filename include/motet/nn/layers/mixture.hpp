// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/rules.hpp>
#include <motet/nn/layers/experts.hpp>

namespace motet {

struct mixture_config {
  isize width = 0;
  isize experts = 0;
  isize hidden = 0;  // of one expert
  isize top_k = 2;
  activation act = activation::gelu;
  bool gated = false;                       // SwiGLU instead of act
  gate_kind gates = gate_kind::normalised;  // probability where top_k is 1
  float capacity = 0;                       // rows of a sample that an expert takes, in even shares; 0: all
  float balance = 0;                        // what the load-balance loss counts, for each sample
  float z = 0;                              // what the z loss of the router counts, for each sample
  constexpr router_shape shape() const { return {experts, top_k, gates, capacity, balance, z}; }
  constexpr expert_config expert() const { return {width, experts, hidden, act, gated}; }
};

constexpr verdict check(const mixture_config& c) {
  if (const verdict found = at_least(1, {c.width, c.experts, c.hidden, c.top_k}); !found.ok()) return found;
  if (c.experts > 65535) return {reason::experts_do_not_fit, 1, c.experts, 65535};
  if (c.top_k > c.experts) return {reason::experts_do_not_fit, 0, c.experts, c.top_k};
  if (c.top_k == 1 && c.gates == gate_kind::normalised && c.experts > 1)
    return {reason::gate_is_constant, 0, c.top_k, 2};
  return {};
}

// A mixture of experts (Shazeer et al. 2017): a router sends each row to a few of many small nets, and their
// outputs are summed with the router's gates.
//
// The experts are shared by the tensor group: each rank holds some whole, and rows travel to the experts and
// back. Only the router's weights are on every rank. Two losses may be added, each the mean over a sample's
// rows: balance (Fedus et al. 2021) is experts * the sum over them of the fraction of choices that went
// there, times the mean probability, 1 when even; z (Zoph et al. 2022) is the square of the logarithm of the
// sum that probabilities are divided by. They enter the gradient with the context's sample_share.
// Asks for: rows of any width, and top_k <= experts.
// Memory: of each row the probabilities of all experts and its choices; of each position at an expert what
// the expert keeps. With a tensor group, room for the rows that may arrive.
// Errors: MT-N04, MT-N09, MT-N10
// Example:
//   using choose = mixture<mixture_config{.width = 64, .experts = 8, .hidden = 128, .top_k = 2}>;
//   static_assert(choose::in == 64 && choose::top_k == 2);
template <mixture_config Config>
struct mixture {
  static_assert(require<check(Config)>);
  static constexpr isize in = Config.width, out = Config.width, top_k = Config.top_k;
  static constexpr router_shape shape = Config.shape();
  using router = linear<in, Config.experts, false>;
  using nets = experts<Config.expert()>;
  static constexpr isize nets_at = router::parameter_size;
  static constexpr isize size(tensor_cut cut) { return nets_at + nets::size(cut); }
  static constexpr isize parameter_size = size({});

  static void parameters(parameter_list& list) {
    list.child<router>("router");
    list.child<nets>("experts");
  }

  template <class N>
  struct saved {
    using value = typename N::value;
    using real = typename N::master;
    // (rows, experts); the input part of backward turns it into the gradient of the logits
    view<real, Config.experts> probability;
    view<real, 1> lse;                    // (rows, 1)
    view<choice<real>, top_k> chosen;     // (rows, top_k)
    view<real, Config.experts> fraction;  // (samples, experts): how often each was chosen
    view<real, 2> losses;                 // (samples, balance | z), what this rank's rows add to them
    dispatched<real> to;
    view<value, in> arrived;  // rows of other ranks; none of a rank alone
    typename nets::template saved<N> inner;
    view<value, out> d_sorted;  // (positions, width), between the two parts of backward
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s, tensor_cut cut = {}) {
    using real = typename N::master;
    const isize rows = seq.rows();
    s.probability = ctx.memory.template take_rows<real, Config.experts>(rows);
    s.lse = ctx.memory.template take_rows<real, 1>(rows);
    s.chosen = ctx.memory.template take_rows<choice<real>, top_k>(rows);
    s.fraction = ctx.memory.template take_rows<real, Config.experts>(seq.samples);
    s.losses = ctx.memory.template take_rows<real, 2>(seq.samples);
    reserve_dispatch(ctx, seq, shape, cut, s.to);
    s.arrived = ctx.memory.template take_rows<typename N::value, in>(s.to.most_arrived);
    nets::template reserve<N>(ctx, s.to.most_sorted, s.inner);
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    forward_add(ctx, w, seq, x, view<const Y, out>{}, y, s);
  }
  template <class C, class N, class X, class R, class Y>
  static void forward_add(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<R, out> residual,
                          view<Y, out> y, saved<N>& s) {
    router_forward(ctx, seq, x, router::weight(w.data), s.probability);
    route_forward(ctx, seq, shape, s.probability, s.lse, s.chosen, s.fraction, s.losses);
    dispatch(ctx, seq, shape, s.chosen, s.to);
    const isize mark = ctx.memory.mark();
    const auto sorted = take_sorted<N>(ctx, s);
    to_experts(ctx, s.to, x, s.arrived, sorted.slice(0, s.to.sorted.count));
    nets::forward(ctx, w + nets_at, s.to.sorted, sorted, sorted, s.inner);
    from_experts(ctx, seq, s.to, sorted.slice(0, s.to.sorted.count), true, residual, y);
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in>, view<DY, out> dy,
                             view<DX, in> dx, saved<N>& s) {
    using real = typename N::master;
    s.d_sorted = take_sorted<N>(ctx, s);
    nets::template reserve_backward<N>(ctx, s.inner);
    const isize mark = ctx.memory.mark();
    const auto d_arrived = ctx.memory.template take_rows<typename N::value, out>(s.to.most_arrived);
    const auto dx_sorted = take_sorted<N>(ctx, s);
    const auto d_gate = ctx.memory.template take_rows<real, top_k>(seq.rows());
    real* const d_gate_sorted = ctx.memory.template take<real>(s.to.most_sorted);
    to_experts(ctx, s.to, dy, d_arrived, s.d_sorted.slice(0, s.to.sorted.count));
    nets::backward_input(ctx, w + nets_at, s.to.sorted, s.to.arrived, s.d_sorted, dx_sorted, d_gate_sorted,
                         s.inner);
    from_experts(ctx, seq, s.to, dx_sorted.slice(0, s.to.sorted.count), false, view<const DX, in>{}, dx);
    gates_from_experts(ctx, seq, s.to, d_gate_sorted, d_gate);
    route_backward(ctx, seq, shape, s.fraction, s.lse, s.chosen, d_gate, s.probability);
    linear_backward_input(ctx, seq, s.probability, router::weight(w.data), dx, dx);
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N>, const sequences&, view<X, in> x, view<DY, out>, saved<N>& s,
                              gradients<N> g) {
    linear_backward_weight(ctx, x, s.probability, router::weight(g.data), nullptr);
    const isize mark = ctx.memory.mark();
    const auto sorted = take_sorted<N>(ctx, s);
    sort_rows(ctx, s.to, x, s.arrived, sorted.slice(0, s.to.sorted.count));
    synchronize(ctx);
    nets::backward_weight(ctx, s.to.sorted, sorted, s.d_sorted, s.inner, g + nets_at);
    release(ctx, mark);
  }

  // Means over this rank's samples of the two losses, before they are weighed; where rows of a sample are
  // cut, its share of them.
  template <class N>
  static double balance_of(const sequences& seq, const saved<N>& s) {
    return mean_of(seq, s.losses, 0);
  }
  template <class N>
  static double z_of(const sequences& seq, const saved<N>& s) {
    return mean_of(seq, s.losses, 1);
  }

 private:
  template <class N, class C>
  static view<typename N::value, in> take_sorted(C& ctx, const saved<N>& s) {
    return ctx.memory.template take_rows<typename N::value, in>(s.to.most_sorted);
  }
  template <class T>
  static double mean_of(const sequences& seq, view<T, 2> losses, isize which) {
    double sum = 0;
    for (isize i = 0; i < seq.samples; ++i) sum += static_cast<double>(losses.row(i)[which]);
    return seq.samples > 0 ? sum / static_cast<double>(seq.samples) : 0;
  }
};

}  // namespace motet
