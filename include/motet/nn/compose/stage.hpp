// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/compose/stage_parameters.hpp>

namespace motet {

// A tower cut into pipeline stages. A stage is a range of the tower's loop over blocks, two numbers at run
// time: one instantiation serves every cut, and the whole tower is the stage of all blocks. The first stage
// also holds the embedding, the last one the tail (head and projection) with the block that a head folds into
// itself, if it reads one row. Write it `Net::stage`.
//
// A stage owns the interval [parameter_begin, parameter_end) of the tower's flat buffer; w and g point at its
// first element. Where tensor parallelism cuts the tower, that is the buffer of a rank that held the same
// part of all stages, and `batch` has the samples of this rank. `batch` is the tower's input; stages after
// the first read nothing of it but which rows belong to which sample. Ranges are those that check() accepts.
//
// Where context parallelism cuts samples, `batch` and the features are of the samples that this rank has
// whole, which embedding and tail work on. Rows change hands behind the embedding, unless it can work on
// those of the blocks (embeds_parts), which `batch` tells it then, and before the tail, unless that can, too
// (ends_parts): see rows_of_blocks(ctx).
// Asks for: a range of blocks that check() accepts, and rows of the stage before it.
// Memory: what the blocks, the embedding and the tail keep, and (rows, width) at their entry and top.
// Errors: MT-N08
// Example:
//   #include <motet/nn/towers/vit.hpp>
//   using eye = vit<vit_config{.image = 32, .patch = 8, .width = 64, .layers = 4, .heads = 2}>;
//   static_assert(eye::stage::check({2, 4}).ok() && !eye::stage::check({2, 5}).ok());
template <class Tower>
struct tower_stage : stage_parameters<Tower> {
  using input = typename Tower::input;
  using embed = typename Tower::embed;
  using body = typename Tower::body;
  using tail = typename Tower::tail;
  using parts = stage_parameters<Tower>;
  using parts::layers, parts::width, parts::embedding, parts::is_first, parts::is_last;
  using parts::parameter_begin, parts::blocks, parts::tells_parts;
  // The tail multiplies with the embedding's table, so one stage has both.
  static constexpr bool ends_share_table = requires { requires tail::reads_table; };
  static constexpr bool embeds_parts = requires { requires embed::embeds_parts; };
  static constexpr bool ends_parts = requires { requires tail::ends_parts; };

  // A tail that ends with rows for another module makes one of each row, as rows between stages are.
  static constexpr bool gives_rows = requires { requires tail::gives_rows; };
  template <class N>
  using feature_of = std::conditional_t<gives_rows, typename N::stream, typename N::master>;

  // The rows at both ends of a stage, in memory of the caller; ends that a stage lacks stay empty. What comes
  // in (x, dy, d_features) stays as it is until the weight part of backward is done; what goes out is written
  // and not read again. Threads of a team share rows as sequences::part says.
  template <class N>
  struct ends {
    using stream = typename N::stream;
    using feature = feature_of<N>;
    view<const stream, width> x{};                // (rows, width), from the stage before; not on the first
    view<stream, width> y{};                      // (rows, width), to the stage after; not on the last
    view<feature, embedding> features{};          // (samples, embedding), on the last
    view<const stream, width> dy{};               // (rows, width), from the stage after; not on the last
    view<const feature, embedding> d_features{};  // (samples, embedding), on the last
    view<stream, width> dx{};                     // (rows, width), to the stage before; not on the first
  };

