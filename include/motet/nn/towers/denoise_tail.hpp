// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/modulated_linear.hpp>
#include <motet/nn/layers/noised_pictures.hpp>

namespace motet {

// The rows of a batch of pictures, with the pictures and their noise.
struct noised_rows : sequences {
  drawn_pictures batch;
};

// The last layer of a net that draws, and its loss. It says of each number of a picture which way leads to
// noise; a picture loses the mean of the squares of what it is off, times its share of the step. So features
// of all samples sum to the loss of the step, the mean over all numbers of all pictures.
// Asks for: pictures as noised_pictures has them.
// Memory: what the last layer keeps, and how far each number is off: (rows, numbers of a patch).
// Errors: MT-N04
// Example:
//   using end = denoise_tail<noised_config{.image = 32, .patch = 4, .width = 64}>;
//   static_assert(end::out == 1 && end::in == 64);
template <noised_config Config>
struct denoise_tail {
  static constexpr isize in = Config.width, out = 1, numbers = Config.numbers();
  using last = modulated_linear<in, numbers>;
  static constexpr isize parameter_size = last::parameter_size;
  static void parameters(parameter_list& list) { list.child<last>("last"); }
  static noised_rows rows_of(const drawn_pictures& batch, const sequences& samples) {
    return {samples, batch};
  }

  template <class N>
  struct saved {
    typename last::template saved<N> kept_last;
    view<typename N::master, numbers> off;    // (rows, numbers)
    view<typename N::value, numbers> d_said;  // likewise, between the two parts of backward
  };
  template <class N, class C>
  static void reserve(C& ctx, const noised_rows& seq, saved<N>& s) {
    last::template reserve<N>(ctx, seq, s.kept_last);
    s.off = ctx.memory.template take_rows<typename N::master, numbers>(behind_conditions(seq).rows());
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const noised_rows& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    const sequences rows = behind_conditions(seq);
    const isize mark = ctx.memory.mark();
    const auto said = ctx.memory.template take_rows<typename N::master, numbers>(rows.rows());
    const auto wanted = ctx.memory.template take_rows<typename N::master, numbers>(rows.rows());
    last::forward(ctx, w, seq, x, said, s.kept_last);
    cut_patches<Config.channels>(ctx, rows, Config.geometry(0), seq.batch,
                                 matrix<typename N::master>(wanted));
    mix_noise(ctx, rows, seq.batch.draws, 0, numbers, noise_mix::velocity, wanted);
    squared_error_forward(ctx, rows, share_of_number(seq), said, wanted, s.off, y);
    release(ctx, mark);
  }
  template <class C, class N, class X, class Y>
  static void infer(C& ctx, weights<N> w, const noised_rows& seq, view<X, in> x, view<Y, out> y) {
    const isize mark = ctx.memory.mark();
    saved<N> s;
    reserve<N>(ctx, seq, s);
    forward(ctx, w, seq, x, y, s);
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward(C& ctx, weights<N> w, const noised_rows& seq, view<X, in> x, view<DY, out> dy,
                       view<DX, in> dx, saved<N>& s, gradients<N> g) {
    const isize mark = ctx.memory.mark();
    backward_input(ctx, w, seq, x, dy, dx, s);
    synchronize(ctx);
    backward_weight(ctx, w, seq, x, dy, s, g);
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const noised_rows& seq, view<X, in> x, view<DY, out> dy,
                             view<DX, in> dx, saved<N>& s) {
    const sequences rows = behind_conditions(seq);
    s.d_said = ctx.memory.template take_rows<typename N::value, numbers>(rows.rows());
    squared_error_backward(ctx, rows, share_of_number(seq), s.off, dy, s.d_said);
    last::backward_input(ctx, w, seq, x, s.d_said, dx, s.kept_last);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, const noised_rows& seq, view<X, in> x, view<DY, out>,
                              saved<N>& s, gradients<N> g) {
    last::backward_weight(ctx, w, seq, x, s.d_said, s.kept_last, g);
  }

 private:
  static double share_of_number(const noised_rows& seq) {
    return seq.batch.share / static_cast<double>(Config.patches() * numbers);
  }
};

// The same layer without its loss: y has what it says of each number, (pictures x patches, numbers of a
// patch).
template <noised_config Config>
struct velocity_tail {
  using last = modulated_linear<Config.width, Config.numbers()>;
  static constexpr isize in = Config.width, out = Config.numbers(), parameter_size = last::parameter_size;
  static void parameters(parameter_list& list) { list.child<last>("last"); }
  template <class N>
  struct saved {};

  template <class C, class N, class X, class Y>
  static void infer(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y) {
    layer::infer<last>(ctx, w, seq, x, y);
  }
};

}  // namespace motet
