// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/towers/picture_rows.hpp>
#include <motet/nn/towers/vit_rows.hpp>

namespace motet {

// The eye of picture_rows, inside a net that sees, whose squares of By x By neighbouring rows are joined to
// one (layers/joined_squares.hpp). A class token's row is left out. Weights are those of picture_rows;
// vit_rows is the same as a module of its own.
// Asks for: pictures as patch_embedding has them, and By that divides the side of the grid of patches.
// Memory: that of picture_rows, and its rows once more while they are joined, or their gradients parted.
// Errors: MT-N01, MT-N02, MT-N04, MT-N26, MT-N32
// Example:
//   using eye = joined_picture_rows<
//       vit_config{.image = 32, .patch = 8, .width = 32, .layers = 2, .heads = 2}, true, 2>;
//   static_assert(eye::out == 128 && eye::rows_of_picture == 4);
template <vit_config Config, bool Normed, isize By>
struct joined_picture_rows : picture_rows<Config, Normed> {
  static_assert(require<check_shapes(Config.patches(), By)>);
  using whole = picture_rows<Config, Normed>;
  using joined = detail::squares_of<Config, By>;
  using input = typename whole::input;
  static constexpr isize out = joined::out, rows_of_picture = joined::rows_behind, squares = By;
  static sequences rows(const input& batch) { return {batch.samples, rows_of_picture, nullptr}; }

  template <class N>
  struct saved {
    typename whole::template saved<N> kept;
    // of the rows before they are joined, between the two parts of backward
    view<typename N::value, whole::out> d_rows;
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    whole::template reserve<N>(ctx, {seq.samples, joined::rows_before, nullptr}, s.kept);
  }

  template <class C, class N, class Y>
  static void forward(C& ctx, weights<N> w, const input& batch, view<Y, out> y, saved<N>& s) {
    join<N>(ctx, batch, y, [&](auto rows) { whole::forward(ctx, w, batch, rows, s.kept); });
  }
  template <class C, class N, class Y>
  static void infer(C& ctx, weights<N> w, const input& batch, view<Y, out> y) {
    join<N>(ctx, batch, y, [&](auto rows) { whole::infer(ctx, w, batch, rows); });
  }
  template <class C, class N, class DY>
  static void backward(C& ctx, weights<N> w, const input& batch, view<DY, out> dy, saved<N>& s,
                       gradients<N> g) {
    const isize mark = ctx.memory.mark();
    part(ctx, batch, dy, s);
    whole::backward(ctx, w, batch, s.d_rows, s.kept, g);
    release(ctx, mark);
  }
  template <class C, class N, class DY>
  static void backward_input(C& ctx, weights<N> w, const input& batch, view<DY, out> dy, saved<N>& s) {
    part(ctx, batch, dy, s);
    whole::backward_input(ctx, w, batch, s.d_rows, s.kept);
  }
  template <class C, class N, class DY>
  static void backward_weight(C& ctx, weights<N> w, const input& batch, view<DY, out>, saved<N>& s,
                              gradients<N> g) {
    whole::backward_weight(ctx, w, batch, s.d_rows, s.kept, g);
  }

 private:
  // make(rows) makes those that are joined to y.
  template <class N, class C, class Y, class Make>
  static void join(C& ctx, const input& batch, view<Y, out> y, Make&& make) {
    const isize mark = ctx.memory.mark();
    const sequences seq = whole::rows(batch);
    const auto rows = ctx.memory.template take_rows<Y, whole::out>(seq.rows());
    make(rows);
    typename joined::template saved<N> none;
    joined::forward(ctx, weights<N>{}, seq, rows, y, none);
    release(ctx, mark);
  }
  template <class C, class N, class DY>
  static void part(C& ctx, const input& batch, view<DY, out> dy, saved<N>& s) {
    const sequences seq = whole::rows(batch);
    s.d_rows = ctx.memory.template take_rows<typename N::value, whole::out>(seq.rows());
    typename joined::template saved<N> none;
    joined::backward_input(ctx, weights<N>{}, seq, view<const DY, whole::out>{}, dy, s.d_rows, none);
  }
};

}  // namespace motet