  // Forward keeps this for backward: nothing but views of the memory that reserve() takes, so it may be
  // copied, and reserved again for another batch.
  template <class N>
  struct saved {
    typename embed::template saved<N> kept_embed;
    typename body::template saved<N> kept_body;
    typename tail::template saved<N> kept_tail;
    // (rows, width), what the blocks read, and the tail
    view<typename N::stream, width> entry, top;
    // (rows, width), between the two parts of backward
    view<typename N::stream, width> d_entry, d_top, d_embedded;
  };
  template <class N, class C>
  static void reserve(C& ctx, stage_range r, const input& batch, saved<N>& s, tensor_cut cut = {}) {
    const sequences seq = block_rows(ctx, batch), samples = sample_rows(ctx, batch);
    if (is_first(r)) {
      s.entry = rows<N>(ctx, seq);
      const auto whole = on_whole_samples(ctx, !embeds_parts);
      reserve_embed<N>(ctx, batch, samples, s.kept_embed, cut);
    }
    body::template reserve<N>(ctx, blocks(r), seq, s.kept_body, cut);
    if (!is_last(r)) return;
    const sequences at_end = end_rows(ctx, batch);
    if (has_blocks(r) || ends_elsewhere(ctx)) s.top = rows<N>(ctx, at_end);
    const auto whole = on_whole_samples(ctx, !ends_parts);
    tail::template reserve<N>(ctx, tail_rows(batch, at_end), s.kept_tail);
  }

  template <class C, class N>
  static void forward(C& ctx, stage_range r, weights<N> w, const input& batch, const ends<N>& e,
                      saved<N>& s) {
    const sequences seq = block_rows(ctx, batch), samples = sample_rows(ctx, batch);
    if (is_first(r)) embed_rows(ctx, w, batch, samples, s);
    const auto section = enter(ctx, "blocks");
    const isize mark = ctx.memory.mark();
    const auto y = out_of_blocks<N>(ctx, r, seq, e, s);
    if (has_blocks(r)) body::forward(ctx, blocks(r), of_body(r, w), seq, x(r, e, s), y, s.kept_body);
    if (!is_last(r)) return;
    const auto from = into_tail(ctx, r, y, e, s);
    if (ends_elsewhere(ctx)) release(ctx, mark);
    const sequences at_end = end_rows(ctx, batch);
    const auto whole = on_whole_samples(ctx, !ends_parts);
    tail::forward(ctx, layer::lend<tail>(ctx, of_tail(r, w)), tail_rows(batch, at_end), from, e.features,
                  s.kept_tail);
  }

  // Makes the same outgoing rows and keeps nothing: the first of two forwards, evaluation, nets that do not
  // learn.
  template <class C, class N>
  static void infer(C& ctx, stage_range r, weights<N> w, const input& batch, const ends<N>& e) {
    const sequences seq = block_rows(ctx, batch), samples = sample_rows(ctx, batch);
    const isize mark = ctx.memory.mark();
    saved<N> s;
    if (is_first(r)) {
      s.entry = rows<N>(ctx, seq);
      embed_rows_alone(ctx, w, batch, samples, s);
    }
    const auto section = enter(ctx, "blocks");
    const sequences at_end = end_rows(ctx, batch);
    if (is_last(r) && (has_blocks(r) || ends_elsewhere(ctx))) s.top = rows<N>(ctx, at_end);
    const auto y = out_of_blocks<N>(ctx, r, seq, e, s);
    if (has_blocks(r)) body::infer(ctx, blocks(r), of_body(r, w), seq, x(r, e, s), y);
    if (is_last(r)) {
      const auto from = into_tail(ctx, r, y, e, s);
      const auto whole = on_whole_samples(ctx, !ends_parts);
      tail::infer(ctx, layer::lend<tail>(ctx, of_tail(r, w)), tail_rows(batch, at_end), from, e.features);
    }
    release(ctx, mark);
  }

