// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/entering_rows.hpp>
#include <motet/nn/layers/noised_pictures.hpp>

namespace motet {

// Pictures that a net learns to draw from what another module makes of their samples: each has as many of its
// rows as were made for it, none where nothing is said of it.
struct fed_pictures : drawn_pictures {
  const isize* row_offsets = nullptr;  // samples + 1 entries, which rows are whose; none: there are none
  entering_rows entering{};

  sequences rows_that_enter(isize = 0) const { return {samples, 0, row_offsets}; }
  isize entering_count() const { return rows_that_enter().rows(); }
};

// Noised pictures whose condition hears other rows, too: the mean of those that enter its sample, of `Width`
// columns, goes through a product and is added. A sample without any hears nothing.
// Asks for: pictures as noised_pictures has them, and rows of another module.
// Memory: that of noised_pictures, and (pictures, Width).
// Errors: MT-N02, MT-N04, MT-N07, MT-N19, MT-N20
// Example:
//   using embed = fed_noised_pictures<noised_config{.image = 32, .patch = 4, .width = 64}, 128>;
//   static_assert(embed::out == 64 && embed::heard::in == 128);
template <noised_config Config, isize Width>
struct fed_noised_pictures : noised_pictures<Config> {
  using input = fed_pictures;
  using alone = noised_pictures<Config>;
  using alone::out;
  using heard = linear<Width, out, false>;
  static constexpr isize heard_at = alone::parameter_size;
  static constexpr isize parameter_size = heard_at + heard::parameter_size;

  static void parameters(parameter_list& list) {
    alone::parameters(list);
    list.child<heard>("heard");
  }

  template <class N>
  struct saved : alone::template saved<N> {
    view<typename N::value, Width> mean;  // (pictures, Width)
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    alone::template reserve<N>(ctx, seq, s);
    s.mean = ctx.memory.template take_rows<typename N::value, Width>(seq.samples);
  }

  template <class C, class N>
  static void forward(C& ctx, weights<N> w, const input& batch, view<typename N::stream, out> y,
                      saved<N>& s) {
    const sequences seq = alone::rows(batch), each = seq.pooled(), others = batch.rows_that_enter();
    mean_forward(ctx, others, rows_of<const typename N::stream>(batch, batch.entering.rows), s.mean);
    // Rows that enter and rows of pictures belong to different threads.
    synchronize(ctx);
    alone::forward(ctx, w, batch, y, s);
    const auto conditions = conditions_of(y, seq);
    linear_forward(ctx, each, s.mean, heard::weight(w.data + heard_at), nullptr, conditions, conditions);
  }
  template <class C, class N, class DY>
  static void backward_input(C& ctx, weights<N> w, const input& batch, view<DY, out> dy, saved<N>& s) {
    alone::backward_input(ctx, w, batch, dy, s);
    if (batch.entering.gradients == nullptr) return;
    const sequences seq = alone::rows(batch);
    const isize mark = ctx.memory.mark();
    const auto d_mean = ctx.memory.template take_rows<typename N::master, Width>(seq.samples);
    linear_backward_input(ctx, seq.pooled(), conditions_of(dy, seq), heard::weight(w.data + heard_at),
                          d_mean);
    synchronize(ctx);
    mean_backward(ctx, batch.rows_that_enter(), d_mean,
                  rows_of<typename N::stream>(batch, batch.entering.gradients));
    release(ctx, mark);
  }
  template <class C, class N, class DY>
  static void backward_weight(C& ctx, weights<N> w, const input& batch, view<DY, out> dy, saved<N>& s,
                              gradients<N> g) {
    alone::backward_weight(ctx, w, batch, dy, s, g);
    linear_backward_weight(ctx, s.mean, conditions_of(dy, alone::rows(batch)),
                           heard::weight(g.data + heard_at), nullptr);
  }

 private:
  template <class T, class From>
  static matrix<T> rows_of(const input& batch, From* from) {
    return {static_cast<T*>(from), batch.entering_count(), Width, Width};
  }
};

}  // namespace motet
