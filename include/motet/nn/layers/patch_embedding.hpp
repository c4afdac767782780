// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/rules.hpp>
#include <motet/nn/layers/linear.hpp>
#include <motet/nn/layers/norm.hpp>
#include <motet/nn/layers/pictures.hpp>
#include <motet/tensor/cubic_axis.hpp>

namespace motet {

enum class position_kind : std::uint8_t { learned, sine };

struct patch_config {
  isize image = 0;  // side of the square picture
  isize patch = 0;
  isize channels = 3;
  isize width = 0;
  bool class_token = true;
  bool bias = false;
  bool pre_norm = false;  // a layer norm before the first block, as CLIP has
  float epsilon = 1e-5f;
  position_kind position = position_kind::learned;
  isize learned_image = 0;  // positions are a table for pictures of this side, and interpolated; 0: image
  // Pictures have any grid of at most so many patches, and positions are interpolated to each; 0: squares.
  isize most_patches = 0;

  constexpr bool any_shape() const { return most_patches != 0; }
  constexpr isize lead() const { return class_token ? 1 : 0; }
  constexpr isize patches() const { return any_shape() ? most_patches : (image / patch) * (image / patch); }
  constexpr isize rows() const { return patches() + lead(); }  // of a picture, at most
  constexpr isize numbers_of_patch() const { return channels * patch * patch; }
  // The table's grid, behind rows that have no place in it.
  constexpr isize learned_side() const { return (learned_image > 0 ? learned_image : image) / patch; }
  constexpr isize positions() const { return learned_side() * learned_side() + lead(); }
  constexpr bool resizes() const { return !any_shape() && learned_side() != image / patch; }
  constexpr patch_geometry geometry() const { return {channels, image, patch, lead()}; }
};

constexpr verdict check(const patch_config& c) {
  if (const verdict found = at_least(1, {c.image, c.patch, c.channels, c.width}); !found.ok()) return found;
  if (c.most_patches < 0 || (c.any_shape() && c.channels > packed_pictures::most_channels))
    return {reason::any_shape, c.most_patches < 0 ? 0 : 1, c.most_patches < 0 ? c.most_patches : c.channels,
            0};
  if (c.image % c.patch != 0) return {reason::patch_does_not_divide, 1, c.patch, c.image};
  if (c.position == position_kind::sine && c.width % 4 != 0)
    return {reason::sine_width, 1, c.width, round_up(c.width, 4)};
  if (c.learned_image != 0 &&
      (c.learned_image < 0 || c.learned_image % c.patch != 0 || c.position != position_kind::learned))
    return {reason::grid_of_positions, 0, c.learned_image, c.image};
  return {};
}

// Squares of rows are those of one grid.
constexpr verdict check_shapes(const patch_config& c, isize squares) {
  if (c.any_shape() && squares != 1) return {reason::any_shape, 2, squares, 1};
  return {};
}

// Pictures to rows: each patch through one product, a class token in front, learned or 2-D sine positions on
// top, and a norm if asked. Positions that were learned for pictures of another size are interpolated,
// bicubic in both directions, and gradients go back to the table (learned_image); or so to the grid of each
// picture, where those have any shape (most_patches).
// Asks for: pictures of one size as numbers, or of any size as bytes; a patch that divides the side.
// Memory: nothing without a norm, with one its rows and numbers: backward cuts the patches again.
// Errors: MT-N02, MT-N04, MT-N07, MT-N28, MT-N29, MT-N32, MT-N33
// Example:
//   using embed = patch_embedding<patch_config{.image = 64, .patch = 8, .width = 192}>;
//   static_assert(embed::out == 192 && embed::pixels == 3 * 8 * 8);
template <patch_config Config>
struct patch_embedding {
  static_assert(require<check(Config)>);
  using input = pictures;
  static constexpr isize pixels = Config.channels * Config.patch * Config.patch;
  static constexpr isize out = Config.width;
  static constexpr bool learned = Config.position == position_kind::learned;
  using project = linear<pixels, out, Config.bias>;
  using pre_norm = norm<out, norm_config{norm_kind::layer, Config.epsilon}>;
  static constexpr isize class_at = project::parameter_size;
  static constexpr isize position_at = class_at + (Config.class_token ? parameter_space(out) : 0);
  static constexpr isize norm_at = position_at + (learned ? parameter_space(Config.positions() * out) : 0);
  static constexpr isize parameter_size = norm_at + (Config.pre_norm ? pre_norm::parameter_size : 0);