  // Both parts, layer by layer.
  template <class C, class N>
  static void backward(C& ctx, stage_range r, weights<N> w, const input& batch, const ends<N>& e, saved<N>& s,
                       gradients<N> g) {
    const sequences seq = block_rows(ctx, batch), samples = sample_rows(ctx, batch);
    const isize mark = ctx.memory.mark();
    s.d_entry = is_first(r) ? rows<N>(ctx, seq) : e.dx;
    {
      const auto section = enter(ctx, "blocks");
      const isize blocks_mark = ctx.memory.mark();
      if (is_last(r)) {
        s.d_top = has_blocks(r) ? rows<N>(ctx, seq) : s.d_entry;
        const sequences at_end = end_rows(ctx, batch);
        through_tail(ctx, at_end, s.d_top, [&](auto d_samples) {
          const auto from = top(ctx, r, e, s);
          const auto whole = on_whole_samples(ctx, !ends_parts);
          layer::collect<tail>(ctx, of_tail(r, g), [&](gradients<N> own) {
            tail::backward(ctx, layer::lend<tail>(ctx, of_tail(r, w)), tail_rows(batch, at_end), from,
                           e.d_features, d_samples, s.kept_tail, own);
          });
        });
      }
      if (has_blocks(r))
        body::backward(ctx, blocks(r), of_body(r, w), seq, x(r, e, s), dy(r, e, s), s.d_entry, s.kept_body,
                       of_body(r, g));
      release(ctx, blocks_mark);
    }
    if (is_first(r)) embed_backward(ctx, w, batch, samples, s, g);
    release(ctx, mark);
  }

  // The input part fills dx. What it leaves taken in ctx.memory is for the weight part, which may come any
  // time later, after synchronize(ctx).
  template <class C, class N>
  static void backward_input(C& ctx, stage_range r, weights<N> w, const input& batch, const ends<N>& e,
                             saved<N>& s) {
    const sequences seq = block_rows(ctx, batch), samples = sample_rows(ctx, batch);
    s.d_entry = is_first(r) ? rows<N>(ctx, seq) : e.dx;
    {
      const auto section = enter(ctx, "blocks");
      if (is_last(r)) {
        s.d_top = has_blocks(r) ? rows<N>(ctx, seq) : s.d_entry;
        const sequences at_end = end_rows(ctx, batch);
        through_tail(ctx, at_end, s.d_top, [&](auto d_samples) {
          const auto from = top(ctx, r, e, s);
          const auto whole = on_whole_samples(ctx, !ends_parts);
          tail::backward_input(ctx, layer::lend<tail>(ctx, of_tail(r, w)), tail_rows(batch, at_end), from,
                               e.d_features, d_samples, s.kept_tail);
        });
      }
      if (has_blocks(r))
        body::backward_input(ctx, blocks(r), of_body(r, w), seq, x(r, e, s), dy(r, e, s), s.d_entry,
                             s.kept_body);
    }
    if (is_first(r)) embed_backward_input(ctx, w, batch, samples, s);
  }
  template <class C, class N>
  static void backward_weight(C& ctx, stage_range r, weights<N> w, const input& batch, const ends<N>& e,
                              saved<N>& s, gradients<N> g) {
    const sequences seq = block_rows(ctx, batch), at_end = end_rows(ctx, batch);
    {
      const auto section = enter(ctx, "blocks");
      if (is_last(r)) {
        const auto from = top(ctx, r, e, s);
        const auto whole = on_whole_samples(ctx, !ends_parts);
        layer::collect<tail>(ctx, of_tail(r, g), [&](gradients<N> own) {
          tail::backward_weight(ctx, layer::lend<tail>(ctx, of_tail(r, w)), tail_rows(batch, at_end), from,
                                e.d_features, s.kept_tail, own);
        });
      }
      body::backward_weight(ctx, blocks(r), of_body(r, w), seq, x(r, e, s), dy(r, e, s), s.kept_body,
                            of_body(r, g));
    }
    if (is_first(r)) embed_backward_weight(ctx, w, batch, s, g);
  }

 private:
  static constexpr bool has_blocks(stage_range r) { return blocks(r).size() > 0; }
  // Weights or gradients of the parts within those of the stage.
  template <class W>
  static constexpr W of_body(stage_range r, W w) {
    return layer::part<body>(w, is_first(r) ? layer::size<embed>(w.cut) : 0);
  }
  template <class W>
  static constexpr W of_tail(stage_range r, W w) {
    if constexpr (ends_share_table) {
      static_assert(
          requires { isize{embed::table_at}; },
          "motet: a tail that reads its embedding's table wants to know table_at of it [MT-N11]");
      w.lent = w.data + embed::table_at;
    }
    return layer::part<tail>(
        w, layer::size<embed>(w.cut) + layer::size<body>(w.cut) - parameter_begin(r, w.cut));
  }

