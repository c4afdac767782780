// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/compose/repeat.hpp>

#include <motet/nn/compose/residual.hpp>
#include <motet/nn/compose/sequential.hpp>
#include <motet/nn/layers/mlp.hpp>

#include "layer_laws.hpp"

using namespace motet;

namespace {

using block = residual<layer_norm<5>, mlp<5, 9>>;
using five = repeat<block, 5>;

// The same layers run as three parts, cut at run time.
motet::isize cuts[] = {0, 0, 0, 5};
struct in_parts : five {
  template <class N>
  struct saved : five::saved<N> {
    view<typename N::stream, in> y[2], d_y[2];
  };
  static interval part(int i) { return {cuts[i], cuts[i + 1]}; }
  template <class P>
  static P own(int i, P p) {
    return p + cuts[i] * layer_size;
  }
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    for (int i = 0; i < 3; ++i) {
      if (i > 0) s.y[i - 1] = ctx.memory.template take_rows<typename N::stream, in>(seq.rows());
      five::reserve<N>(ctx, part(i), seq, s);
    }
  }
  template <class C, class N, class T>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<T, in> x,
                      view<typename N::stream, out> y, saved<N>& s) {
    five::forward(ctx, part(0), own(0, w), seq, x, s.y[0], s);
    five::forward(ctx, part(1), own(1, w), seq, s.y[0], s.y[1], s);
    five::forward(ctx, part(2), own(2, w), seq, s.y[1], y, s);
  }
  template <class C, class N, class T>
  static void infer(C& ctx, weights<N> w, const sequences& seq, view<T, in> x,
                    view<typename N::stream, out> y) {
    const motet::isize mark = ctx.memory.mark();
    saved<N> s;
    for (auto& rows : s.y) rows = ctx.memory.template take_rows<typename N::stream, in>(seq.rows());
    five::infer(ctx, part(0), own(0, w), seq, x, s.y[0]);
    five::infer(ctx, part(1), own(1, w), seq, s.y[0], s.y[1]);
    five::infer(ctx, part(2), own(2, w), seq, s.y[1], y);
    release(ctx, mark);
  }
  template <class C, class N, class T, class D>
  static void backward(C& ctx, weights<N> w, const sequences& seq, view<T, in> x, view<D, out> dy,
                       view<typename N::stream, in> dx, saved<N>& s, gradients<N> g) {
    const motet::isize mark = ctx.memory.mark();
    for (auto& rows : s.d_y) rows = ctx.memory.template take_rows<typename N::stream, in>(seq.rows());
    five::backward(ctx, part(2), own(2, w), seq, s.y[1], dy, s.d_y[1], s, own(2, g));
    five::backward(ctx, part(1), own(1, w), seq, s.y[0], s.d_y[1], s.d_y[0], s, own(1, g));
    five::backward(ctx, part(0), own(0, w), seq, x, s.d_y[0], dx, s, own(0, g));
    release(ctx, mark);
  }
  template <class C, class N, class T, class D>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<T, in> x, view<D, out> dy,
                             view<typename N::stream, in> dx, saved<N>& s) {
    for (auto& rows : s.d_y) rows = ctx.memory.template take_rows<typename N::stream, in>(seq.rows());
    five::backward_input(ctx, part(2), own(2, w), seq, s.y[1], dy, s.d_y[1], s);
    five::backward_input(ctx, part(1), own(1, w), seq, s.y[0], s.d_y[1], s.d_y[0], s);
    five::backward_input(ctx, part(0), own(0, w), seq, x, s.d_y[0], dx, s);
  }
  template <class C, class N, class T, class D>
  static void backward_weight(C& ctx, weights<N> w, const sequences& seq, view<T, in> x, view<D, out> dy,
                              saved<N>& s, gradients<N> g) {
    five::backward_weight(ctx, part(0), own(0, w), seq, x, s.d_y[0], s, own(0, g));
    five::backward_weight(ctx, part(1), own(1, w), seq, s.y[0], s.d_y[1], s, own(1, g));
    five::backward_weight(ctx, part(2), own(2, w), seq, s.y[1], dy, s, own(2, g));
  }
};

}  // namespace

TEST_CASE("a layer repeated no, one, two and three times") {
  laws::check_layer<repeat<block, 0>>();
  laws::check_layer<repeat<block, 1>>();
  laws::check_layer<repeat<block, 2>>();
  laws::check_layer<repeat<block, 3>>({.half = 5e-2});
}

TEST_CASE("repeating is writing the layer out") {
  laws::check_equal_layers<repeat<block, 3>, sequential<block, block, block>>();
}

TEST_CASE("parts, also empty ones, are the whole") {
  constexpr motet::isize places[][2] = {{1, 3}, {2, 2}, {0, 4}, {0, 5}, {5, 5}};
  for (const auto& place : places) {
    cuts[1] = place[0], cuts[2] = place[1];
    INFO("cut at " << cuts[1] << " and " << cuts[2]);
    laws::check_equal_layers<in_parts, five>();
  }
  cuts[1] = 1, cuts[2] = 4;
  laws::check_laws(laws::layer_subject<in_parts>{{3, 5, nullptr}, {3, 5, nullptr}},
                   {.half = 5e-2, .samples_of_tensor = 2, .samples_of_x = 5});
}

TEST_CASE("a part keeps what its layers need") {
  const sequences seq{3, 5, nullptr};
  const auto kept = [&](interval part) {
    cpu::context dry;
    five::saved<fp64> s;
    five::reserve<fp64>(dry, part, seq, s);
    return dry.memory.mark();
  };
  const motet::isize rows = round_up(15 * 5 * 8, arena::alignment);
  CHECK_EQ(kept({2, 2}), 0);
  CHECK_EQ(kept({1, 2}), kept({4, 5}));
  CHECK_EQ(kept({0, 2}) + rows + kept({2, 5}), kept({0, 5}));
}

TEST_CASE("evaluation needs no more memory for more layers") {
  const auto peak = [](auto times) {
    using net = repeat<block, decltype(times)::value>;
    const sequences seq{3, 5, nullptr};
    const laws::reals w = laws::random_weights(layer::parameters_of<net>(), net::parameter_size),
                      x = laws::random_reals(75, "x");
    return laws::evaluate<fp64>(laws::layer_subject<net>{seq, seq}, laws::way::infer, 1, w, x, x, {}).used;
  };
  CHECK_EQ(peak(std::integral_constant<motet::isize, 2>{}), peak(std::integral_constant<motet::isize, 7>{}));
}
