// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layer.hpp>

namespace motet {

// The blocks [first, last) of a tower.
struct stage_range {
  index first = 0;
  index last = 0;
};

// A tower cut into pipeline stages. A stage is a range of the tower's loop over blocks, two numbers at run time: one instantiation serves every cut,
// and the whole tower is the stage of all blocks. The first stage also holds the embedding, the last one the tail (head and projection) with the block
// that a head folds into itself, if it reads one row. Write it `Net::stage`.
//
// A stage owns the interval [parameter_begin, parameter_end) of the tower's flat buffer; w and g point at its first element. `batch` is the tower's
// input; stages after the first read nothing of it but which rows belong to which sample. Ranges are those that check() accepts.
template <class Tower>
struct tower_stage {
  using input = typename Tower::input;
  using embed = typename Tower::embed;
  using body = typename Tower::body;
  using tail = typename Tower::tail;
  static constexpr index layers = Tower::layers, width = Tower::width, embedding = Tower::embedding;

  static constexpr bool is_first(stage_range r) { return r.first == 0; }
  static constexpr bool is_last(stage_range r) { return r.last == layers; }
  static constexpr verdict check(stage_range r) {
    if (r.first < 0 || r.first >= layers) return {reason::stage_outside, 0, r.first, r.first < 0 ? 0 : layers - 1};
    if (r.last <= r.first || r.last > layers) return {reason::stage_outside, 1, r.last, r.last > layers ? layers : r.first + 1};
    return {};
  }
  static constexpr index parameter_begin(stage_range r) { return is_first(r) ? 0 : Tower::body_at + r.first * body::layer_size; }
  static constexpr index parameter_end(stage_range r) { return is_last(r) ? Tower::parameter_size : Tower::body_at + r.last * body::layer_size; }

  // The rows at both ends of a stage, in memory of the caller; ends that a stage lacks stay empty. What comes in (x, dy, d_features) stays as it is
  // until the weight part of backward is done; what goes out is written and not read again. Threads of a team share rows as sequences::part says.
  template <class N>
  struct ends {
    using stream = typename N::stream;
    view<const stream, width> x{};               // (rows, width), from the stage before; not on the first
    view<stream, width> y{};                     // (rows, width), to the stage after; not on the last
    view<stream, embedding> features{};          // (samples, embedding), on the last
    view<const stream, width> dy{};              // (rows, width), from the stage after; not on the last
    view<const stream, embedding> d_features{};  // (samples, embedding), on the last
    view<stream, width> dx{};                    // (rows, width), to the stage before; not on the first
  };

  // What forward keeps for backward: nothing but views of the memory that reserve() takes, so it may be copied, and reserved again for another batch.
  template <class N>
  struct saved {
    typename embed::template saved<N> kept_embed;
    typename body::template saved<N> kept_body;
    typename tail::template saved<N> kept_tail;
    view<typename N::stream, width> entry, top;      // (rows, width), before and after the blocks
    view<typename N::stream, width> d_entry, d_top;  // (rows, width), between the two parts of backward
  };
  template <class N, class C>
  static void reserve(C& ctx, stage_range r, const input& batch, saved<N>& s) {
    const sequences seq = Tower::rows(batch);
    if (is_first(r)) {
      embed::template reserve<N>(ctx, seq, s.kept_embed);
      s.entry = rows<N>(ctx, seq);
    }
    body::template reserve<N>(ctx, blocks(r), seq, s.kept_body);
    if (!is_last(r)) return;
    if (has_blocks(r)) s.top = rows<N>(ctx, seq);
    tail::template reserve<N>(ctx, seq, s.kept_tail);
  }

  template <class C, class N>
  static void forward(C& ctx, stage_range r, weights<N> w, const input& batch, const ends<N>& e, saved<N>& s) {
    const sequences seq = Tower::rows(batch);
    if (is_first(r)) {
      const auto section = enter(ctx, "embedding");
      embed::forward(ctx, w, batch, s.entry, s.kept_embed);
    }
    const auto section = enter(ctx, "blocks");
    if (has_blocks(r)) body::forward(ctx, blocks(r), w + body_at(r), seq, x(r, e, s), is_last(r) ? s.top : e.y, s.kept_body);
    if (is_last(r)) tail::forward(ctx, w + tail_at(r), seq, top(r, e, s), e.features, s.kept_tail);
  }

  // The same outgoing rows, with nothing kept: the first of two forwards, evaluation, nets that do not learn.
  template <class C, class N>
  static void infer(C& ctx, stage_range r, weights<N> w, const input& batch, const ends<N>& e) {
    const sequences seq = Tower::rows(batch);
    const index mark = ctx.memory.mark();
    saved<N> s;
    if (is_first(r)) {
      const auto section = enter(ctx, "embedding");
      s.entry = rows<N>(ctx, seq);
      const index embed_mark = ctx.memory.mark();
      embed::template reserve<N>(ctx, seq, s.kept_embed);
      embed::forward(ctx, w, batch, s.entry, s.kept_embed);
      release(ctx, embed_mark);
    }
    const auto section = enter(ctx, "blocks");
    if (is_last(r) && has_blocks(r)) s.top = rows<N>(ctx, seq);
    if (has_blocks(r)) body::infer(ctx, blocks(r), w + body_at(r), seq, x(r, e, s), is_last(r) ? s.top : e.y);
    if (is_last(r)) layer::infer<tail>(ctx, w + tail_at(r), seq, top(r, e, s), e.features);
    release(ctx, mark);
  }

