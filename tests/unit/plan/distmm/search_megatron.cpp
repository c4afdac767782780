// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/describe/model_presets.hpp>
#include <motet/plan/distmm/search_megatron.hpp>

#include "unit/plan/estimated_models.hpp"

namespace {

using namespace motet;

// A tower of 100 million parameters in its blocks for each of these.
tower_outline hundred_million(const char* name, motet::isize times) {
  tower_outline of = tower_of_layers(name, 8 * times, 1024, 64);
  of.embedding = 256;
  return of;
}
model_shape pair_of(motet::isize one, motet::isize other) {
  model_shape out;
  out.name = "pair";
  out.towers.push(hundred_million("one", one));
  out.towers.push(hundred_million("other", other));
  return out;
}
double parameters(const model_shape& of) {
  double sum = 0;
  for (const tower_outline& each : of.towers) sum += parameters_of(each);
  return sum;
}
std::string refusal(const model_shape& model, const cluster_facts& on, motet::isize samples,
                    const search_options& options = {}) {
  try {
    search_megatron(model, on, samples, options);
  } catch (const error& problem) {
    return problem.what();
  }
  return {};
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("all towers are on all ranks, in the fewest tensor parts that their sum fits") {
  const model_shape model = pair_of(4, 1);
  cluster_facts on = wired_cluster(2, 4);
  // 16 bytes a parameter at least; four fifths of memory are for them.
  for (const auto& [memory, tensor] : {std::pair{1.1, 1}, {0.6, 2}, {0.3, 4}, {0.16, 8}}) {
    CAPTURE(tensor);
    on.device.memory_bytes = memory * 16 * parameters(model) / 0.8;
    const search_result found = search_megatron(model, on, 64);
    CHECK(found.plans.size() > 0);
    for (const ranked_plan& each : found.plans) {
      CHECK(each.gives.memory_bytes <= on.device.memory_bytes);
      for (const module_plan& own : each.how.modules) {
        CHECK(own.on.split() == degrees{1, 8 / tensor, 1, tensor});
        CHECK(own.on.ranks().size() == 8);
      }
      // A tensor group over two nodes is not forbidden by its own plan.
      CHECK(each.how.cluster.tensor_may_cross_nodes == (tensor > 4));
      CHECK(prove_plan(each.how, facts_of(model), 64).ok());
    }
  }
}

TEST_CASE("plans come best first, with what the others lose to; forwards run again only where they must") {
  const model_shape model = pair_of(2, 2);
  cluster_facts on = wired_cluster(1, 4);
  search_options options;
  options.top = 8;
  const search_result roomy = search_megatron(model, on, 256, options);
  for (const module_plan& own : roomy.plans[0].how.modules) {
    CHECK(own.microbatches == 1);
    CHECK(own.stash == -1);
  }
  CHECK(roomy.plans[0].why.cause == setback::none);
  // Less memory than the activations of 64 samples take: smaller microbatches, and some forwards twice.
  on.device.memory_bytes = 0.9 * roomy.plans[0].gives.memory_bytes;
  const search_result tight = search_megatron(model, on, 256, options);
  CHECK(tight.plans[0].gives.memory_bytes <= on.device.memory_bytes);
  CHECK(tight.plans[0].gives.step_seconds > roomy.plans[0].gives.step_seconds);
  CHECK(tight.plans[0].how.modules[0].microbatches > 1);
  CHECK(tight.plans[0].how.modules[0].stash >= 0);
  CHECK(tight.plans[0].how.modules[0].groups() == 1);
  CHECK(tight.plans.size() > 1);
  for (motet::isize i = 1; i < tight.plans.size(); ++i) {
    CHECK(tight.plans[i].gives.step_seconds >= tight.plans[i - 1].gives.step_seconds);
    CHECK(tight.plans[i].why.seconds >= 0);
  }
  CHECK(tight.considered >= tight.simulated);
  CHECK(tight.simulated >= tight.plans.size());
}

TEST_CASE("a contrastive batch makes as many losses") {
  const model_shape model = pair_of(1, 1);
  search_options options;
  options.contrastive_batch = 32;
  const search_result found = search_megatron(model, wired_cluster(1, 4), 128, options);
  for (const module_plan& own : found.plans[0].how.modules) CHECK(own.groups() == 4);
}

TEST_CASE("a frozen tower needs its weights alone, and fewer samples than devices leave some of these idle") {
  model_shape model = pair_of(4, 1);
  model.towers[0].frozen = true;
  cluster_facts on = wired_cluster(1, 8);
  on.device.memory_bytes =
      (4 * parameters_of(model.towers[0]) + 16 * parameters_of(model.towers[1])) / 0.79 + 1e8;
  const search_result found = search_megatron(model, on, 4);
  CHECK(found.plans[0].how.modules[0].on.split() == degrees{1, 4, 1, 1});
  CHECK(found.plans[0].how.modules[0].stash == -1);
}

TEST_CASE("what fits nowhere is refused, with the smallest cluster that would do") {
  const model_shape model = pair_of(4, 1);
  cluster_facts on = wired_cluster(1, 2);
  on.device.memory_bytes = 16 * parameters(model) / 4;
  const std::string text = refusal(model, on, 64);
  CHECK(has(text, "MT-P85"));
  CHECK(has(text, "one and the others hold 8"));
  CHECK(has(text, "2 devices"));
  CHECK(has(text, "the smallest cluster of this kind that would do has 4 nodes of 2 devices"));
  CHECK_FALSE(refusal(
                  model,
                  [&] {
                    cluster_facts wide = on;
                    wide.nodes = 3;
                    return wide;
                  }(),
                  64)
                  .empty());
  CHECK(refusal(
            model,
            [&] {
              cluster_facts wide = on;
              wide.nodes = 4;
              return wide;
            }(),
            64)
            .empty());
  on.device.memory_bytes = 1e6;
  CHECK(has(refusal(model, on, 64), "no number of such devices would do"));
}

TEST_CASE("pins, batches and losses that do not fit are refused") {
  const model_shape model = pair_of(1, 1);
  const cluster_facts on = wired_cluster(1, 2);
  search_options options;
  options.pins.push({.name = "one", .tensor = 2});
  CHECK(has(refusal(model, on, 64, options), "one: a pin"));
  CHECK(has(refusal(model, on, 64, options), "MT-P87"));
  CHECK(has(refusal(model, on, 0), "MT-P86"));
  search_options uneven;
  uneven.contrastive_batch = 48;
  CHECK(has(refusal(model, on, 64, uneven), "MT-P86"));
}