  static void parameters(parameter_list& list) {
    list.child<project>("patch");
    if constexpr (Config.class_token) list.vector("class", out, {fill::normal, 0.02f});
    // Learned positions start as sines, so that neighbours look alike from the first step on; from noise a
    // tower must find that out itself.
    if constexpr (learned)
      list.matrix("position", Config.positions(), out,
                  {out % 4 == 0 ? fill::sine_grid : fill::normal, out % 4 == 0 ? 0.5f : 0.02f});
    if constexpr (Config.pre_norm) list.child<pre_norm>("norm");
  }
  static sequences rows(const input& batch) {
    if constexpr (Config.any_shape()) return {batch.samples, 0, batch.row_offsets};
    else return {batch.samples, Config.rows(), nullptr};
  }

  template <class N>
  struct saved {
    typename pre_norm::template saved<N> norm;
    view<typename N::stream, out> before_norm;  // (rows, width)
    // (rows, pixels and what pads them), between the two parts of backward
    matrix<typename N::value> patches;
    view<typename N::stream, out> d_rows;  // likewise
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    if constexpr (Config.pre_norm) {
      pre_norm::template reserve<N>(ctx, seq, s.norm);
      s.before_norm = ctx.memory.template take_rows<typename N::stream, out>(seq.rows());
    }
  }

  template <class C, class N>
  static void forward(C& ctx, weights<N> w, const input& batch, view<typename N::stream, out> y,
                      saved<N>& s) {
    const sequences seq = rows(batch);
    const isize mark = ctx.memory.mark();
    const auto cut_rows = take_patches<typename N::value>(ctx, seq);
    const auto x = Config.pre_norm ? s.before_norm : y;
    cut(ctx, seq, batch, cut_rows);
    linear_forward(ctx, seq, cut_rows, project::weight(w.data), project::bias(w.data), x);
    if constexpr (Config.class_token) class_token_forward(ctx, seq, w.data + class_at, x);
    if constexpr (Config.any_shape()) add_own_positions(ctx, w, seq, batch, x);
    else if constexpr (learned) add_positions(ctx, w, seq, x);
    else sine_position_forward(ctx, seq, Config.geometry(), x);
    if constexpr (Config.pre_norm) pre_norm::forward(ctx, w + norm_at, seq, x, y, s.norm);
    release(ctx, mark);
  }
  // Pictures need no gradient, so the input part only prepares the weight part.
  template <class C, class N, class DY>
  static void backward_input(C& ctx, weights<N> w, const input& batch, view<DY, out> dy, saved<N>& s) {
    const sequences seq = rows(batch);
    s.patches = take_patches<typename N::value>(ctx, seq);
    cut(ctx, seq, batch, s.patches);
    if constexpr (Config.pre_norm) {
      s.d_rows = ctx.memory.template take_rows<typename N::stream, out>(seq.rows());
      pre_norm::backward_input(ctx, w + norm_at, seq, s.before_norm, dy, s.d_rows, s.norm);
    }
  }
  template <class C, class N, class DY>
  static void backward_weight(C& ctx, weights<N> w, const input& batch, view<DY, out> dy, saved<N>& s,
                              gradients<N> g) {
    if constexpr (Config.pre_norm) {
      pre_norm::backward_weight(ctx, w + norm_at, rows(batch), s.before_norm, dy, s.norm, g + norm_at);
      rows_weight(ctx, batch, s.d_rows, s, g);
    } else {
      rows_weight(ctx, batch, dy, s, g);
    }
  }

