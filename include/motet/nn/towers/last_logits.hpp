// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/rules.hpp>
#include <motet/nn/towers/tower.hpp>
#include <motet/nn/towers/vocabulary_tail.hpp>

namespace motet {

// The end of a language model for the last row of each sample alone: what follows a text needs no logits of
// the text. Parameters are those of logits_tail.
template <class Norm, isize Vocabulary, bool Tied = false>
struct last_logits_tail {
  using head = vocabulary_product<Norm, Vocabulary, Tied>;
  static constexpr bool reads_table = Tied;
  static constexpr isize in = Norm::in, out = Vocabulary;
  static constexpr isize parameter_size = head::parameter_size;
  static void parameters(parameter_list& list) { head::parameters(list); }
  template <class N>
  struct saved {};

  // y has one row for each sample.
  template <class C, class N, class X, class Y>
  static void infer(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y) {
    const isize mark = ctx.memory.mark();
    const sequences picked = seq.pooled();
    const auto last = ctx.memory.template take_rows<typename N::stream, in>(seq.samples);
    const auto normed = ctx.memory.template take_rows<typename N::value, in>(seq.samples);
    hand_over(ctx, seq);
    pick_forward(ctx, seq, pick::last, x, last);
    hand_over(ctx, seq);
    layer::infer<Norm>(ctx, w, picked, last, normed);
    linear_forward(ctx, picked, normed, head::matrix_of(w), nullptr, y);
    release(ctx, mark);
  }
};

namespace detail {

// The tokens after a first input are read by the embedding itself where it takes tokens; else by what it
// calls text_embedding.
template <class E>
constexpr auto choose_text_embedding() {
  if constexpr (std::is_same_v<typename E::input, tokens>) {
    return std::type_identity<E>{};
  } else {
    static_assert(
        requires { typename E::text_embedding; },
        "motet: the embedding of a tower that is continued lacks text_embedding, which reads the tokens "
        "after "
        "its first input [MT-N11]");
    static_assert(E::text_embedding::parameter_size == E::parameter_size,
                  "motet: text_embedding must have the parameters of the embedding that names it [MT-N11]");
    return std::type_identity<typename E::text_embedding>{};
  }
}

template <class Tower>
struct continued_of;
template <class E, tower_config Config, class Norm, isize Vocabulary, bool Tied>
struct continued_of<tower<E, Config, logits_tail<Norm, Vocabulary, Tied>>> {
  static_assert(require < Config.attention.mask == mask_kind::causal ? verdict{}
                                                                     : verdict{reason::not_causal} >);
  static_assert(require < Config.adapters.any() ? verdict{reason::adapters_row_by_row} : verdict{} >);
  using tail = last_logits_tail<Norm, Vocabulary, Tied>;
  using first = tower<E, Config, tail>;
  using later = tower<typename decltype(choose_text_embedding<E>())::type, Config, tail>;
  static_assert(first::parameter_size == later::parameter_size,
                "motet: the first pass and the later ones read the same parameters");
  static constexpr isize vocabulary = Vocabulary, layers = Config.layers,
                         key_heads = Config.attention.keyed_heads(),
                         head_width = Config.attention.columns_of_head();
  // `later` may run rows that follow others where this holds.
  static constexpr verdict check_rows() {
    return Config.has_experts() && Config.mix.capacity != 0 ? verdict{reason::capacity_of_rows} : verdict{};
  }
};

}  // namespace detail

// A tower that makes the logits of all rows, such as decoder<...>::logits, gives the two with the same
// weights that make those of the last row: `first` of its own input, `later` of tokens that follow. An
// embedding whose input is more than tokens names a `text_embedding` of the same parameters, which takes
// tokens.
// Asks for: a causal tower; to go on row by row, experts whose capacity has no limit.
// Memory: one row for each sample besides its blocks'.
// Errors: MT-N11, MT-N13, MT-N14, MT-N18
// Example:
//   #include <motet/nn/towers/decoder.hpp>
//   constexpr decoder_config little{.vocabulary = 256, .context = 64, .width = 64, .layers = 2, .heads = 4};
//   using two = continued<decoder<little>::logits>;
//   static_assert(two::vocabulary == 256 && two::later::parameter_size == decoder<little>::parameter_size);
template <class Tower>
using continued = detail::continued_of<Tower>;

}  // namespace motet
