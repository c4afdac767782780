// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/cut_rows.hpp>
#include <motet/nn/core/rules.hpp>

namespace motet {

struct token_config {
  isize vocabulary = 0;
  isize context = 0;  // the longest sample
  isize width = 0;
  bool position = true;  // learned positions; without them use rotary attention
  // tensor parallelism shares the rows of the table; else every member has all of it, and no rows move
  bool cut_vocabulary = false;
};

constexpr verdict check(const token_config& c) { return at_least(1, {c.vocabulary, c.context, c.width}); }

// A ragged batch of token ids: sample s holds ids[offsets[s] .. offsets[s + 1]). Nothing is padded. A
// negative id is no token; its row is zero until somebody adds to it.
struct tokens {
  const std::int32_t* ids = nullptr;
  sequences seq;
};

// Tokens may say what is to follow each of them: targets[row], negative where nothing is asked.
struct labelled_tokens : tokens {
  const std::int32_t* targets = nullptr;
  // of one target in the loss: one over the targets of the whole step, however ranks and microbatches share
  // it
  double share = 1;
};

// Token ids to rows: a row of a table for each, and learned positions on top. Tensor parallelism may share
// the table.
// Asks for: samples of at most `context` tokens below `vocabulary`; lengths differ, nothing is padded.
// Memory: nothing; the ids of all members where the table is cut.
// Errors: MT-N04
// Example:
//   using embed = token_embedding<token_config{.vocabulary = 1024, .context = 32, .width = 128}>;
//   static_assert(embed::out == 128);
template <token_config Config>
struct token_embedding {
  static_assert(require<check(Config)>);
  using input = tokens;
  static constexpr isize out = Config.width, table_at = 0;
  static constexpr isize position_size = Config.position ? parameter_space(Config.context * out) : 0;
  static constexpr isize parameter_size = parameter_space(Config.vocabulary * out) + position_size;
  // The tokens whose rows a tensor member holds.
  static constexpr interval held(tensor_cut cut) {
    return Config.cut_vocabulary ? cut.share(Config.vocabulary) : interval{0, Config.vocabulary};
  }
  static constexpr isize position_at(tensor_cut cut) { return parameter_space(held(cut).size() * out); }
  static constexpr isize size(tensor_cut cut) { return position_at(cut) + position_size; }

  static void parameters(parameter_list& list) {
    const auto table = [&] { list.matrix("token", Config.vocabulary, out, {fill::normal, 0.02f}); };
    if constexpr (Config.cut_vocabulary) list.of_rows({held(list.cut())}, table);
    else table();
    if constexpr (Config.position) list.matrix("position", Config.context, out, {fill::normal, 0.01f});
  }
  static sequences rows(const input& batch) { return batch.seq; }

  template <class N>
  struct saved {
    matrix<std::int32_t> ids_all;  // (rows of all members, 1), where the table is cut
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences&, saved<N>& s, tensor_cut cut = {}) {
    if (cut_here(cut)) s.ids_all = cut_rows::take<std::int32_t>(ctx, rows_of_all(ctx), 1);
  }

  template <class C, class N>
  static void forward(C& ctx, weights<N> w, const input& batch, view<typename N::stream, out> y,
                      saved<N>& s) {
    if (cut_here(w.cut)) {
      // Each member looks up what it has for the rows of all; where it has nothing, it adds zeros.
      const isize mark = ctx.memory.mark();
      const sequences all = rows_of_all(ctx);
      const auto partial = ctx.memory.template take_rows<typename N::stream, out>(all.rows());
      gather_rows(ctx, matrix<const std::int32_t>{batch.ids, batch.seq.rows(), 1, 1}, s.ids_all);
      token_forward(ctx, all, s.ids_all.data, held(w.cut).begin, table(w), partial);
      scatter_sum_rows(ctx, partial, view<const typename N::stream, out>{}, y);
      release(ctx, mark);
    } else {
      token_forward(ctx, batch.seq, batch.ids, 0, table(w), y);
    }
    if constexpr (Config.position) position_forward(ctx, batch.seq, position(w), y);
  }
  template <class C, class N, class DY>
  static void backward_input(C&, weights<N>, const input&, view<DY, out>, saved<N>&) {}
  template <class C, class N, class DY>
  static void backward_weight(C& ctx, weights<N> w, const input& batch, view<DY, out> dy, saved<N>& s,
                              gradients<N> g) {
    if (cut_here(w.cut)) {
      const isize mark = ctx.memory.mark();
      token_backward_weight(ctx, s.ids_all.data, held(w.cut).begin,
                            cut_rows::gather<typename N::stream>(ctx, dy), table(g));
      release(ctx, mark);
    } else {
      token_backward_weight(ctx, batch.ids, 0, dy, table(g));
    }
    if constexpr (Config.position) position_backward_weight(ctx, batch.seq, dy, position(g));
  }

 private:
  static constexpr bool cut_here(tensor_cut cut) { return Config.cut_vocabulary && !cut.whole(); }
  // The table is that of weights, or of gradients.
  template <class W>
  static auto table(W w) {
    // (tokens held, width)
    return matrix<std::remove_pointer_t<decltype(w.data)>>{w.data, held(w.cut).size(), out, out};
  }
  template <class W>
  static auto position(W w) {
    // (context, width)
    return matrix<std::remove_pointer_t<decltype(w.data)>>{w.data + position_at(w.cut), Config.context, out,
                                                           out};
  }
};

}  // namespace motet
