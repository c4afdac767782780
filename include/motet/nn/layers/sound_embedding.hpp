// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/rules.hpp>
#include <motet/nn/layers/linear.hpp>
#include <motet/nn/layers/several.hpp>

namespace motet {

// A sound is so many frames of so many numbers each: what is heard in its bins, say on a log-mel scale.
struct frame_config {
  isize bins = 80;
  isize frames = 3000;  // of each sound, 10 ms apart for Whisper
  isize width = 0;

  // The second convolution leaves every other one.
  constexpr isize rows() const { return row_windows{frames, 2}.rows(); }
};

constexpr verdict check(const frame_config& c) {
  if (const verdict found = at_least(1, {c.bins, c.frames, c.width}); !found.ok()) return found;
  if (c.width < 4 || c.width % 2 != 0)
    return {reason::time_width, 1, c.width, c.width < 4 ? isize{4} : c.width + 1};
  return {};
}

// A batch of sounds of one length: (samples x frames, bins).
struct sounds {
  const float* features = nullptr;
  isize samples = 0;
};

using heard_sounds = several<sounds>;

// Sounds to rows, as Whisper does it (Radford et al., ICML'23): two convolutions along time over three
// neighbours each, the second of which leaves every other row, both as products over gathered rows; GELU
// behind each; and fixed sine positions.
// Asks for: sounds of `frames` frames; shorter ones end in what silence is on their scale.
// Memory: (frames, width) and (rows, width) before the activations; backward gathers neighbours again.
// Errors: MT-N04, MT-N15
// Example:
//   using embed = sound_embedding<frame_config{.bins = 80, .frames = 3000, .width = 384}>;
//   static_assert(embed::out == 384 && frame_config{.frames = 3000, .width = 384}.rows() == 1500);
template <frame_config Config>
struct sound_embedding {
  static_assert(require<check(Config)>);
  using input = sounds;
  static constexpr isize out = Config.width, taps = row_windows::taps;
  static constexpr activation act = activation::gelu;
  using first = linear<taps * Config.bins, out>;
  using second = linear<taps * out, out>;
  static constexpr isize second_at = first::parameter_size;
  static constexpr isize parameter_size = second_at + second::parameter_size;

  static void parameters(parameter_list& list) {
    list.child<first>("first");
    list.child<second>("second");
  }
  static sequences rows(const input& batch) { return {batch.samples, Config.rows(), nullptr}; }

  template <class N>
  struct saved {
    view<typename N::value, out> pre_frames;  // (samples x frames, width), before the first activation
    view<typename N::value, out> pre;         // (rows, width), before the second
    // What both products read, and gradients before the activations, are kept between the two parts of
    // backward.
    matrix<typename N::value> windows_of_input, windows;
    view<typename N::value, out> d_pre_frames, d_pre;
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    s.pre_frames = ctx.memory.template take_rows<typename N::value, out>(frames_of(seq).rows());
    s.pre = ctx.memory.template take_rows<typename N::value, out>(seq.rows());
  }

  template <class C, class N>
  static void forward(C& ctx, weights<N> w, const input& batch, view<typename N::stream, out> y,
                      saved<N>& s) {
    using value = typename N::value;
    const sequences seq = rows(batch), frames = frames_of(seq);
    const weights<N> w2 = w + second_at;
    const isize mark = ctx.memory.mark();
    const auto heard = ctx.memory.template take_rows<value, out>(frames.rows());
    {
      const isize windows_mark = ctx.memory.mark();
      const auto near = take_windows<value>(ctx, frames, Config.bins);
      windows_forward(ctx, frames, every_frame, features(batch), near);
      linear_forward(ctx, frames, near, first::weight(w.data), first::bias(w.data), act, s.pre_frames, heard);
      release(ctx, windows_mark);
    }
    const auto near = take_windows<value>(ctx, seq, out);
    windows_forward(ctx, seq, every_other, heard, near);
    linear_forward(ctx, seq, near, second::weight(w2.data), second::bias(w2.data), act, s.pre, y);
    time_position_forward(ctx, seq, y);
    release(ctx, mark);
  }
  // Sounds need no gradient, so the input part only prepares the weight part.
  template <class C, class N, class DY>
  static void backward_input(C& ctx, weights<N> w, const input& batch, view<DY, out> dy, saved<N>& s) {
    using value = typename N::value;
    const sequences seq = rows(batch), frames = frames_of(seq);
    s.d_pre = ctx.memory.template take_rows<value, out>(seq.rows());
    s.d_pre_frames = ctx.memory.template take_rows<value, out>(frames.rows());
    s.windows = take_windows<value>(ctx, seq, out);
    s.windows_of_input = take_windows<value>(ctx, frames, Config.bins);
    windows_forward(ctx, frames, every_frame, features(batch), s.windows_of_input);
    activation_backward(ctx, seq, act, s.pre, dy, s.d_pre);
    const isize mark = ctx.memory.mark();
    const auto heard = ctx.memory.template take_rows<value, out>(frames.rows());
    activation_forward(ctx, frames, act, s.pre_frames, heard);
    windows_forward(ctx, seq, every_other, heard, s.windows);
    const auto d_near = ctx.memory.template take_rows<value, taps * out>(seq.rows());
    linear_backward_input(ctx, seq, s.d_pre, second::weight((w + second_at).data), d_near);
    windows_backward(ctx, frames, every_other, d_near, s.d_pre_frames);
    activation_backward(ctx, frames, act, s.pre_frames, s.d_pre_frames, s.d_pre_frames);
    release(ctx, mark);
  }
  template <class C, class N, class DY>
  static void backward_weight(C& ctx, weights<N>, const input&, view<DY, out>, saved<N>& s, gradients<N> g) {
    const gradients<N> g2 = g + second_at;
    linear_backward_weight(ctx, s.windows_of_input, s.d_pre_frames, first::weight(g.data),
                           first::bias(g.data));
    linear_backward_weight(ctx, s.windows, s.d_pre, second::weight(g2.data), second::bias(g2.data));
  }

 private:
  static constexpr row_windows every_frame{Config.frames, 1}, every_other{Config.frames, 2};
  // The same samples, so that a thread has the same ones of both.
  static sequences frames_of(const sequences& seq) { return {seq.samples, Config.frames, nullptr}; }
  static matrix<const float> features(const input& batch) {
    return {batch.features, batch.samples * Config.frames, Config.bins, Config.bins};
  }
  // (rows, three times the width and what pads it)
  template <class V, class C>
  static matrix<V> take_windows(C& ctx, const sequences& seq, isize width) {
    const isize columns = round_up(taps * width, C::template product_columns<V>);
    return {ctx.memory.template take<V>(seq.rows() * columns), seq.rows(), columns, columns};
  }
};

}  // namespace motet
