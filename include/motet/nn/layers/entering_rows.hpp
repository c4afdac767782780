// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/token_embedding.hpp>

namespace motet {

// Rows that come from other modules, where they lie, and where their gradients go: numbers of the type of
// N::stream, one row behind the other, module after module. Whoever runs the module sets both; gradients are
// none where nobody before it learns.
struct entering_rows {
  const void* rows = nullptr;
  void* gradients = nullptr;
};

// Rows of another module that stay beside those of a text: its blocks look at them, and none of them has a
// place in it. A sample may have none.
struct rows_beside {
  const isize* row_offsets = nullptr;  // samples + 1 entries, which rows are whose; none: there are none
  entering_rows entering{};
};
struct tokens_beside : labelled_tokens, rows_beside {
  sequences rows_that_enter(isize = 0) const { return {seq.samples, 0, row_offsets}; }
  isize entering_count() const { return rows_that_enter().rows(); }
};

// The input of a module that has rows of another, and nothing of its own.
struct through_rows {
  sequences seq;  // how many rows each sample has
  entering_rows entering{};

  sequences rows_that_enter(isize = 0) const { return seq; }
  isize entering_count() const { return seq.rows(); }
};

// Of text whose rows are cut between ranks, those of one of them: its words, and which of its rows each row
// takes that enters here, module after module. Nobody sends rows that are not read.
struct part_of_text {
  bool cut = false;  // else the rank has whole samples
  tokens words{};
  const std::int32_t* places = nullptr;
  isize entering = 0;
};

// Text in which rows of other modules have places: those rows have a negative id here. A sample has as many
// of them as were made for it, of each of the modules.
struct placed_tokens : labelled_tokens {
  // Which of a module's rows are whose: samples + 1 entries for each module; none where there are no rows.
  const isize* row_offsets = nullptr;
  // The row of the text that each of them takes, module after module; negative for one that nobody reads,
  // such as that of a class token.
  const std::int32_t* places = nullptr;
  entering_rows entering{};
  isize sources = 1;  // modules whose rows enter, in the order of the model's edges
  // What this rank embeds of samples that it shares with others; what is above is of those that it has whole.
  part_of_text part{};

  sequences rows_that_enter(isize source = 0) const {
    return {seq.samples, 0, row_offsets == nullptr ? nullptr : row_offsets + source * (seq.samples + 1)};
  }
  isize entering_count() const {
    if (part.cut) return part.entering;
    isize count = 0;
    for (isize k = 0; k < sources; ++k) count += rows_that_enter(k).rows();
    return count;
  }
  // The words that this rank embeds, and the places of the rows that enter it.
  tokens words_here() const { return part.cut ? part.words : *this; }
  const std::int32_t* places_here() const { return part.cut ? part.places : places; }
};

// Rows as Words makes them, and in the places of those of other modules, these. Where rows of samples are cut
// between ranks, each may embed its own: no word crosses to another, and rows that enter come to the rank
// that has their place.
template <class Words>
struct placed_among : Words {
  using input = placed_tokens;
  using words = Words;
  using text_embedding = Words;  // of tokens that follow
  using words::out;

  template <class C, class N>
  static void forward(C& ctx, weights<N> w, const input& batch, view<typename N::stream, out> y,
                      typename words::template saved<N>& s) {
    words::forward(ctx, w, batch.words_here(), y, s);
    // Rows that enter and rows of the text belong to different threads.
    synchronize(ctx);
    using stream = typename N::stream;
    const isize count = batch.entering_count();
    add_rows_at(ctx, sequences{count, 1, nullptr}, batch.places_here(),
                matrix<const stream>{static_cast<const stream*>(batch.entering.rows), count, out, out}, y);
    synchronize(ctx);
  }
  // The gradient of a row that nobody reads is zero.
  template <class C, class N, class DY>
  static void backward_input(C& ctx, weights<N>, const input& batch, view<DY, out> dy,
                             typename words::template saved<N>&) {
    if (batch.entering.gradients == nullptr) return;
    synchronize(ctx);
    using stream = typename N::stream;
    const isize count = batch.entering_count();
    token_forward(ctx, sequences{count, 1, nullptr}, batch.places_here(), 0, dy,
                  matrix<stream>{static_cast<stream*>(batch.entering.gradients), count, out, out});
  }
  template <class C, class N, class DY>
  static void backward_weight(C& ctx, weights<N> w, const input& batch, view<DY, out> dy,
                              typename words::template saved<N>& s, gradients<N> g) {
    words::backward_weight(ctx, w, batch.words_here(), dy, s, g);
  }
};

// Token ids to rows, and to those that have places the rows of other modules.
template <token_config Config>
struct placed_embedding : placed_among<token_embedding<Config>> {
  // Positions that are learned are numbered within whole samples.
  static constexpr bool embeds_parts = !Config.position;
};

// No token has a row: all that there is are the rows of other modules.
template <isize Width>
struct blank_rows {
  using input = tokens;
  static constexpr isize out = Width, parameter_size = 0;
  static void parameters(parameter_list&) {}
  static sequences rows(const input& batch) { return batch.seq; }
  template <class N>
  struct saved {};
  template <class N, class C>
  static void reserve(C&, const sequences&, saved<N>&) {}
  template <class C, class N>
  static void forward(C& ctx, weights<N>, const input& batch, view<typename N::stream, out> y, saved<N>&) {
    zero(ctx, batch.seq, y);
  }
  template <class C, class N, class DY>
  static void backward_weight(C&, weights<N>, const input&, view<DY, out>, saved<N>&, gradients<N>) {}
};
template <isize Width>
struct placed_rows : placed_among<blank_rows<Width>> {
  static constexpr bool embeds_parts = true;
};

}  // namespace motet
