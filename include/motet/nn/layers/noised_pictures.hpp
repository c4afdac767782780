// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/modulation.hpp>
#include <motet/nn/layers/patch_embedding.hpp>

namespace motet {

struct noised_config {
  isize image = 0;  // side of the square picture
  isize patch = 0;
  isize channels = 3;
  isize width = 0;
  isize classes = 0;       // 0: nothing is told of a picture but its time
  float forgotten = 0.1f;  // of so many pictures the class is not told, so that one can draw without
  isize times = 256;       // numbers that tell the time

  constexpr isize patches() const { return (image / patch) * (image / patch); }
  constexpr isize rows() const { return 1 + patches(); }
  constexpr isize numbers() const { return channels * patch * patch; }  // of a patch
  constexpr patch_geometry geometry(isize lead) const { return {channels, image, patch, lead}; }
};

constexpr verdict check(const noised_config& c) {
  const patch_config as_seen{.image = c.image,
                             .patch = c.patch,
                             .channels = c.channels,
                             .width = c.width,
                             .class_token = false,
                             .position = position_kind::sine};
  if (const verdict found = check(as_seen); !found.ok()) return found;
  if (const verdict found = at_least(0, {c.classes}); !found.ok()) return found;
  if (!(c.forgotten >= 0 && c.forgotten <= 1)) return {reason::not_a_part, 0, c.forgotten < 0 ? -1 : 2, 1};
  return {};
}

// Pictures that a net learns to draw, with the class of each, negative where it has none.
struct drawn_pictures : pictures {
  const std::int32_t* classes = nullptr;
  noise_draws draws{};
  // of one picture in the loss: one over the pictures of the whole step, however ranks and microbatches share
  // it
  double share = 1;
};

// Pictures are mixed with noise, time by time, and become rows: a patch each, through one product, with fixed
// sine positions. In front of each picture's rows stands its condition: its time, by two products with SiLU
// between, and a row of a table for its class. The row behind the last class stands for no class.
// Asks for: pictures of one size as numbers, or of any size as bytes; a patch that divides the side; classes
// below `classes`.
// Memory: (pictures, width) before SiLU, and a class each; backward mixes and cuts pictures again.
// Errors: MT-N02, MT-N04, MT-N07, MT-N19, MT-N20
// Example:
//   using embed = noised_pictures<noised_config{.image = 32, .patch = 4, .width = 64, .classes = 10}>;
//   static_assert(embed::out == 64 && embed::numbers == 3 * 4 * 4);
template <noised_config Config>
struct noised_pictures {
  static_assert(require<check(Config)>);
  using input = drawn_pictures;
  static constexpr isize out = Config.width, numbers = Config.numbers(), times = Config.times;
  using project = linear<numbers, out>;
  using up = linear<times, out>;
  using down = linear<out, out>;
  static constexpr isize up_at = project::parameter_size, down_at = up_at + up::parameter_size;
  static constexpr isize table_at = down_at + down::parameter_size, table_rows = Config.classes + 1;
  static constexpr isize parameter_size = table_at + parameter_space(table_rows * out);

  static void parameters(parameter_list& list) {
    list.child<project>("patch");
    list.child("time", [&] {
      list.child<up>("up");
      list.child<down>("down");
    });
    list.matrix("class", table_rows, out, {fill::normal, 0.2f});  // about as large as what tells the time
  }
  static sequences rows(const input& batch) { return {batch.samples, Config.rows(), nullptr}; }

  template <class N>
  struct saved {
    view<typename N::value, out> pre;  // (pictures, width), before SiLU
    matrix<std::int32_t> told;         // (pictures, 1), the class of each
    // What products read, and the gradient before SiLU, is kept between the two parts of backward.
    matrix<typename N::value> patches;          // (rows, numbers and what pads them)
    view<typename N::value, times> time;        // (pictures, numbers that tell the time)
    view<typename N::value, out> after, d_pre;  // (pictures, width)
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    s.pre = ctx.memory.template take_rows<typename N::value, out>(seq.samples);
    s.told = {ctx.memory.template take<std::int32_t>(seq.samples), seq.samples, 1, 1};
  }