  // Blocks work on these rows; the embedding and the tail work on those of whole samples, if on no parts.
  template <class C>
  static sequences block_rows(const C& ctx, const input& batch) {
    return rows_are_cut(ctx) ? rows_of_blocks(ctx) : Tower::rows(batch);
  }
  template <class C>
  static sequences sample_rows(const C& ctx, const input& batch) {
    return rows_are_cut(ctx) ? rows_of_samples(ctx) : Tower::rows(batch);
  }
  template <class C>
  static sequences end_rows(const C& ctx, const input& batch) {
    return ends_parts ? block_rows(ctx, batch) : sample_rows(ctx, batch);
  }
  // The tail is told which rows belong to which sample, and what else of the batch it asks for.
  static auto tail_rows(const input& batch, const sequences& samples) {
    if constexpr (requires { tail::rows_of(batch, samples); }) return tail::rows_of(batch, samples);
    else return samples;
  }
  template <class N, class C>
  static view<typename N::stream, width> rows(C& ctx, const sequences& seq) {
    return ctx.memory.template take_rows<typename N::stream, width>(seq.rows());
  }

  // The memory that an embedding keeps may depend on more of the batch than its rows.
  template <class N, class C>
  static void reserve_embed(C& ctx, const input& batch, const sequences& samples,
                            typename embed::template saved<N>& s, tensor_cut cut) {
    if constexpr (requires { embed::template reserve<N>(ctx, batch, s, cut); })
      embed::template reserve<N>(ctx, batch, s, cut);
    else layer::reserve<embed, N>(ctx, samples, s, cut);
  }
  // The embedding works on whole samples, and blocks on parts of them.
  template <class C>
  static bool embeds_elsewhere(const C& ctx) {
    return !embeds_parts && rows_are_cut(ctx);
  }
  template <class C>
  static bool ends_elsewhere(const C& ctx) {
    return !ends_parts && rows_are_cut(ctx);
  }
  // Fills s.entry.
  template <class C, class N>
  static void embed_rows(C& ctx, weights<N> w, const input& batch, const sequences& samples, saved<N>& s) {
    const auto section = enter(ctx, "embedding");
    const isize mark = ctx.memory.mark();
    const bool cut = embeds_elsewhere(ctx);
    const auto y = cut ? rows<N>(ctx, samples) : s.entry;
    {
      const auto whole = on_whole_samples(ctx, !embeds_parts);
      embed::forward(ctx, layer::lend<embed>(ctx, layer::part<embed>(w)), batch, y, s.kept_embed);
    }
    if (!cut) return;
    rows_to_parts(ctx, y, s.entry);
    release(ctx, mark);
  }
  // Nothing is kept here.
  template <class C, class N>
  static void embed_rows_alone(C& ctx, weights<N> w, const input& batch, const sequences& samples,
                               saved<N>& s) {
    const isize mark = ctx.memory.mark();
    if constexpr (requires { embed::infer(ctx, w, batch, s.entry); }) {
      if (!embeds_elsewhere(ctx)) {
        const auto section = enter(ctx, "embedding");
        return embed::infer(ctx, layer::lend<embed>(ctx, layer::part<embed>(w)), batch, s.entry);
      }
    }
    {
      const auto whole = on_whole_samples(ctx, !embeds_parts);
      reserve_embed<N>(ctx, batch, samples, s.kept_embed, w.cut);
    }
    embed_rows(ctx, w, batch, samples, s);
    release(ctx, mark);
  }
  template <class C, class N>
  static void embed_backward(C& ctx, weights<N> w, const input& batch, const sequences& samples, saved<N>& s,
                             gradients<N> g) {
    if constexpr (tells_parts) {
      const auto section = enter(ctx, "embedding");
      gather_gradient(ctx, samples, s);
      const auto whole = on_whole_samples(ctx, !embeds_parts);
      embed::backward(ctx, layer::lend<embed>(ctx, layer::part<embed>(w)), batch, s.d_embedded, s.kept_embed,
                      layer::part<embed>(g));
    } else {
      embed_backward_input(ctx, w, batch, samples, s);
      synchronize(ctx);
      embed_backward_weight(ctx, w, batch, s, g);
    }
  }
  template <class C, class N>
  static void embed_backward_input(C& ctx, weights<N> w, const input& batch, const sequences& samples,
                                   saved<N>& s) {
    const auto section = enter(ctx, "embedding");
    gather_gradient(ctx, samples, s);
    const auto whole = on_whole_samples(ctx, !embeds_parts);
    embed::backward_input(ctx, layer::lend<embed>(ctx, layer::part<embed>(w)), batch, s.d_embedded,
                          s.kept_embed);
  }
  template <class C, class N>
  static void embed_backward_weight(C& ctx, weights<N> w, const input& batch, saved<N>& s, gradients<N> g) {
    const auto section = enter(ctx, "embedding");
    const auto whole = on_whole_samples(ctx, !embeds_parts);
    const auto add = [&](gradients<N> own) {
      embed::backward_weight(ctx, layer::lend<embed>(ctx, layer::part<embed>(w)), batch, s.d_embedded,
                             s.kept_embed, own);
    };
    if constexpr (tells_parts) add(layer::part<embed>(g));
    else layer::collect<embed>(ctx, layer::part<embed>(g), add);
  }
  // Fills s.d_embedded, the gradient of what the embedding made.
  template <class C, class N>
  static void gather_gradient(C& ctx, const sequences& samples, saved<N>& s) {
    s.d_embedded = s.d_entry;
    if (!embeds_elsewhere(ctx)) return;
    s.d_embedded = rows<N>(ctx, samples);
    rows_to_samples(ctx, s.d_entry, s.d_embedded);
  }