  // Both parts, layer by layer.
  template <class C, class N>
  static void backward(C& ctx, stage_range r, weights<N> w, const input& batch, const ends<N>& e, saved<N>& s, gradients<N> g) {
    const sequences seq = Tower::rows(batch);
    const index mark = ctx.memory.mark();
    s.d_entry = is_first(r) ? rows<N>(ctx, seq) : e.dx;
    {
      const auto section = enter(ctx, "blocks");
      const index blocks_mark = ctx.memory.mark();
      if (is_last(r)) {
        s.d_top = has_blocks(r) ? rows<N>(ctx, seq) : s.d_entry;
        layer::backward<tail>(ctx, w + tail_at(r), seq, top(r, e, s), e.d_features, s.d_top, s.kept_tail, g + tail_at(r));
      }
      if (has_blocks(r)) body::backward(ctx, blocks(r), w + body_at(r), seq, x(r, e, s), dy(r, e, s), s.d_entry, s.kept_body, g + body_at(r));
      release(ctx, blocks_mark);
    }
    if (is_first(r)) {
      const auto section = enter(ctx, "embedding");
      embed::backward_input(ctx, w, batch, s.d_entry, s.kept_embed);
      synchronize(ctx);
      embed::backward_weight(ctx, w, batch, s.d_entry, s.kept_embed, g);
    }
    release(ctx, mark);
  }

  // The input part fills dx. What it leaves taken in ctx.memory is for the weight part, which may come any time later, after synchronize(ctx).
  template <class C, class N>
  static void backward_input(C& ctx, stage_range r, weights<N> w, const input& batch, const ends<N>& e, saved<N>& s) {
    const sequences seq = Tower::rows(batch);
    s.d_entry = is_first(r) ? rows<N>(ctx, seq) : e.dx;
    {
      const auto section = enter(ctx, "blocks");
      if (is_last(r)) {
        s.d_top = has_blocks(r) ? rows<N>(ctx, seq) : s.d_entry;
        tail::backward_input(ctx, w + tail_at(r), seq, top(r, e, s), e.d_features, s.d_top, s.kept_tail);
      }
      if (has_blocks(r)) body::backward_input(ctx, blocks(r), w + body_at(r), seq, x(r, e, s), dy(r, e, s), s.d_entry, s.kept_body);
    }
    if (!is_first(r)) return;
    const auto section = enter(ctx, "embedding");
    embed::backward_input(ctx, w, batch, s.d_entry, s.kept_embed);
  }
  template <class C, class N>
  static void backward_weight(C& ctx, stage_range r, weights<N> w, const input& batch, const ends<N>& e, saved<N>& s, gradients<N> g) {
    const sequences seq = Tower::rows(batch);
    {
      const auto section = enter(ctx, "blocks");
      if (is_last(r)) layer::backward_weight<tail>(ctx, w + tail_at(r), seq, top(r, e, s), e.d_features, s.kept_tail, g + tail_at(r));
      body::backward_weight(ctx, blocks(r), w + body_at(r), seq, x(r, e, s), dy(r, e, s), s.kept_body, g + body_at(r));
    }
    if (!is_first(r)) return;
    const auto section = enter(ctx, "embedding");
    embed::backward_weight(ctx, w, batch, s.d_entry, s.kept_embed, g);
  }

 private:
  // The range without a block that is folded into the tail; that may leave none.
  static constexpr interval blocks(stage_range r) { return {r.first, r.last < body::count ? r.last : body::count}; }
  static constexpr bool has_blocks(stage_range r) { return blocks(r).size() > 0; }
  // Where the parts begin in the stage's own parameters.
  static constexpr index body_at(stage_range r) { return is_first(r) ? Tower::body_at : 0; }
  static constexpr index tail_at(stage_range r) { return Tower::tail_at - parameter_begin(r); }

  template <class N, class C>
  static view<typename N::stream, width> rows(C& ctx, const sequences& seq) {
    return ctx.memory.template take_rows<typename N::stream, width>(seq.rows());
  }
  // What the blocks read, what the tail reads, and the gradient of what the blocks wrote.
  template <class N>
  static view<const typename N::stream, width> x(stage_range r, const ends<N>& e, const saved<N>& s) {
    if (is_first(r)) return s.entry;
    return e.x;
  }
  template <class N>
  static view<const typename N::stream, width> top(stage_range r, const ends<N>& e, const saved<N>& s) {
    if (has_blocks(r)) return s.top;
    return x(r, e, s);
  }
  template <class N>
  static view<const typename N::stream, width> dy(stage_range r, const ends<N>& e, const saved<N>& s) {
    if (is_last(r)) return s.d_top;
    return e.dy;
  }
};

}  // namespace motet
