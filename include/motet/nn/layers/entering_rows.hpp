// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/token_embedding.hpp>

namespace motet {

// Rows that come from another module, where they lie, and where their gradients go: numbers of the type of
// N::stream, one row behind the other. Whoever runs the module sets both; gradients are none where nobody
// before it learns.
struct entering_rows {
  const void* rows = nullptr;
  void* gradients = nullptr;
};

// The input of a module that has rows of another, and nothing of its own.
struct through_rows {
  sequences seq;  // how many rows each sample has
  entering_rows entering{};

  sequences rows_that_enter() const { return seq; }
};

// Text in which rows of another module have places: those rows have a negative id here. A sample has as many of
// them as were made for it.
struct placed_tokens : labelled_tokens {
  const index* row_offsets =
      nullptr;  // samples + 1 entries, which of the rows are whose; none: there are none
  // The row of the text that each of them takes; negative for one that nobody reads, such as that of a class
  // token.
  const std::int32_t* places = nullptr;
  entering_rows entering{};

  sequences rows_that_enter() const { return {seq.samples, 0, row_offsets}; }
};

// Token ids to rows, and to those that have places the rows of another module.
template <token_config Config>
struct placed_embedding : token_embedding<Config> {
  using input = placed_tokens;
  using words = token_embedding<Config>;
  using words::out;

  template <class C, class N>
  static void forward(C& ctx, weights<N> w, const input& batch, view<typename N::stream, out> y,
                      typename words::template saved<N>& s) {
    words::forward(ctx, w, batch, y, s);
    // Rows that enter and rows of the text belong to different threads.
    synchronize(ctx);
    using stream = typename N::stream;
    const index count = batch.rows_that_enter().rows();
    add_rows_at(ctx, sequences{count, 1, nullptr}, batch.places,
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
    const index count = batch.rows_that_enter().rows();
    token_forward(ctx, sequences{count, 1, nullptr}, batch.places, 0, dy,
                  matrix<stream>{static_cast<stream*>(batch.entering.gradients), count, out, out});
  }
};

}  // namespace motet
