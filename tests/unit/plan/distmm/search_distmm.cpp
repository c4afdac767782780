// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/describe/model_presets.hpp>
#include <motet/plan/distmm/search_distmm.hpp>

#include "unit/plan/estimated_models.hpp"

#include <set>

namespace {

using namespace motet;

tower_outline hundred_million(const char* name, motet::isize times, motet::isize tokens = 64) {
  tower_outline of = tower_of_layers(name, 8 * times, 1024, tokens);
  of.embedding = 256;
  return of;
}
model_shape model_of(const list<tower_outline>& towers) {
  model_shape out;
  out.name = "some";
  out.towers = towers;
  return out;
}
std::string refusal(const model_shape& model, const cluster_facts& on, motet::isize samples,
                    const search_options& options = {}) {
  try {
    search_distmm(model, on, samples, options);
  } catch (const error& problem) {
    return problem.what();
  }
  return {};
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the ladder: a device, then tensor parts of a node, then stages over nodes") {
  cluster_facts on = wired_cluster(4, 4);
  const tower_outline of = hundred_million("one", 2);
  const double whole = 16 * parameters_of(of);
  for (const auto& [memory, wanted] : {std::pair{1.0, degrees{1, 1, 1, 1}},
                                       {0.99, degrees{1, 1, 1, 2}},
                                       {0.51, degrees{1, 1, 1, 2}},
                                       {0.49, degrees{1, 1, 1, 4}},
                                       {0.26, degrees{1, 1, 1, 4}},
                                       {0.24, degrees{2, 1, 1, 4}},
                                       {0.10, degrees{3, 1, 1, 4}},
                                       {0.001, degrees{4, 1, 1, 4}}}) {
    CAPTURE(memory);
    on.device.memory_bytes = memory * whole;
    CHECK(distmm_degrees(of, on, 16) == wanted);
  }
  // Tensor parts are at most as many as heads, stages as layers.
  tower_outline narrow = of;
  narrow.heads = 2;
  on.device.memory_bytes = 0.3 * whole;
  CHECK(distmm_degrees(narrow, on, 16) == degrees{2, 1, 1, 2});
  tower_outline flat = tower_of_layers("flat", 2, 4096, 64);
  on.device.memory_bytes = 1e6;
  CHECK(distmm_degrees(flat, on, 16).stages == 2);
}

TEST_CASE("towers have ranks of their own, tensor groups stay in nodes, and nothing is larger than memory") {
  for (const motet::isize samples : {48, 96, 250}) {
    CAPTURE(samples);
    cluster_facts on = wired_cluster(3, 4);
    on.device.memory_bytes = 4e9;
    const model_shape model = model_of(
        {hundred_million("large", 5, 256), hundred_million("small", 1), hundred_million("middle", 2)});
    const search_result found = search_distmm(model, on, samples);
    CHECK(found.considered > found.simulated);
    for (const ranked_plan& each : found.plans) {
      std::set<std::int32_t> used;
      motet::isize held = 0;
      for (const module_plan& own : each.how.modules) {
        used.insert(own.on.ranks().begin(), own.on.ranks().end());
        held += own.on.ranks().size();
      }
      CHECK(static_cast<motet::isize>(used.size()) == held);
      CHECK(held <= 12);
      CHECK(each.gives.memory_bytes <= on.device.memory_bytes);
      CHECK(prove_plan(each.how, facts_of(model), samples).ok());
    }
    CHECK(found.plans[0].how.modules[0].on.split().tensor == 4);
    CHECK(found.plans[0].how.modules[1].on.split().tensor == 1);
    for (motet::isize i = 1; i < found.plans.size(); ++i)
      CHECK(found.plans[i].gives.step_seconds >= found.plans[i - 1].gives.step_seconds);
  }
}

TEST_CASE("the balancer gives a tower of three times the work three times the devices") {
  // Nothing but products, which run at the peak whatever their shape.
  const model_shape model = model_of({hundred_million("heavy", 3), hundred_million("light", 1)});
  for (const std::int32_t devices : {4, 8, 16}) {
    const search_result found = search_distmm(model, plain_cluster(1, devices), 3 * devices);
    CHECK(found.plans[0].how.modules[0].on.split().data == 3 * devices / 4);
    CHECK(found.plans[0].how.modules[1].on.split().data == devices / 4);
  }
}

TEST_CASE("no other numbers of replicas are faster") {
  const cluster_facts on = wired_cluster(2, 4);
  const model_shape model = model_of({hundred_million("one", 2, 128), hundred_million("other", 1)});
  const published_question asked(model, on, 64, {});
  const double best = search_distmm(model, on, 64).plans[0].gives.step_seconds;
  int tried = 0;
  for (std::int32_t one = 1; one < 8; ++one) {
    for (std::int32_t other = 1; one + other <= 8; ++other) {
      plan made;
      made.cluster = {8, 4};
      made.modules.push(on_ranks("one", 0, {.data = one}));
      made.modules.push(on_ranks("other", one, {.data = other}));
      run_forecast gives;
      CHECK(estimate(made, asked.model, on, {}, 64, gives, asked.options.play).ok());
      // the balancer knows neither joins nor who shares a node's way out
      CHECK(best <= gives.step_seconds * 1.02);
      ++tried;
    }
  }
  CHECK(tried == 28);
}

TEST_CASE("a pipelined tower has as many losses as are asked for, and enough microbatches to fill it") {
  cluster_facts on = wired_cluster(4, 2);
  const tower_outline deep = hundred_million("deep", 4);
  on.device.memory_bytes = 16 * parameters_of(deep) / 5;
  const model_shape model = model_of({deep, hundred_million("small", 1)});
  search_options options;
  options.contrastive_batch = 64;
  const search_result found = search_distmm(model, on, 256, options);
  const module_plan& own = found.plans[0].how.modules[0];
  CHECK(own.on.split().stages == 3);
  CHECK(own.groups() == 4);
  CHECK(own.whole_group() >= 3);
  CHECK(found.plans[0].how.schedule.view() == "batch_sync");
}

TEST_CASE("a frozen tower is placed by its weights, one with cached features on a device or two") {
  const cluster_facts on = *find_cluster("v100");
  search_options options;
  options.bytes.weight = options.bytes.gradient = options.bytes.state = 2;
  model_shape model = find_model("lit-9.4b")->make();
  model.towers[0].frozen = true;
  const search_result frozen = search_distmm(model, on, 512, options);
  const search_result learning = search_distmm(find_model("lit-9.4b")->make(), on, 512, options);
  CHECK(frozen.plans[0].gives.step_seconds < learning.plans[0].gives.step_seconds);
  CHECK(frozen.plans[0].how.modules[0].on.split().tensor == 1);
  model.towers[0].cached = true;
  CHECK(search_distmm(model, on, 512, options).plans[0].how.modules[0].on.ranks().size() <= 2);
}

TEST_CASE("4096 devices are searched as well") {
  const cluster_facts on = cluster_named("a100:512");
  const search_result found = search_distmm(find_model("coca-26b")->make(), on, 32768);
  motet::isize held = 0;
  for (const module_plan& own : found.plans[0].how.modules) held += own.on.ranks().size();
  CHECK(held > 3500);
  CHECK(held <= 4096);
  CHECK(found.considered < 100000);
}

TEST_CASE("what fits nowhere is refused, with what would do; so are pins") {
  const model_shape model = model_of({hundred_million("one", 4), hundred_million("other", 4)});
  cluster_facts on = wired_cluster(1, 2);
  on.device.memory_bytes = 16 * parameters_of(model.towers[0]) * 0.75;
  const std::string text = refusal(model, on, 64);
  CHECK(has(text, "MT-P85"));
  CHECK(has(text, "has 2 nodes of 2 devices"));
  on.nodes = 2;
  CHECK(refusal(model, on, 64).empty());
  on.device.memory_bytes = 1e6;
  CHECK(has(refusal(model, on, 64), "no number of such devices would do"));
  search_options options;
  options.pins.push({.name = "other", .data = 2});
  CHECK(has(refusal(model, wired_cluster(1, 4), 64, options), "MT-P87"));
}
