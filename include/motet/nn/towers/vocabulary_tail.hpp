// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/linear.hpp>
#include <motet/nn/layers/token_embedding.hpp>
#include <motet/nn/towers/picked.hpp>

#include <algorithm>

namespace motet {

// The rows of a batch of text, with what is to follow each.
struct labelled_rows : sequences {
  const std::int32_t* targets = nullptr;
  double share = 1;  // see labelled_tokens
};

// The end of a language model: a norm, and a product that makes a logit for each token of the vocabulary.
// Tied, the matrix of the product is the embedding's table of tokens.
template <class Norm, isize Vocabulary, bool Tied = false>
struct vocabulary_product {
  using product = linear<Norm::out, Vocabulary, false>;
  static constexpr isize in = Norm::in, product_at = Norm::parameter_size;
  static constexpr isize parameter_size = product_at + (Tied ? 0 : product::parameter_size);
  static void parameters(parameter_list& list) {
    list.child<Norm>("norm");
    if constexpr (!Tied) list.child<product>("head");
  }
  // The matrix is that of weights, or of gradients.
  template <class W>
  static auto matrix_of(W w) {
    if constexpr (Tied) return product::weight(w.lent);
    else return product::weight(w.data + product_at);
  }
};

// A language model's last layer and its loss. Each sample loses the surprise at its targets, which is the sum
// of -log(probability), and of z losses if it has such, times the share of one target. So features of all
// samples sum to the loss of the step. Logits exist for some rows at a time: forward keeps no more than the
// normed rows, and backward makes logits again.
// Asks for: rows with targets below Vocabulary; a negative target asks for nothing.
// Memory: what the norm keeps, and (rows, width) behind it; logits of some rows at a time.
// Errors: MT-N04
// Example:
//   #include <motet/nn/layers/norm.hpp>
//   using end = next_token_tail<norm<64>, 1024>;
//   static_assert(end::out == 1 && end::in == 64);
template <class Norm, isize Vocabulary, z_loss Z = z_loss{}, bool Tied = false>
struct next_token_tail {
  static_assert(Vocabulary > 0, "motet: sizes of a net must be positive [MT-N04]");
  using head = vocabulary_product<Norm, Vocabulary, Tied>;
  static constexpr bool reads_table = Tied;
  static constexpr isize in = Norm::in, out = 1;
  static constexpr isize parameter_size = head::parameter_size;
  static void parameters(parameter_list& list) { head::parameters(list); }
  static labelled_rows rows_of(const labelled_tokens& batch, const sequences& samples) {
    return {samples, batch.targets, batch.share};
  }

  template <class N>
  struct saved {
    typename Norm::template saved<N> norm;
    view<typename N::value, in> normed;  // (rows, width)
    // between the two parts of backward: (rows, 1), the slopes of the losses, and (rows, width)
    view<typename N::master, 1> slopes;
    view<typename N::value, in> d_normed;
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    Norm::template reserve<N>(ctx, seq, s.norm);
    s.normed = ctx.memory.template take_rows<typename N::value, in>(seq.rows());
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const labelled_rows& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    const isize mark = ctx.memory.mark();
    Norm::forward(ctx, w, seq, x, s.normed, s.norm);
    lose(ctx, w, seq, s, y);
    release(ctx, mark);
  }
  template <class C, class N, class X, class Y>
  static void infer(C& ctx, weights<N> w, const labelled_rows& seq, view<X, in> x, view<Y, out> y) {
    const isize mark = ctx.memory.mark();
    saved<N> s;
    reserve<N>(ctx, seq, s);
    forward(ctx, w, seq, x, y, s);
    release(ctx, mark);
  }
  // Logits are made again once for both parts.
  template <class C, class N, class X, class DY, class DX>
  static void backward(C& ctx, weights<N> w, const labelled_rows& seq, view<X, in> x, view<DY, out> dy,
                       view<DX, in> dx, saved<N>& s, gradients<N> g) {
    const isize mark = ctx.memory.mark();
    begin_backward(ctx, seq, dy, s);
    through_logits<N>(ctx, w, seq, s, [&](const sequences& rows, isize first, auto d_logits) {
      pull(ctx, w, rows, first, d_logits, s);
      synchronize(ctx);
      linear_backward_weight(ctx, s.normed.slice(first, rows.samples), d_logits, head::matrix_of(g), nullptr);
    });
    const view<const typename N::value, in> d_normed = s.d_normed;
    layer::backward<Norm>(ctx, w, seq, x, d_normed, dx, s.norm, g);
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const labelled_rows& seq, view<X, in> x, view<DY, out> dy,
                             view<DX, in> dx, saved<N>& s) {
    Norm::reserve_backward(ctx, seq, s.norm);
    begin_backward(ctx, seq, dy, s);
    through_logits<N>(ctx, w, seq, s, [&](const sequences& rows, isize first, auto d_logits) {
      pull(ctx, w, rows, first, d_logits, s);
    });
    Norm::backward_rows(ctx, w, seq, x, s.d_normed, matrix<const DX>{}, dx, {}, {}, s.norm);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, const labelled_rows& seq, view<X, in> x, view<DY, out>,
                              saved<N>& s, gradients<N> g) {
    through_logits<N>(ctx, w, seq, s, [&](const sequences& rows, isize first, auto d_logits) {
      synchronize(ctx);
      linear_backward_weight(ctx, s.normed.slice(first, rows.samples), d_logits, head::matrix_of(g), nullptr);
    });
    Norm::backward_weight(ctx, w, seq, x, s.d_normed, s.norm, g);
  }

