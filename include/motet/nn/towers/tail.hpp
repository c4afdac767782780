// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/rules.hpp>
#include <motet/nn/towers/picked.hpp>

namespace motet {

// The end of a tower, a layer whose y has one row for each sample: a head pools the rows, a projection takes
// them to the shared space.
template <class Head, class Project>
struct tail {
  static_assert(require < Head::out == Project::in
                    ? verdict{}
                    : verdict{reason::widths_do_not_chain, 0, Project::in, Head::out} >);
  static constexpr isize in = Head::in, out = Project::out;
  static constexpr isize project_at = Head::parameter_size;
  static constexpr isize parameter_size = project_at + Project::parameter_size;

  static void parameters(parameter_list& list) {
    Head::parameters(list);
    list.child<Project>("projection");
  }

  template <class N>
  struct saved {
    typename Head::template saved<N> head;
    typename Project::template saved<N> project;
    view<typename N::value, Head::out> pooled;     // (samples, width)
    view<typename N::stream, Head::out> d_pooled;  // (samples, width), between the two parts of backward
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    Head::template reserve<N>(ctx, seq, s.head);
    s.pooled = ctx.memory.template take_rows<typename N::value, Head::out>(seq.samples);
    Project::template reserve<N>(ctx, seq.pooled(), s.project);
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    Head::forward(ctx, w, seq, x, s.pooled, s.head);
    hand_over(ctx, seq);
    Project::forward(ctx, w + project_at, seq.pooled(), s.pooled, y, s.project);
  }
  template <class C, class N, class X, class Y>
  static void infer(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y) {
    const isize mark = ctx.memory.mark();
    const auto pooled = ctx.memory.template take_rows<typename N::value, Head::out>(seq.samples);
    layer::infer<Head>(ctx, w, seq, x, pooled);
    hand_over(ctx, seq);
    layer::infer<Project>(ctx, w + project_at, seq.pooled(), pooled, y);
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<DY, out> dy,
                       view<DX, in> dx, saved<N>& s, gradients<N> g) {
    const isize mark = ctx.memory.mark();
    const auto d_pooled = ctx.memory.template take_rows<typename N::stream, Head::out>(seq.samples);
    layer::backward<Project>(ctx, w + project_at, seq.pooled(), s.pooled, dy, d_pooled, s.project,
                             g + project_at);
    layer::backward<Head>(ctx, w, seq, x, d_pooled, dx, s.head, g);
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<DY, out> dy,
                             view<DX, in> dx, saved<N>& s) {
    s.d_pooled = ctx.memory.template take_rows<typename N::stream, Head::out>(seq.samples);
    Project::backward_input(ctx, w + project_at, seq.pooled(), s.pooled, dy, s.d_pooled, s.project);
    Head::backward_input(ctx, w, seq, x, s.d_pooled, dx, s.head);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<DY, out> dy,
                              saved<N>& s, gradients<N> g) {
    layer::backward_weight<Project>(ctx, w + project_at, seq.pooled(), s.pooled, dy, s.project,
                                    g + project_at);
    layer::backward_weight<Head>(ctx, w, seq, x, s.d_pooled, s.head, g);
  }
};

}  // namespace motet
