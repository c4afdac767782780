// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/cross_attention.hpp>
#include <motet/nn/towers/decoder.hpp>

namespace motet {

namespace detail {

// Tokens as they are embedded without rows beside them, which are for the blocks. These find them in the
// sequences, by the batch, which outlives them.
template <class Words>
struct embedding_beside : Words {
  using input = tokens_beside;
  using text_embedding = embedding_beside;  // tokens that follow look at the same rows
  static sequences rows(const input& batch) {
    sequences seq = batch.seq;
    seq.beside = &batch;
    return seq;
  }
};

// Its backward comes before that of all blocks, which add to the gradients of rows beside.
template <class Tail, isize Beside>
struct tail_beside : Tail {
  template <class C, class N, class Rows, class X, class DY, class DX, class Saved>
  static void backward(C& ctx, weights<N> w, const Rows& seq, X x, DY dy, DX dx, Saved& s, gradients<N> g) {
    forget_beside<N, Beside>(ctx, seq);
    Tail::backward(ctx, w, seq, x, dy, dx, s, g);
  }
  template <class C, class N, class Rows, class X, class DY, class DX, class Saved>
  static void backward_input(C& ctx, weights<N> w, const Rows& seq, X x, DY dy, DX dx, Saved& s) {
    forget_beside<N, Beside>(ctx, seq);
    Tail::backward_input(ctx, w, seq, x, dy, dx, s);
  }
};

template <decoder_config Config, isize Beside, isize Every, bool Gated>
inline constexpr tower_config tower_beside = [] {
  tower_config c = Config.tower();
  c.beside = Beside;
  c.beside_every = Every;
  c.beside_gated = Gated;
  return c;
}();

}  // namespace detail

// A language model whose blocks also look at rows of another module (cross-attention, as Whisper's decoder
// has it): behind attention to the words before it, each word attends to all rows, of `Beside` columns, that
// enter its sample. These have no places among the words. A sample without any hears nothing and is learned
// from as the others are. `Rows`: the most of a sample. `Every`: only the last of every so many blocks looks,
// and so many are one for stages and for what backward makes again; as Flamingo and Llama's vision models
// have it. `Gated`: what a block sees passes a gate that begins closed, so the net begins as the decoder
// without.
// Asks for: samples of at most `context` tokens, and a target where something is asked; an edge of the model
// that brings rows as wide as `Beside`; whole samples.
// Memory: that of decoder; of each block what cross_attention keeps.
// Errors: MT-N01, MT-N03, MT-N04, MT-N06, MT-N16, MT-N17, MT-N24, MT-N25, MT-N27, MT-N30,
// MT-N31
// Example:
//   using say = cross_decoder<decoder_config{.vocabulary = 512, .context = 64, .width = 64, .layers = 2, .heads = 4},
//                             48, 100>;
//   static_assert(say::takes_rows == 48 && say::most_rows == 100 && say::own_loss);
template <decoder_config Config, isize Beside, isize Rows, isize Every = 1, bool Gated = false>
struct cross_decoder : tower<detail::embedding_beside<token_embedding<Config.tokens()>>,
                             detail::tower_beside<Config, Beside, Every, Gated>,
                             detail::tail_beside<detail::decoder_tail<Config>, Beside>> {
  static_assert(require<check(Config)>);
  static_assert(require<check(detail::tower_beside<Config, Beside, Every, Gated>)>);
  static_assert(Beside > 0 && Rows > 0, "motet: sizes of a net must be positive [MT-N04]");
  static constexpr decoder_config config = Config;
  static constexpr bool own_loss = true;
  static constexpr isize takes_rows = Beside, most_rows = Rows, looks_every = Every;
  static constexpr bool looks_gated = Gated;

  // This is the net with its weights, but its features are the logits of all rows: (rows, vocabulary).
  using logits = tower<detail::embedding_beside<token_embedding<Config.tokens()>>,
                       detail::tower_beside<Config, Beside, Every, Gated>,
                       logits_tail<detail::decoder_norm<Config>, Config.vocabulary, Config.tied>>;
};

}  // namespace motet
