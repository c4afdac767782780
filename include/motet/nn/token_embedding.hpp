// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layer.hpp>

namespace motet {

struct token_config {
  index vocabulary = 0;
  index context = 0;  // the longest sample
  index width = 0;
  bool position = true;  // learned positions; without them use rotary attention
};

constexpr verdict check(const token_config& c) {
  if (c.vocabulary <= 0 || c.context <= 0 || c.width <= 0) return {reason::not_positive, 1, c.vocabulary < c.context ? c.vocabulary : c.context, 1};
  return {};
}

// A ragged batch of token ids: sample s holds ids[offsets[s] .. offsets[s + 1]). Nothing is padded.
struct tokens {
  const std::int32_t* ids = nullptr;
  sequences seq;
};

template <token_config Config>
struct token_embedding {
  static_assert(require<check(Config)>);
  using input = tokens;
  static constexpr index out = Config.width;
  static constexpr index position_at = parameter_space(Config.vocabulary * out);
  static constexpr index parameter_size = position_at + (Config.position ? parameter_space(Config.context * out) : 0);

  static void parameters(parameter_list& list) {
    list.matrix("token", Config.vocabulary, out, {fill::normal, 0.02f}, shard::rows);
    if constexpr (Config.position) list.matrix("position", Config.context, out, {fill::normal, 0.01f}, shard::columns);
  }
  static sequences rows(const input& batch) { return batch.seq; }

  template <class N>
  struct saved {};
  template <class N, class C>
  static void reserve(C&, const sequences&, saved<N>&) {}

  template <class C, class N>
  static void forward(C& ctx, weights<N> w, const input& batch, view<typename N::stream, out> y, saved<N>&) {
    token_forward(ctx, batch.seq, batch.ids, table(w.data), y);
    if constexpr (Config.position) position_forward(ctx, batch.seq, position(w.data), y);
  }
  template <class C, class N, class DY>
  static void backward_input(C&, weights<N>, const input&, view<DY, out>, saved<N>&) {}
  template <class C, class N, class DY>
  static void backward_weight(C& ctx, weights<N>, const input& batch, view<DY, out> dy, saved<N>&, gradients<N> g) {
    token_backward_weight(ctx, batch.ids, dy, table(g.data));
    if constexpr (Config.position) position_backward_weight(ctx, batch.seq, dy, position(g.data));
  }

 private:
  template <class M>
  static matrix<M> table(M* data) {
    return {data, Config.vocabulary, out, out};  // (vocabulary, width)
  }
  template <class M>
  static matrix<M> position(M* data) {
    return {data + position_at, Config.context, out, out};  // (context, width)
  }
};

}  // namespace motet
