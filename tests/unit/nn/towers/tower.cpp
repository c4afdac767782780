// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/tower.hpp>

#include <motet/nn/layers/token_embedding.hpp>

#include "layer_laws.hpp"
#include "refused_configs.hpp"

using namespace motet;

constexpr tower_config changed(void (*change)(tower_config&)) {
  tower_config c{.width = 8, .layers = 4, .attention = {.width = 8, .heads = 2}, .hidden = 8, .embedding = 4};
  change(c);
  return c;
}
constexpr refused<tower_config> wrong[] = {
    {changed([](tower_config& c) { c.layers = 0; }), reason::not_positive, 0, 1},
    {changed([](tower_config& c) { c.hidden = -8; }), reason::not_positive, -8, 1},
    {changed([](tower_config& c) { c.attention.heads = 3; }), reason::heads_do_not_divide, 3, 8},
    {changed([](tower_config& c) { c.beside_every = 0; }), reason::looking_blocks, 0, 4},
    {changed([](tower_config& c) { c.beside_every = 3; }), reason::looking_blocks, 3, 4},
    {changed([](tower_config& c) { c.mix = {.experts = 2, .top_k = 3}; }), reason::experts_do_not_fit, 2, 3},
    {changed([](tower_config& c) { c.mix = {.experts = 70000, .top_k = 2}; }), reason::experts_do_not_fit,
     70000, 65535},
    {changed([](tower_config& c) { c.mix = {.experts = 2, .top_k = 1}; }), reason::gate_is_constant, 1, 2},
    {changed([](tower_config& c) { c.mix = {.experts = 2, .top_k = 0}; }), reason::not_positive, 0, 1},
    {changed([](tower_config& c) { c.adapters.rank = -1; }), reason::adapters_do_not_fit, -1, 1},
    {changed([](tower_config& c) { c.adapters = {.rank = 1, .alpha = -2}; }), reason::adapters_do_not_fit, -2,
     0},
    {changed([](tower_config& c) { c.adapters = {.rank = 1, .queries = false, .values = false}; }),
     reason::adapters_do_not_fit, 0, 1},
    {changed([](tower_config& c) { c.adapters = {.rank = 1, .up = true}; }), reason::adapters_do_not_fit, 0,
     1},
    {changed([](tower_config& c) { c.adapters = {.rank = 1, .dropout = 1}; }), reason::adapters_drop, 1000,
     1000},
    {changed([](tower_config& c) { c.adapters = {.rank = 1, .dropout = -0.5f}; }), reason::adapters_drop,
     -500, 1000},
};
static_assert(are_refused(wrong));

TEST_CASE("blocks whose numbers do not fit") { check_refused(wrong); }

namespace {

using words = token_embedding<token_config{.vocabulary = 7, .context = 5, .width = 8}>;
constexpr tower_config base{.width = 8,
                            .layers = 2,
                            .attention = {.width = 8, .heads = 2},
                            .hidden = 9,
                            .pool = pool_kind::last,
                            .embedding = 4};
constexpr tower_config with(tower_config c, pool_kind pool, mask_kind mask) {
  c.pool = pool;
  c.attention.mask = mask;
  return c;
}

template <tower_config Config>
laws::outcome run(int threads) {
  using net = tower<words, Config>;
  const laws::token_batch batch({0, 3, 5, 6, 11}, 7);
  const laws::reals w = laws::random_weights(layer::parameters_of<net>(), net::parameter_size),
                    dy = laws::random_reals(16, "dy");
  return laws::evaluate<fp64>(laws::tower_subject<net>{batch.input}, laws::way::whole, threads, w, {}, dy,
                              laws::reals(w.size(), 0.0));
}

}  // namespace

TEST_CASE("the last block is computed for the picked row alone where that is exact") {
  static_assert(tower<words, base>::picks_block);
  static_assert(tower<words, with(base, pool_kind::first, mask_kind::full)>::picks_block);
  // The first row of a causal sample sees itself alone, which a lone query would not.
  static_assert(!tower<words, with(base, pool_kind::first, mask_kind::causal)>::picks_block);
  static_assert(!tower<words, with(base, pool_kind::mean, mask_kind::full)>::picks_block);
}

TEST_CASE("the first row of a causal sample does not depend on what follows") {
  const laws::outcome found = run<with(base, pool_kind::first, mask_kind::causal)>(2);
  using net = tower<words, with(base, pool_kind::first, mask_kind::causal)>;
  // No gradient reaches any position but the first.
  for (const parameter& p : layer::parameters_of<net>())
    if (p.name == "embed.position") {
      const laws::reals g = laws::piece(found.g, p);
      CHECK(laws::size_of({g.begin(), g.begin() + 8}) > 1e-6);
      CHECK_EQ(laws::size_of({g.begin() + 8, g.end()}), 0);
    }
}

TEST_CASE("attention pooling in a tower") {
  const laws::token_batch batch({0, 3, 5, 6, 11}, 7);
  laws::check_laws(
      laws::tower_subject<tower<words, with(base, pool_kind::attention, mask_kind::causal)>>{batch.input},
      {.half = 5e-2, .samples_of_tensor = 2});
}

TEST_CASE("recomputation needs less memory and gives the same") {
  static constexpr tower_config deep = [] {
    tower_config c = base;
    c.layers = 9;
    return c;
  }();
  static constexpr tower_config thrifty = [] {
    tower_config c = deep;
    c.recompute = true;
    return c;
  }();
  const laws::outcome plain = run<deep>(1), again = run<thrifty>(2);
  CHECK_LE(laws::apart(again.y, plain.y), 1e-12);
  CHECK_LE(laws::apart(again.g, plain.g), 1e-11);
  CHECK_LT(again.used * 3, plain.used * 2);
}
