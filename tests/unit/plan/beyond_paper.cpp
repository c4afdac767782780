// SPDX-License-Identifier: Apache-2.0
// docs/results.md says these under "Beyond the paper"; here they are inequalities.
#include <motet/plan/cost/plan_join.hpp>
#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/describe/model_presets.hpp>
#include <motet/plan/search/search.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

const cluster_facts& v100() { return *find_cluster("v100"); }
model_shape named(const char* name) { return find_model(name)->make(); }
plan two(module_plan first, module_plan second, std::int32_t ranks = 64) {
  plan out;
  out.cluster.ranks = ranks;
  out.modules.push(first);
  out.modules.push(second);
  return out;
}
run_forecast play(const plan& of, const model_shape& towers, const cluster_facts& on, motet::isize samples) {
  run_forecast out;
  REQUIRE(prove_plan(of, facts_of(towers), samples).ok());
  REQUIRE(estimate(of, towers, on, {}, samples, out).ok());
  return out;
}

}  // namespace

TEST_CASE("with h = 0 a pipeline's memory does not depend on how many pairs a loss compares") {
  const model_shape clip = named("clip-9.3b");
  const auto of_batch = [&](motet::isize batch, int stash) {
    plan how = two(on_ranks("vision", 0, {.stages = 4, .tensor = 8}, static_cast<int>(batch / 8)),
                   on_ranks("text", 32, {.stages = 4, .tensor = 8}, static_cast<int>(batch / 8)));
    for (module_plan& each : how.modules) each.stash = stash;
    return play(how, clip, v100(), batch);
  };
  const run_forecast few = of_batch(512, 0), many = of_batch(8192, 0);
  CHECK(many.modules[0].bytes.activations == doctest::Approx(few.modules[0].bytes.activations));
  CHECK(many.memory_bytes < v100().device.memory_bytes);
  const run_forecast kept = of_batch(512, -1), kept_many = of_batch(8192, -1);
  CHECK(kept_many.modules[0].bytes.activations > 15 * kept.modules[0].bytes.activations);
  CHECK(kept_many.memory_bytes > v100().device.memory_bytes);
  // A forward more for each microbatch, of three units' time.
  CHECK(many.step_seconds / kept_many.step_seconds == doctest::Approx(4 / 3.0).epsilon(0.05));
}

TEST_CASE("forwards ahead hide the loss, one microbatch of memory each") {
  const model_shape clip = named("b16");
  constexpr motet::isize pairs = 8192;
  const auto ahead = [&](int forwards, int losses) {
    plan how = two(on_ranks("picture", 0, {.stages = 4, .data = 14}, 16 * losses),
                   on_ranks("caption", 56, {.stages = 4, .data = 2}, 16 * losses));
    for (module_plan& each : how.modules) {
      each.group = 16;
      each.ahead = forwards;
    }
    return play(how, clip, v100(), pairs * losses).step_seconds;
  };
  const plan how = two(on_ranks("picture", 0, {.stages = 4, .data = 14}),
                       on_ranks("caption", 56, {.stages = 4, .data = 2}));
  const join_cost join = join_of(how, clip, v100(), {}, pairs);
  const double sync = join.compute + join.exchange;
  CHECK(sync > 0);
  // Of four syncs all but what the first and the last lack of forwards beside them; messages between stages
  // have more time as well.
  CHECK(ahead(0, 4) - ahead(2, 4) > 1.9 * sync);
  CHECK(ahead(0, 1) == doctest::Approx(ahead(2, 1)));
}

TEST_CASE(
    "sums of rows instead of gradients of features: half of DistMM's traffic, a quarter of a local loss's") {
  const model_shape clip = named("clip-1.1b");
  const plan apart = two(on_ranks("vision", 0, {.data = 56}), on_ranks("text", 56, {.data = 8}));
  const plan together = two(on_ranks("vision", 0, {.data = 64}), on_ranks("text", 0, {.data = 64}));
  estimate_options gradients;
  gradients.exchange_gradients = true;
  const double here = join_of(apart, clip, v100(), {}, 32768).bytes,
               distmm = join_of(apart, clip, v100(), {}, 32768, gradients).bytes,
               local = join_of(together, clip, v100(), {}, 32768, gradients).bytes;
  CHECK(here == doctest::Approx(32768 * (1024 + 1) * 4.0));
  CHECK(distmm / here == doctest::Approx(2).epsilon(0.01));
  CHECK(local / here == doctest::Approx(4).epsilon(0.03));
  // With a sigmoid each side needs nothing but the features.
  model_shape pairs = clip;
  pairs.join = "sigmoid";
  CHECK(join_of(apart, pairs, v100(), {}, 32768).bytes == doctest::Approx(32768 * 1024 * 4.0));
}

TEST_CASE("a tower that does not learn has no backward, and none at all where its features are cached") {
  model_shape lit = named("locked-1.1b");
  const plan how = two(on_ranks("vision", 0, {.data = 32}), on_ranks("text", 32, {.data = 32}));
  double last = 1e9;
  for (const auto& [frozen, cached] : {std::pair{false, false}, {true, false}, {true, true}}) {
    lit.towers[0].frozen = frozen;
    lit.towers[0].cached = cached;
    const run_forecast gives = play(how, lit, v100(), 256);
    CHECK(gives.modules[0].forward_seconds + gives.modules[0].backward_seconds < 0.7 * last);
    CHECK((gives.modules[0].backward_seconds > 0) == !frozen);
    CHECK((gives.modules[0].bytes.gradients > 0) == !frozen);
    last = gives.modules[0].forward_seconds + gives.modules[0].backward_seconds;
  }
  CHECK(last < 0.01);
}

TEST_CASE("towers that share ranks beat towers apart where whole ranks are unequal shares") {
  const cluster_facts on = cluster_named("a100:1x4");
  search_options options;
  options.top = 1;
  options.together = false;
  const double apart = search_plans(named("l14"), on, 512, options).plans[0].gives.step_seconds;
  options.together = true;
  const ranked_plan free = search_plans(named("l14"), on, 512, options).plans[0];
  CHECK(free.gives.step_seconds < 0.9 * apart);
  CHECK(free.how.modules[0].on.ranks()[0] == free.how.modules[1].on.ranks()[0]);
}

TEST_CASE("three towers are planned together") {
  const cluster_facts on = cluster_named("a100:1x8");
  search_options options;
  options.top = 1;
  const ranked_plan found = search_plans(named("three-towers"), on, 512, options).plans[0];
  REQUIRE(found.how.modules.size() == 3);
  CHECK(found.gives.memory_bytes <= on.device.memory_bytes);
  CHECK(prove_plan(found.how, facts_of(named("three-towers")), 512).ok());
}