 private:
  // There are few, so that logits take little memory, and enough for products of full speed.
  static constexpr isize rows_at_once = std::clamp<isize>((isize{1} << 22) / Vocabulary, 128, 4096);

  // at(rows, first): each row is a sample of its own, so that threads share them evenly. Rows change hands.
  template <class C, class At>
  static void each_piece(C& ctx, isize rows, At&& at) {
    for (isize first = 0; first < rows; first += rows_at_once) {
      synchronize(ctx);
      at(sequences{std::min(rows_at_once, rows - first), 1, nullptr}, first);
    }
    synchronize(ctx);
  }
  template <class N, class C>
  static auto take_logits(C& ctx, isize rows) {
    return ctx.memory.template take_rows<typename N::master, Vocabulary>(std::min(rows_at_once, rows));
  }
  static const std::int32_t* targets_from(const labelled_rows& seq, isize first) {
    return seq.targets == nullptr ? nullptr : seq.targets + first;
  }

  template <class C, class N, class Y>
  static void lose(C& ctx, weights<N> w, const labelled_rows& seq, const saved<N>& s, view<Y, out> y) {
    const auto section = enter(ctx, "vocabulary");
    const auto losses = ctx.memory.template take_rows<typename N::master, 1>(seq.rows());
    const auto logits = take_logits<N>(ctx, seq.rows());
    each_piece(ctx, seq.rows(), [&](const sequences& rows, isize first) {
      const auto some = logits.slice(0, rows.samples);
      linear_forward(ctx, rows, s.normed.slice(first, rows.samples), head::matrix_of(w), nullptr, some);
      token_losses(ctx, rows, some, targets_from(seq, first), Z, losses.slice(first, rows.samples));
    });
    sum_forward(ctx, seq, seq.share, losses, y);
    hand_over(ctx, seq);
  }
  template <class C, class N, class DY>
  static void begin_backward(C& ctx, const labelled_rows& seq, view<DY, out> dy, saved<N>& s) {
    s.slopes = ctx.memory.template take_rows<typename N::master, 1>(seq.rows());
    s.d_normed = ctx.memory.template take_rows<typename N::value, in>(seq.rows());
    hand_over(ctx, seq);
    sum_backward(ctx, seq, seq.share, dy, s.slopes);
  }
  // use(rows, first, gradient of the logits of these rows)
  template <class N, class C, class Use>
  static void through_logits(C& ctx, weights<N> w, const labelled_rows& seq, const saved<N>& s, Use&& use) {
    const auto section = enter(ctx, "vocabulary");
    using value = typename N::value;
    const isize mark = ctx.memory.mark();
    const auto logits = take_logits<N>(ctx, seq.rows());
    const auto apart = [&] {
      if constexpr (std::is_same_v<value, typename N::master>) return logits;
      else return ctx.memory.template take_rows<value, Vocabulary>(std::min(rows_at_once, seq.rows()));
    }();
    each_piece(ctx, seq.rows(), [&](const sequences& rows, isize first) {
      const auto some = logits.slice(0, rows.samples);
      const auto d_logits = apart.slice(0, rows.samples);
      linear_forward(ctx, rows, s.normed.slice(first, rows.samples), head::matrix_of(w), nullptr, some);
      token_slopes(ctx, rows, some, targets_from(seq, first), Z, s.slopes.slice(first, rows.samples),
                   d_logits);
      use(rows, first, d_logits);
    });
    release(ctx, mark);
  }
  template <class C, class N, class D>
  static void pull(C& ctx, weights<N> w, const sequences& rows, isize first, D d_logits, const saved<N>& s) {
    linear_backward_input(ctx, rows, d_logits, head::matrix_of(w), s.d_normed.slice(first, rows.samples));
  }
};

// The same layer without its loss: y has the logits of all rows.
template <class Norm, isize Vocabulary, bool Tied = false>
struct logits_tail {
  using head = vocabulary_product<Norm, Vocabulary, Tied>;
  static constexpr bool reads_table = Tied;
  static constexpr isize in = Norm::in, out = Vocabulary;
  static constexpr isize parameter_size = head::parameter_size;
  static void parameters(parameter_list& list) { head::parameters(list); }
  template <class N>
  struct saved {};

  template <class C, class N, class X, class Y>
  static void infer(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y) {
    const isize mark = ctx.memory.mark();
    const auto normed = ctx.memory.template take_rows<typename N::value, in>(seq.rows());
    layer::infer<Norm>(ctx, w, seq, x, normed);
    linear_forward(ctx, seq, normed, head::matrix_of(w), nullptr, y);
    release(ctx, mark);
  }
};

}  // namespace motet
