// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/compose/stage.hpp>
#include <motet/nn/core/rules.hpp>
#include <motet/nn/layers/entering_rows.hpp>

#include <type_traits>

namespace motet::detail {

// The stage of a module that is one layer: rows of another module enter it, and what leaves it goes on as a
// row for each, or is one row of features for each sample, where the layer pools. Stages of a tower run so,
// see stage.hpp; here there is but one.
template <class Layer, bool Pools>
struct entering_stage {
  using input = through_rows;
  struct tail {};
  static constexpr isize layers = 1, width = Layer::out, embedding = Layer::out;
  static constexpr verdict check(stage_range r) {
    return r.first == 0 && r.last == 1 ? verdict{} : verdict{reason::stage_outside, 0, r.last, 1};
  }
  static constexpr isize parameter_begin(stage_range, tensor_cut = {}) { return 0; }
  static constexpr isize parameter_end(stage_range, tensor_cut cut = {}) { return layer::size<Layer>(cut); }
  static std::vector<interval> gradient_parts(stage_range, tensor_cut cut = {}) {
    if (!has_parameters<Layer>) return {};
    return {{0, layer::size<Layer>(cut)}};
  }
  static std::vector<interval> weight_parts(stage_range r, tensor_cut cut = {}) {
    return gradient_parts(r, cut);
  }
  static std::vector<parameter> parameters_of(std::string_view prefix, stage_range, tensor_cut cut = {}) {
    return layer::parameters_of<Layer>(prefix, cut);
  }
  template <class N>
  using feature_of = std::conditional_t<Pools, typename N::master, typename N::stream>;
  // The ends of tower_stage, of which this one has features alone.
  template <class N>
  struct ends {
    using stream = typename N::stream;
    view<const stream, width> x{};
    view<stream, width> y{};
    view<feature_of<N>, embedding> features{};
    view<const stream, width> dy{};
    view<const feature_of<N>, embedding> d_features{};
    view<stream, width> dx{};
  };
  template <class N>
  using saved = typename Layer::template saved<N>;

  template <class N, class C>
  static void reserve(C& ctx, stage_range, const input& batch, saved<N>& s, tensor_cut cut = {}) {
    layer::reserve<Layer, N>(ctx, rows_of(batch), s, cut);
  }
  template <class C, class N>
  static void forward(C& ctx, stage_range, weights<N> w, const input& batch, const ends<N>& e, saved<N>& s) {
    Layer::forward(ctx, layer::lend<Layer>(ctx, w), rows_of(batch), entering<N>(batch), e.features, s);
  }
  template <class C, class N>
  static void infer(C& ctx, stage_range, weights<N> w, const input& batch, const ends<N>& e) {
    layer::infer<Layer>(ctx, layer::lend<Layer>(ctx, w), rows_of(batch), entering<N>(batch), e.features);
  }
  template <class C, class N>
  static void backward(C& ctx, stage_range, weights<N> w, const input& batch, const ends<N>& e, saved<N>& s,
                       gradients<N> g) {
    const isize mark = ctx.memory.mark();
    const auto dx = gradient<N>(ctx, batch);
    layer::collect<Layer>(ctx, g, [&](gradients<N> own) {
      layer::backward<Layer>(ctx, layer::lend<Layer>(ctx, w), rows_of(batch), entering<N>(batch),
                             e.d_features, dx, s, own);
    });
    release(ctx, mark);
  }
  template <class C, class N>
  static void backward_input(C& ctx, stage_range, weights<N> w, const input& batch, const ends<N>& e,
                             saved<N>& s) {
    Layer::backward_input(ctx, layer::lend<Layer>(ctx, w), rows_of(batch), entering<N>(batch), e.d_features,
                          gradient<N>(ctx, batch), s);
  }
  template <class C, class N>
  static void backward_weight(C& ctx, stage_range, weights<N> w, const input& batch, const ends<N>& e,
                              saved<N>& s, gradients<N> g) {
    layer::collect<Layer>(ctx, g, [&](gradients<N> own) {
      layer::backward_weight<Layer>(ctx, layer::lend<Layer>(ctx, w), rows_of(batch), entering<N>(batch),
                                    e.d_features, s, own);
    });
  }

 private:
  // A layer that does not pool looks at each row by itself.
  static sequences rows_of(const input& batch) {
    return Pools ? batch.seq : sequences{batch.seq.rows(), 1, nullptr};
  }
  template <class N>
  static view<const typename N::stream, Layer::in> entering(const input& batch) {
    return {static_cast<const typename N::stream*>(batch.entering.rows), batch.seq.rows()};
  }
  // Where nobody wants the gradient of what entered, a layer that can leaves it out.
  template <class N, class C>
  static view<typename N::stream, Layer::in> gradient(C& ctx, const input& batch) {
    auto* const to = static_cast<typename N::stream*>(batch.entering.gradients);
    if constexpr (!spares_input_gradient<Layer>)
      if (to == nullptr)
        return ctx.memory.template take_rows<typename N::stream, Layer::in>(batch.seq.rows());
    return {to, batch.seq.rows()};
  }
};

}  // namespace motet::detail
