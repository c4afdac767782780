// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/rules.hpp>
#include <motet/nn/layers/pictured_tokens.hpp>
#include <motet/nn/towers/decoder.hpp>
#include <motet/nn/towers/picture_rows.hpp>

namespace motet {

// Rows of text in which pictures have places: `Eye` makes rows of pictures, `Glue` takes them to the width of
// the text. A module with parts of its own: each tells its gradients when they are complete.
template <class Eye, class Glue, token_config Words>
struct pictured_embedding {
  using input = pictured_tokens;
  using eye = Eye;
  using glue = Glue;
  using words = token_embedding<Words>;
  static constexpr isize out = words::out;
  static_assert(require < Eye::out == Glue::in
                    ? verdict{}
                    : verdict{reason::widths_do_not_chain, 0, Glue::in, Eye::out} >);
  static_assert(require < Glue::out == out ? verdict{}
                                           : verdict{reason::widths_do_not_chain, 1, out, Glue::out} >);
  static_assert(layer::size<Eye>({2, 0}) == Eye::parameter_size &&
                    layer::size<Glue>({2, 0}) == Glue::parameter_size,
                "motet: tensor parallelism cuts the words of a pictured embedding, not its eye and glue");
  static constexpr isize glue_at = Eye::parameter_size, words_at = glue_at + Glue::parameter_size;
  static constexpr isize table_at = words_at + words::table_at;
  static constexpr isize parameter_size = words_at + words::parameter_size;
  static constexpr isize size(tensor_cut cut) { return words_at + words::size(cut); }

  // It has the same parameters, and reads the tokens that follow pictures and words.
  struct text_embedding {
    using input = tokens;
    static constexpr isize out = words::out, parameter_size = pictured_embedding::parameter_size;
    static constexpr isize table_at = pictured_embedding::table_at;
    static void parameters(parameter_list& list) { pictured_embedding::parameters(list); }
    static sequences rows(const input& batch) { return words::rows(batch); }
    template <class N>
    using saved = typename words::template saved<N>;
    template <class N, class C>
    static void reserve(C& ctx, const sequences& seq, saved<N>& s, tensor_cut cut = {}) {
      layer::reserve<words, N>(ctx, seq, s, cut);
    }
    template <class C, class N>
    static void forward(C& ctx, weights<N> w, const input& batch, view<typename N::stream, out> y,
                        saved<N>& s) {
      words::forward(ctx, of_words(w), batch, y, s);
    }
  };

  static void parameters(parameter_list& list) {
    list.child<Eye>("eye");
    list.child<Glue>("glue");
    list.part<words>();
  }
  static std::vector<isize> gradient_sizes(tensor_cut cut) {
    std::vector<isize> sizes;
    Eye::gradient_sizes(sizes);
    if constexpr (has_parameters<Glue>) sizes.push_back(Glue::parameter_size);
    sizes.push_back(words::size(cut));
    return sizes;
  }
  static sequences rows(const input& batch) { return words::rows(batch); }

  template <class N>
  struct saved {
    typename Eye::template saved<N> kept_eye;
    typename Glue::template saved<N> kept_glue;
    typename words::template saved<N> kept_words;
    view<typename N::value, Eye::out> seen;  // (rows of pictures, width of the eye)
    // These are there between the two parts of backward: gradients of the rows that have places, and of
    // `seen`.
    view<typename N::stream, out> d_placed;
    view<typename N::value, Eye::out> d_seen;
  };
  template <class N, class C>
  static void reserve(C& ctx, const input& batch, saved<N>& s, tensor_cut cut = {}) {
    const sequences seq = Eye::rows(batch.seen);
    Eye::template reserve<N>(ctx, seq, s.kept_eye);
    s.seen = ctx.memory.template take_rows<typename N::value, Eye::out>(seq.rows());
    Glue::template reserve<N>(ctx, seq, s.kept_glue);
    layer::reserve<words, N>(ctx, batch.seq, s.kept_words, cut);
  }

  template <class C, class N>
  static void forward(C& ctx, weights<N> w, const input& batch, view<typename N::stream, out> y,
                      saved<N>& s) {
    const isize mark = ctx.memory.mark();
    Eye::forward(ctx, of_eye(w), batch.seen, s.seen, s.kept_eye);
    const auto placed = ctx.memory.template take_rows<typename N::stream, out>(s.seen.rows);
    Glue::forward(ctx, of_glue(w), Eye::rows(batch.seen), s.seen, placed, s.kept_glue);
    words::forward(ctx, of_words(w), batch, y, s.kept_words);
    place(ctx, batch, placed, y);
    release(ctx, mark);
  }
  template <class C, class N>
  static void infer(C& ctx, weights<N> w, const input& batch, view<typename N::stream, out> y) {
    const sequences seq = Eye::rows(batch.seen);
    const isize mark = ctx.memory.mark();
    const auto placed = ctx.memory.template take_rows<typename N::stream, out>(seq.rows());
    const auto seen = ctx.memory.template take_rows<typename N::value, Eye::out>(seq.rows());
    // Rows of pictures stand before no others.
    run_apart(ctx, [&](auto& apart) {
      Eye::infer(apart, of_eye(w), batch.seen, seen);
      layer::infer<Glue>(apart, of_glue(w), seq, seen, placed);
    });
    typename words::template saved<N> s;
    layer::reserve<words, N>(ctx, batch.seq, s, w.cut);
    words::forward(ctx, of_words(w), batch, y, s);
    place(ctx, batch, placed, y);
    release(ctx, mark);
  }

