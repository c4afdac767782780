// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/module.hpp>

namespace motet {

// Losses of a join. Each says which numbers it learns and how two towers are compared; all samples of the step are compared with all.

// Softmax over all pairs in both directions, with a learned temperature (van den Oord et al. 2018; CLIP).
struct info_nce {
  static constexpr index parameter_size = parameter_space(1);
  static void parameters(parameter_list& list) { list.vector("log_scale", 1, {fill::constant, 2.6592601f}); }  // ln(1 / 0.07)

  template <class C, class M, class S>
  static double pair(C& ctx, const M* w, M* g, matrix<S> a, matrix<S> b, double share, matrix<S> da, matrix<S> db) {
    return info_nce_loss(ctx, a, b, w, share, da, db, g);
  }
};

// An independent yes or no for each pair, with a learned scale and bias (Zhai et al., ICCV'23).
struct pairwise_sigmoid {
  static constexpr index bias_at = parameter_space(1);
  static constexpr index parameter_size = 2 * bias_at;
  static void parameters(parameter_list& list) {
    list.vector("log_scale", 1, {fill::constant, 2.3025851f});  // ln 10
    list.vector("bias", 1, {fill::constant, -10});
  }

  template <class C, class M, class S>
  static double pair(C& ctx, const M* w, M* g, matrix<S> a, matrix<S> b, double share, matrix<S> da, matrix<S> db) {
    return pairwise_sigmoid_loss(ctx, a, b, w, w + bias_at, share, da, db, g, g ? g + bias_at : nullptr);
  }
};

// Where modules meet in a loss over all samples of the step: the mean over all pairs of modules.
template <class Loss, class... Modules>
struct join {
  using loss = Loss;
  static constexpr index size = sizeof...(Modules);
  static constexpr index pairs = size * (size - 1) / 2;
};

}  // namespace motet