 private:
  // Wide enough for fast products: 592 columns of bf16 for 588 pixels, on a GPU.
  template <class V, class C>
  static matrix<V> take_patches(C& ctx, const sequences& seq) {
    constexpr isize width = round_up(pixels, C::template product_columns<V>);
    return {ctx.memory.template take<V>(seq.rows() * width), seq.rows(), width, width};
  }
  template <class C, class V>
  static void cut(C& ctx, const sequences& seq, const input& batch, matrix<V> y) {
    cut_patches<Config.channels, Config.any_shape()>(ctx, seq, Config.geometry(), batch, y);
  }
  template <class M>
  static matrix<M> position(M* data) {
    return {data + position_at, Config.positions(), out, out};  // (positions, width)
  }
  static constexpr cubic_axis axis{Config.learned_side(), Config.image / Config.patch};
  static constexpr sequences one_picture{1, Config.rows(), nullptr};
  template <class C, class N, class X>
  static void add_positions(C& ctx, weights<N> w, const sequences& seq, X x) {
    if constexpr (Config.resizes()) {
      const isize mark = ctx.memory.mark();
      const auto resized = ctx.memory.template take_rows<typename N::master, out>(Config.rows());
      static_assert(
          requires { resize_positions(ctx, isize{0}, axis, position(w.data), matrix(resized)); },
          "motet: this device has no operations that interpolate positions [MT-N28]");
      resize_positions(ctx, Config.lead(), axis, position(w.data), matrix(resized));
      synchronize(ctx);
      position_forward(ctx, seq, matrix(resized), x);
      release(ctx, mark);
    } else {
      position_forward(ctx, seq, position(w.data), x);
    }
  }
  // Each picture has a grid of its own.
  static constexpr grid_table table{Config.lead(), Config.learned_side()};
  template <class C, class N, class X>
  static void add_own_positions(C& ctx, weights<N> w, const sequences& seq, const input& batch, X x) {
    static_assert(
        requires { grid_sine_forward(ctx, seq, isize{0}, batch.packed.each, x); },
        "motet: this device has no operations for pictures of any shape [MT-N33]");
    if constexpr (learned) grid_position_forward(ctx, seq, table, batch.packed.each, position(w.data), x);
    else grid_sine_forward(ctx, seq, Config.lead(), batch.packed.each, x);
  }
  template <class C, class N, class D>
  static void add_position_gradients(C& ctx, const sequences& seq, const input& batch, D d_rows,
                                     gradients<N> g) {
    if constexpr (Config.any_shape()) {
      grid_position_backward_weight(ctx, seq, table, batch.packed.each, d_rows, position(g.data));
    } else if constexpr (Config.resizes()) {
      const isize mark = ctx.memory.mark();
      const auto resized = ctx.memory.template take_rows<typename N::master, out>(Config.rows());
      zero(ctx, one_picture, resized);
      synchronize(ctx);
      // Threads have the same columns in both.
      position_backward_weight(ctx, seq, d_rows, matrix(resized));
      resize_positions_backward(ctx, Config.lead(), axis, matrix(resized), position(g.data));
      release(ctx, mark);
    } else {
      position_backward_weight(ctx, seq, d_rows, position(g.data));
    }
  }
  template <class C, class N, class D>
  static void rows_weight(C& ctx, const input& batch, view<D, out> d_rows, saved<N>& s, gradients<N> g) {
    const sequences seq = rows(batch);
    if constexpr (learned) add_position_gradients(ctx, seq, batch, d_rows, g);
    if constexpr (Config.class_token) class_token_backward_weight(ctx, seq, d_rows, g.data + class_at);
    // The class row of `patches` is zero and adds nothing to the weight, but its gradient must not reach the
    // bias.
    if constexpr (Config.class_token && Config.bias)
      class_token_backward_bias(ctx, seq, d_rows, project::bias(g.data));
    linear_backward_weight(ctx, s.patches, d_rows, project::weight(g.data),
                           Config.class_token ? nullptr : project::bias(g.data));
  }
};

}  // namespace motet