  // Both parts, layer by layer, the last ones first.
  template <class C, class N, class DY>
  static void backward(C& ctx, weights<N> w, const input& batch, view<DY, out> dy, saved<N>& s,
                       gradients<N> g) {
    const sequences seq = Eye::rows(batch.seen);
    const isize mark = ctx.memory.mark();
    synchronize(ctx);
    words_weight(ctx, w, batch, dy, s, g);
    take_gradients(ctx, batch, dy, s);
    layer::collect<Glue>(ctx, of_glue(g), [&](gradients<N> own) {
      layer::backward<Glue>(ctx, of_glue(w), seq, s.seen, s.d_placed, s.d_seen, s.kept_glue, own);
    });
    Eye::backward(ctx, of_eye(w), batch.seen, s.d_seen, s.kept_eye, of_eye(g));
    release(ctx, mark);
  }
  template <class C, class N, class DY>
  static void backward_input(C& ctx, weights<N> w, const input& batch, view<DY, out> dy, saved<N>& s) {
    synchronize(ctx);
    take_gradients(ctx, batch, dy, s);
    Glue::backward_input(ctx, of_glue(w), Eye::rows(batch.seen), s.seen, s.d_placed, s.d_seen, s.kept_glue);
    Eye::backward_input(ctx, of_eye(w), batch.seen, s.d_seen, s.kept_eye);
  }
  template <class C, class N, class DY>
  static void backward_weight(C& ctx, weights<N> w, const input& batch, view<DY, out> dy, saved<N>& s,
                              gradients<N> g) {
    words_weight(ctx, w, batch, dy, s, g);
    layer::collect<Glue>(ctx, of_glue(g), [&](gradients<N> own) {
      layer::backward_weight<Glue>(ctx, of_glue(w), Eye::rows(batch.seen), s.seen, s.d_placed, s.kept_glue,
                                   own);
    });
    Eye::backward_weight(ctx, of_eye(w), batch.seen, s.d_seen, s.kept_eye, of_eye(g));
  }

 private:
  // Weights or gradients.
  template <class W>
  static constexpr W of_eye(W w) {
    return {w.data, tensor_cut{}};
  }
  template <class W>
  static constexpr W of_glue(W w) {
    return {w.data + glue_at, tensor_cut{}};
  }
  template <class W>
  static constexpr W of_words(W w) {
    return layer::part<words>(w, words_at);
  }
  // Rows of pictures and rows of text belong to different threads.
  template <class C, class X, class Y>
  static void place(C& ctx, const input& batch, X placed, Y y) {
    synchronize(ctx);
    add_rows_at(ctx, Eye::rows(batch.seen), batch.places, placed, y);
    synchronize(ctx);
  }
  // The gradient of a row that has no place is zero.
  template <class C, class N, class DY>
  static void take_gradients(C& ctx, const input& batch, view<DY, out> dy, saved<N>& s) {
    const sequences seq = Eye::rows(batch.seen);
    s.d_placed = ctx.memory.template take_rows<typename N::stream, out>(seq.rows());
    s.d_seen = ctx.memory.template take_rows<typename N::value, Eye::out>(seq.rows());
    token_forward(ctx, seq, batch.places, 0, dy, s.d_placed);
  }
  template <class C, class N, class DY>
  static void words_weight(C& ctx, weights<N> w, const input& batch, view<DY, out> dy, saved<N>& s,
                           gradients<N> g) {
    layer::collect<words>(ctx, of_words(g), [&](gradients<N> own) {
      words::backward_weight(ctx, of_words(w), batch, dy, s.kept_words, own);
    });
  }
};

// A projector takes rows of pictures to the width of text: two products with an activation between them, as
// LLaVA has it.
template <isize In, isize Out, isize Hidden = Out, activation Act = activation::gelu>
using projector = sequential<named<"up", linear<In, Hidden, true, Act>>, named<"down", linear<Hidden, Out>>>;

// A language model that sees: a decoder whose samples have pictures among their tokens. Eye and glue learn
// with it; they are held by whoever holds its first stage.
// Asks for: samples of at most `context` rows with those of their pictures, and of at most `Pictures`
// pictures.
// Memory: that of the decoder, of the eye, and two rows for each row of a picture.
// Errors: MT-N01, MT-N02, MT-N03, MT-N04, MT-N05, MT-N06, MT-N16, MT-N27
// Example:
//   using eye = picture_rows<vit_config{.image = 32, .patch = 8, .width = 32, .layers = 2, .heads = 2}>;
//   constexpr decoder_config words{.vocabulary = 300, .context = 64, .width = 64, .layers = 2, .heads = 4};
//   using say = seeing_decoder<eye, projector<32, 64>, words>;
//   static_assert(say::most_pictures == 1);
template <class Eye, class Glue, decoder_config Config, isize Pictures = 1>
struct seeing_decoder
    : tower<pictured_embedding<Eye, Glue, Config.tokens()>, Config.tower(), detail::decoder_tail<Config>> {
  static_assert(require<check(Config)>);
  static_assert(require < Config.adapters.any() ? verdict{reason::adapters_do_not_fit, 4, 1, 0}
                                                : verdict{} >);
  static_assert(Pictures > 0, "motet: sizes of a net must be positive [MT-N04]");
  static constexpr decoder_config config = Config;
  static constexpr bool own_loss = true;
  static constexpr isize most_pictures = Pictures;
  using eye = Eye;

  // This is the net with its weights, but its features are the logits of all rows: (rows, vocabulary).
  using logits = tower<pictured_embedding<Eye, Glue, Config.tokens()>, Config.tower(),
                       logits_tail<detail::decoder_norm<Config>, Config.vocabulary, Config.tied>>;
};

}  // namespace motet
