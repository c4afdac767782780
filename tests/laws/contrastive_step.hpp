// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/model.hpp>

#include <span>

namespace motet {

// Loss and gradients of one step over all its samples. The step may come in parts (microbatches) when memory
// holds fewer samples than the loss compares: then every part runs forward once to fill the features, the
// loss sees them all, and every part runs forward again, now keeping what its backward needs. So negatives
// are never lost to accumulation (Gao et al. 2021, "GradCache").
template <class Model>
struct contrastive_step {
  template <class N>
  using features = std::array<view<typename N::master, Model::embedding>, Model::size>;
  using batch = typename Model::batch;

  // Runs on every thread of a team; returns the loss on each.
  template <class C, class N>
  static typename C::real run(C& ctx, weights<N> w, gradients<N> g, std::span<const batch> parts) {
    const isize mark = ctx.memory.mark();
    const isize samples = samples_of(parts);
    ctx.sample_share = 1.0 / static_cast<double>(samples);
    features<N> f{}, df{};
    for (std::size_t m = 0; m < Model::size; ++m) {
      f[m] = ctx.memory.template take_rows<typename N::master, Model::embedding>(samples);
      if (!Model::frozen[m])
        df[m] = ctx.memory.template take_rows<typename N::master, Model::embedding>(samples);
    }
    const typename C::real loss =
        parts.size() == 1 ? one_pass(ctx, w, g, parts[0], f, df) : two_passes(ctx, w, g, parts, f, df);
    release(ctx, mark);
    return loss;
  }

  // Features of module I for a batch, keeping nothing.
  template <std::size_t I, class C, class N>
  static void embed(C& ctx, weights<N> w, const typename Model::template module_at<I>::input& input,
                    view<typename N::master, Model::embedding> features_out) {
    const auto part = enter(ctx, Model::names[I].data());
    Model::template module_at<I>::net::infer(ctx, w + Model::offsets[I], input, features_out);
  }

 private:
  template <std::size_t I>
  using net = typename Model::template module_at<I>::net;
  template <class N>
  struct kept {
    template <std::size_t... I>
    static std::tuple<typename net<I>::template saved<N>...> type_for(std::index_sequence<I...>);
    using type = decltype(type_for(std::make_index_sequence<Model::size>{}));
  };

  static isize samples_of(const batch& part) { return net<0>::rows(std::get<0>(part)).samples; }
  static isize samples_of(std::span<const batch> parts) {
    isize sum = 0;
    for (const auto& part : parts) sum += samples_of(part);
    return sum;
  }

  template <std::size_t I = 0, class C, class N>
  static void forward(C& ctx, weights<N> w, const batch& part, features<N>& f,
                      typename kept<N>::type& saved) {
    if constexpr (I < Model::size) {
      if constexpr (Model::frozen[I]) {
        embed<I>(ctx, w, std::get<I>(part), f[I]);
      } else {
        const auto timed = enter(ctx, Model::names[I].data());
        net<I>::template reserve<N>(ctx, std::get<I>(part), std::get<I>(saved));
        net<I>::forward(ctx, w + Model::offsets[I], std::get<I>(part), f[I], std::get<I>(saved));
      }
      forward<I + 1>(ctx, w, part, f, saved);
    }
  }
  template <std::size_t I = Model::size, class C, class N>
  static void backward(C& ctx, weights<N> w, const batch& part, features<N>& df,
                       typename kept<N>::type& saved, gradients<N> g) {
    if constexpr (I > 0) {
      if constexpr (!Model::frozen[I - 1]) {
        const auto timed = enter(ctx, Model::names[I - 1].data());
        net<I - 1>::backward(ctx, w + Model::offsets[I - 1], std::get<I - 1>(part), df[I - 1],
                             std::get<I - 1>(saved), g + Model::offsets[I - 1]);
      }
      backward<I - 1>(ctx, w, part, df, saved, g);
    }
  }
  template <class C, class N>
  static typename C::real contrast(C& ctx, weights<N> w, gradients<N> g, features<N>& f, features<N>& df) {
    const auto timed = enter(ctx, "loss");
    for (auto& d : df)
      if (d) zero(ctx, sequences{d.rows, 1, nullptr}, d);
    synchronize(ctx);
    typename C::real loss{};
    for (std::size_t i = 0; i < Model::size; ++i)
      for (std::size_t j = i + 1; j < Model::size; ++j) {
        using rows = matrix<typename N::master>;
        loss += Model::loss::pair(ctx, w.data + Model::loss_at, g.data + Model::loss_at, rows(f[i]),
                                  rows(f[j]), Model::joins[0].share, rows(df[i]), rows(df[j]));
      }
    synchronize(ctx);
    return loss;
  }

  template <class C, class N>
  static typename C::real one_pass(C& ctx, weights<N> w, gradients<N> g, const batch& part, features<N>& f,
                                   features<N>& df) {
    typename kept<N>::type saved;
    const isize mark = ctx.memory.mark();
    forward(ctx, w, part, f, saved);
    const typename C::real loss = contrast(ctx, w, g, f, df);
    backward(ctx, w, part, df, saved, g);
    release(ctx, mark);
    return loss;
  }
  template <class C, class N>
  static typename C::real two_passes(C& ctx, weights<N> w, gradients<N> g, std::span<const batch> parts,
                                     features<N>& f, features<N>& df) {
    isize first = 0;
    for (const auto& part : parts) {
      features<N> slice = sliced(f, first, samples_of(part));
      embed_all(ctx, w, part, slice, std::make_index_sequence<Model::size>{});
      first += samples_of(part);
    }
    const typename C::real loss = contrast(ctx, w, g, f, df);
    first = 0;
    for (const auto& part : parts) {
      features<N> slice = sliced(f, first, samples_of(part)), d_slice = sliced(df, first, samples_of(part));
      typename kept<N>::type saved;
      const isize mark = ctx.memory.mark();
      forward_again(ctx, w, part, slice, saved);
      synchronize(ctx);
      backward(ctx, w, part, d_slice, saved, g);
      release(ctx, mark);
      first += samples_of(part);
    }
    return loss;
  }
  template <class C, class N, std::size_t... I>
  static void embed_all(C& ctx, weights<N> w, const batch& part, features<N>& f, std::index_sequence<I...>) {
    (embed<I>(ctx, w, std::get<I>(part), f[I]), ...);
  }
  // The second forward skips what is frozen: its features are there.
  template <std::size_t I = 0, class C, class N>
  static void forward_again(C& ctx, weights<N> w, const batch& part, features<N>& f,
                            typename kept<N>::type& saved) {
    if constexpr (I < Model::size) {
      if constexpr (!Model::frozen[I]) {
        const auto timed = enter(ctx, Model::names[I].data());
        net<I>::template reserve<N>(ctx, std::get<I>(part), std::get<I>(saved));
        net<I>::forward(ctx, w + Model::offsets[I], std::get<I>(part), f[I], std::get<I>(saved));
      }
      forward_again<I + 1>(ctx, w, part, f, saved);
    }
  }
  template <class F>
  static F sliced(const F& f, isize first, isize count) {
    F out{};
    for (std::size_t m = 0; m < Model::size; ++m)
      if (f[m]) out[m] = f[m].slice(first, count);
    return out;
  }
};

}  // namespace motet