  template <class C, class N>
  static void forward(C& ctx, weights<N> w, const input& batch, view<typename N::stream, out> y,
                      saved<N>& s) {
    using value = typename N::value;
    const sequences seq = rows(batch), each = seq.pooled();
    const isize mark = ctx.memory.mark();
    const auto cut = take_patches<value>(ctx, seq);
    const auto time = ctx.memory.template take_rows<value, times>(seq.samples);
    const auto after = ctx.memory.template take_rows<value, out>(seq.samples);
    const auto known = ctx.memory.template take_rows<typename N::stream, out>(seq.samples);
    cut_noised(ctx, seq, batch, cut);
    linear_forward(ctx, seq, cut, project::weight(w.data), project::bias(w.data), y);
    sine_position_forward(ctx, seq, Config.geometry(1), y);
    time_features(ctx, each, batch.draws, time);
    told_classes(ctx, each, batch.draws, batch.classes, Config.classes, Config.forgotten, s.told.data);
    linear_forward(ctx, each, time, up::weight(w.data + up_at), up::bias(w.data + up_at), activation::silu,
                   s.pre, after);
    token_forward(ctx, each, s.told.data, 0, table(w.data), known);
    linear_forward(ctx, each, after, down::weight(w.data + down_at), down::bias(w.data + down_at), known,
                   conditions_of(y, seq));
    release(ctx, mark);
  }
  // Pictures need no gradient, so the input part only prepares the weight part.
  template <class C, class N, class DY>
  static void backward_input(C& ctx, weights<N> w, const input& batch, view<DY, out> dy, saved<N>& s) {
    using value = typename N::value;
    const sequences seq = rows(batch), each = seq.pooled();
    s.patches = take_patches<value>(ctx, seq);
    s.time = ctx.memory.template take_rows<value, times>(seq.samples);
    s.after = ctx.memory.template take_rows<value, out>(seq.samples);
    s.d_pre = ctx.memory.template take_rows<value, out>(seq.samples);
    cut_noised(ctx, seq, batch, s.patches);
    time_features(ctx, each, batch.draws, s.time);
    linear_backward_input(ctx, each, conditions_of(dy, seq), down::weight(w.data + down_at), activation::silu,
                          s.pre, s.after, s.d_pre);
  }
  template <class C, class N, class DY>
  static void backward_weight(C& ctx, weights<N>, const input& batch, view<DY, out> dy, saved<N>& s,
                              gradients<N> g) {
    const sequences seq = rows(batch);
    const matrix<DY> of_conditions = conditions_of(dy, seq);
    // The condition's row of `patches` is zero and adds nothing to the weight, but its gradient must not
    // reach the bias.
    linear_backward_weight(ctx, s.patches, dy, project::weight(g.data), nullptr);
    class_token_backward_bias(ctx, seq, dy, project::bias(g.data));
    linear_backward_weight(ctx, s.time, s.d_pre, up::weight(g.data + up_at), up::bias(g.data + up_at));
    linear_backward_weight(ctx, s.after, of_conditions, down::weight(g.data + down_at),
                           down::bias(g.data + down_at));
    token_backward_weight(ctx, s.told.data, 0, of_conditions, table(g.data));
  }

 private:
  template <class V, class C>
  static matrix<V> take_patches(C& ctx, const sequences& seq) {
    constexpr isize width = round_up(numbers, C::template product_columns<V>);
    return {ctx.memory.template take<V>(seq.rows() * width), seq.rows(), width, width};
  }
  template <class C, class V>
  static void cut_noised(C& ctx, const sequences& seq, const input& batch, matrix<V> y) {
    static_assert(
        requires { mix_noise(ctx, seq, batch.draws, isize{1}, isize{1}, noise_mix::noised, y); },
        "motet: this device has no operations for nets that draw [MT-N20]");
    cut_patches<Config.channels>(ctx, seq, Config.geometry(1), batch, y);
    if (!batch.draws.given()) mix_noise(ctx, seq, batch.draws, 1, numbers, noise_mix::noised, y);
  }
  template <class M>
  static matrix<M> table(M* data) {
    return {data + table_at, table_rows, out, out};
  }
};

}  // namespace motet
