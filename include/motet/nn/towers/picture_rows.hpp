// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/towers/vit.hpp>

namespace motet {

// A vision transformer whose rows all go on, instead of one row of features for each picture: what a language
// model sees of pictures. A class token's row goes on with the others, first of each picture; pool and
// embedding of the config do not matter otherwise.
// Asks for: pictures as patch_embedding has them; `Normed`, whether the last norm is there (LLaVA leaves it
// out, and the last block with it: then say one layer less).
// Memory: that of its blocks, and the rows that go on.
// Errors: MT-N01, MT-N02, MT-N04
// Example:
//   using eye = picture_rows<vit_config{.image = 32, .patch = 8, .width = 64, .layers = 2, .heads = 2}>;
//   static_assert(eye::out == 64 && eye::rows_of_picture == 17);
template <vit_config Config, bool Normed = true>
struct picture_rows {
  static_assert(require<check(Config)>);
  static constexpr vit_config config = Config;
  static constexpr bool normed = Normed;
  using input = pictures;
  using embed = patch_embedding<Config.patches()>;
  // Pooling by the mean needs every block for every row.
  static constexpr tower_config blocks = [] {
    tower_config c = Config.tower();
    c.pool = pool_kind::mean;
    return c;
  }();
  using tower = motet::tower<embed, blocks>;
  using body = typename tower::body;
  using norm_layer = typename tower::norm_layer;
  static constexpr isize out = Config.width, rows_of_picture = Config.patches().rows();
  static constexpr isize body_at = embed::parameter_size, norm_at = body_at + body::parameter_size;
  static constexpr isize norm_size = Normed ? norm_layer::parameter_size : 0;
  static constexpr isize parameter_size = norm_at + norm_size;

  static void parameters(parameter_list& list) {
    list.in_block(parameter::before_blocks, [&] { list.child<embed>("embed"); });
    list.child<body>("blocks");
    if constexpr (Normed) list.child<norm_layer>("norm");
  }
  // Backward completes these one after the other, from the last one on.
  static void gradient_sizes(std::vector<isize>& into) {
    into.push_back(embed::parameter_size);
    into.insert(into.end(), as_size(body::count), body::layer_size);
    if constexpr (Normed) into.push_back(norm_size);
  }
  static sequences rows(const input& batch) { return embed::rows(batch); }

  template <class N>
  struct saved {
    typename embed::template saved<N> kept_embed;
    typename body::template saved<N> kept_body;
    typename norm_layer::template saved<N> norm;
    view<typename N::stream, out> entry, top;      // (rows, width), what the blocks read and write
    view<typename N::stream, out> d_entry, d_top;  // (rows, width), between the two parts of backward
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    s.entry = take<N>(ctx, seq);
    layer::reserve<embed, N>(ctx, seq, s.kept_embed, {});
    body::template reserve<N>(ctx, seq, s.kept_body);
    s.top = take<N>(ctx, seq);
    if constexpr (Normed) norm_layer::template reserve<N>(ctx, seq, s.norm);
  }

  template <class C, class N, class Y>
  static void forward(C& ctx, weights<N> w, const input& batch, view<Y, out> y, saved<N>& s) {
    const sequences seq = rows(batch);
    embed::forward(ctx, w, batch, s.entry, s.kept_embed);
    body::forward(ctx, w + body_at, seq, s.entry, s.top, s.kept_body);
    if constexpr (Normed) norm_layer::forward(ctx, w + norm_at, seq, s.top, y, s.norm);
    else copy(ctx, seq, s.top, y);
  }
  template <class C, class N, class Y>
  static void infer(C& ctx, weights<N> w, const input& batch, view<Y, out> y) {
    const sequences seq = rows(batch);
    const isize mark = ctx.memory.mark();
    const auto entry = take<N>(ctx, seq), top = take<N>(ctx, seq);
    {
      const isize embed_mark = ctx.memory.mark();
      typename embed::template saved<N> s;
      layer::reserve<embed, N>(ctx, seq, s, {});
      embed::forward(ctx, w, batch, entry, s);
      release(ctx, embed_mark);
    }
    body::infer(ctx, w + body_at, seq, entry, top);
    if constexpr (Normed) layer::infer<norm_layer>(ctx, w + norm_at, seq, top, y);
    else copy(ctx, seq, top, y);
    release(ctx, mark);
  }

  // Both parts, layer by layer.
  template <class C, class N, class DY>
  static void backward(C& ctx, weights<N> w, const input& batch, view<DY, out> dy, saved<N>& s,
                       gradients<N> g) {
    const sequences seq = rows(batch);
    const isize mark = ctx.memory.mark();
    s.d_entry = take<N>(ctx, seq);
    {
      const isize blocks_mark = ctx.memory.mark();
      s.d_top = take<N>(ctx, seq);
      if constexpr (Normed)
        layer::collect<norm_layer>(ctx, g + norm_at, [&](gradients<N> own) {
          layer::backward<norm_layer>(ctx, w + norm_at, seq, s.top, dy, s.d_top, s.norm, own);
        });
      else copy(ctx, seq, dy, s.d_top);
      body::backward(ctx, w + body_at, seq, s.entry, s.d_top, s.d_entry, s.kept_body, g + body_at);
      release(ctx, blocks_mark);
    }
    embed::backward_input(ctx, w, batch, s.d_entry, s.kept_embed);
    synchronize(ctx);
    embed_weight(ctx, w, batch, s, g);
    release(ctx, mark);
  }
  template <class C, class N, class DY>
  static void backward_input(C& ctx, weights<N> w, const input& batch, view<DY, out> dy, saved<N>& s) {
    const sequences seq = rows(batch);
    s.d_entry = take<N>(ctx, seq);
    s.d_top = take<N>(ctx, seq);
    if constexpr (Normed) norm_layer::backward_input(ctx, w + norm_at, seq, s.top, dy, s.d_top, s.norm);
    else copy(ctx, seq, dy, s.d_top);
    body::backward_input(ctx, w + body_at, seq, s.entry, s.d_top, s.d_entry, s.kept_body);
    embed::backward_input(ctx, w, batch, s.d_entry, s.kept_embed);
  }
  template <class C, class N, class DY>
  static void backward_weight(C& ctx, weights<N> w, const input& batch, view<DY, out> dy, saved<N>& s,
                              gradients<N> g) {
    const sequences seq = rows(batch);
    if constexpr (Normed)
      layer::collect<norm_layer>(ctx, g + norm_at, [&](gradients<N> own) {
        norm_layer::backward_weight(ctx, w + norm_at, seq, s.top, dy, s.norm, own);
      });
    body::backward_weight(ctx, w + body_at, seq, s.entry, s.d_top, s.kept_body, g + body_at);
    embed_weight(ctx, w, batch, s, g);
  }

 private:
  template <class N, class C>
  static view<typename N::stream, out> take(C& ctx, const sequences& seq) {
    return ctx.memory.template take_rows<typename N::stream, out>(seq.rows());
  }
  template <class C, class N>
  static void embed_weight(C& ctx, weights<N> w, const input& batch, saved<N>& s, gradients<N> g) {
    layer::collect<embed>(ctx, g, [&](gradients<N> own) {
      embed::backward_weight(ctx, w, batch, s.d_entry, s.kept_embed, own);
    });
  }
};

}  // namespace motet
