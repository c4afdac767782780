// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/projection.hpp>
#include <motet/nn/towers/attention_pool.hpp>
#include <motet/nn/towers/entering_stage.hpp>
#include <motet/nn/towers/pool.hpp>
#include <motet/nn/towers/tail.hpp>

namespace motet {

struct pooled_config {
  isize width = 0;      // of the rows that enter
  isize rows = 0;       // the most of a sample
  isize embedding = 0;  // width of the features
  pool_kind pool = pool_kind::mean;
  isize heads = 1;  // of attention, where that pools
  norm_kind norm = norm_kind::layer;
  float epsilon = 1e-5f;

  constexpr attention_config attention() const { return {.width = width, .heads = heads}; }
};

constexpr verdict check(const pooled_config& c) {
  if (const verdict found = at_least(1, {c.width, c.rows, c.embedding, c.heads}); !found.ok()) return found;
  return c.pool == pool_kind::attention ? check(c.attention()) : verdict{};
}

namespace detail {

template <pooled_config Config>
constexpr auto choose_pooled_head() {
  using norm_layer = norm<Config.width, norm_config{Config.norm, Config.epsilon}>;
  if constexpr (Config.pool == pool_kind::mean)
    return std::type_identity<reduce_head<norm_layer, mean_pool<Config.width>>>{};
  else if constexpr (Config.pool == pool_kind::attention)
    return std::type_identity<reduce_head<norm_layer, attention_pool<Config.attention()>>>{};
  else
    return std::type_identity<
        pick_head<norm_layer, Config.pool == pool_kind::last ? pick::last : pick::first>>{};
}
// A tower's own end (tower.hpp), with the same parameters.
template <pooled_config Config>
using pooled_tail =
    tail<typename decltype(choose_pooled_head<Config>())::type, projection<Config.width, Config.embedding>>;

}  // namespace detail

// The head of an encoder as a module of its own: rows of another module enter, a norm and pooling make one
// row of each sample, and a projection takes it to unit rows, which a loss compares. So an encoder whose rows
// feed a language model stands under a second loss, too: it feeds this as well, and gradients of both add up.
// Asks for: an edge that brings rows of that width, one of each sample at least and `rows` at most; which are
// whose, a model finds by itself.
// Memory: that of the tail of a tower; no rows are copied.
// Errors: MT-N01, MT-N04, MT-N08
// Example:
//   using see = pooled_rows<pooled_config{.width = 64, .rows = 17, .embedding = 32}>;
//   static_assert(see::takes_rows == 64 && see::most_rows == 17 && see::embedding == 32);
template <pooled_config Config>
struct pooled_rows {
  static_assert(require<check(Config)>);
  using input = through_rows;
  using tail = detail::pooled_tail<Config>;
  static constexpr pooled_config config = Config;
  static constexpr bool pools_rows = true;
  static constexpr isize embedding = tail::out, parameter_size = tail::parameter_size;
  static constexpr isize takes_rows = Config.width, most_rows = Config.rows;
  // It says by itself how many there are at most.
  template <isize>
  using with_rows = pooled_rows;

  static void parameters(parameter_list& list) { list.part<tail>(); }
  static sequences rows(const input& batch) { return batch.seq; }
  using stage = detail::entering_stage<tail, true>;
};

}  // namespace motet