  // The blocks write here, and the tail reads it.
  template <class N, class C>
  static view<typename N::stream, width> out_of_blocks(C& ctx, stage_range r, const sequences& seq,
                                                       const ends<N>& e, const saved<N>& s) {
    if (!is_last(r)) return e.y;
    return has_blocks(r) && ends_elsewhere(ctx) ? rows<N>(ctx, seq) : s.top;
  }
  template <class C, class N>
  static view<const typename N::stream, width> into_tail(C& ctx, stage_range r,
                                                         view<typename N::stream, width> y, const ends<N>& e,
                                                         const saved<N>& s) {
    const view<const typename N::stream, width> blocks_wrote = has_blocks(r) ? y : x(r, e, s);
    if (!ends_elsewhere(ctx)) return blocks_wrote;
    rows_to_samples(ctx, blocks_wrote, s.top);
    return s.top;
  }
  // Calls backward(gradient of what the tail reads), which must end as that of what the blocks wrote. It may
  // leave memory taken for the weight part.
  template <class C, class D, class Backward>
  static void through_tail(C& ctx, const sequences& samples, view<D, width> d_top, Backward&& backward) {
    if (!ends_elsewhere(ctx)) return backward(d_top);
    const auto d_samples = ctx.memory.template take_rows<D, width>(samples.rows());
    backward(d_samples);
    rows_to_parts(ctx, d_samples, d_top);
  }

  // Blocks read x(), the tail reads top(), and dy() is the gradient of what the blocks wrote.
  template <class N>
  static view<const typename N::stream, width> x(stage_range r, const ends<N>& e, const saved<N>& s) {
    if (is_first(r)) return s.entry;
    return e.x;
  }
  template <class C, class N>
  static view<const typename N::stream, width> top(const C& ctx, stage_range r, const ends<N>& e,
                                                   const saved<N>& s) {
    if (has_blocks(r) || ends_elsewhere(ctx)) return s.top;
    return x(r, e, s);
  }
  template <class N>
  static view<const typename N::stream, width> dy(stage_range r, const ends<N>& e, const saved<N>& s) {
    if (is_last(r)) return s.d_top;
    return e.dy;
  }
};

}  // namespace motet
