// SPDX-License-Identifier: Apache-2.0
// labels: threads
// alone: it watches the clock
#include <motet/backend/transport/local/local.hpp>
#include <motet/plan/cost/plan_costs.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/runtime/ranks/stand_in.hpp>
#include <motet/schedule/simulate/measured_costs.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace motet;

namespace {

tower_outline tower_of_width(label name, motet::isize layers, motet::isize width, motet::isize tokens) {
  tower_outline out;
  out.name = name;
  out.layers = layers;
  out.width = width;
  out.heads = 8;
  out.tokens = tokens;
  out.embedding = 256;
  return out;
}
model_shape two_towers() {
  model_shape out;
  out.name = "two";
  out.towers.push(tower_of_width("picture", 8, 512, 64));
  out.towers.push(tower_of_width("caption", 4, 256, 32));
  return out;
}
// Eight devices with slow wires, so that messages and sums of gradients tell.
cluster_facts eight() {
  cluster_facts out;
  out.name = "eight";
  out.device.half_flops = out.device.single_flops = 1e12;
  out.device.bytes_per_second = 1e11;
  out.device.products = {0.8, 64, 64};
  out.devices_per_node = 8;
  out.inside = {2e-6, 2e10};
  return out;
}
constexpr motet::isize samples = 96;

struct candidate {
  const char* what;
  plan how;
  double simulated = 0, measured = 0;
};
plan of_eight(module_plan picture, module_plan caption) {
  plan out;
  out.cluster.ranks = 8;
  out.modules.push(picture);
  out.modules.push(caption);
  return out;
}
std::vector<candidate> candidates() {
  const auto picture = [](std::int32_t first, degrees split, int microbatches = 1) {
    return on_ranks("picture", first, split, microbatches);
  };
  const auto caption = [](std::int32_t first, degrees split, int microbatches = 1) {
    return on_ranks("caption", first, split, microbatches);
  };
  module_plan remade = picture(0, {.stages = 2, .data = 2});
  remade.remade.resize(2, 1);
  return {{"replicas side by side", of_eight(picture(0, {.data = 6}), caption(6, {.data = 2}))},
          {"a tensor group for each", of_eight(picture(0, {.tensor = 4}), caption(4, {.tensor = 4}))},
          {"a pipeline of four and four replicas",
           of_eight(picture(0, {.stages = 4}, 4), caption(4, {.data = 4}))},
          {"two pipelines that run forward again", of_eight(remade, caption(4, {.stages = 2}, 2))},
          {"a rank each", of_eight(picture(0, {}), caption(1, {}))}};
}
program program_of(const plan& of) {
  score order;
  REQUIRE(write_plan(of, facts_of(two_towers()), order).ok());
  return compile(order);
}

// An eye, its glue and a language model on 64 ranks: on ranks of their own, in numbers that cut samples
// unlike, or all on the same ones, where the eye and the glue go into the gaps of the language model's
// pipeline.
program of_64_ranks(bool fills) {
  module_facts eye, glue, talk;
  eye.name = "eye";
  eye.layers = 8;
  eye.meets = false;
  glue.name = "glue";
  glue.meets = false;
  glue.from = {0};
  talk.name = "talk";
  talk.layers = 16;
  talk.from = {1};
  const list<module_facts> facts{eye, glue, talk};
  plan of;
  of.cluster.ranks = 64;
  of.schedule = "1f1b";
  const auto add = [&](const char* name, std::int32_t first, degrees split, int microbatches) {
    module_plan made = on_ranks(name, first, split, microbatches);
    made.group = 1;
    made.fills = fills && made.name.view() != "talk";
    of.modules.push(made);
  };
  add("eye", 0, fills ? degrees{.data = 32} : degrees{.stages = 2, .data = 12}, fills ? 1 : 2);
  add("glue", fills ? 0 : 24, {.data = 8}, fills ? 2 : 3);
  add("talk", fills ? 0 : 32, fills ? degrees{.stages = 8, .data = 8} : degrees{.stages = 8, .data = 4}, 4);
  REQUIRE(prove_plan(of, facts, samples).ok());
  score order;
  REQUIRE(write_plan(of, facts, order).ok());
  return compile(order);
}
double simulated(const program& of, const cost_table& costs) {
  timeline when;
  REQUIRE(simulate(of, costs, when).ok());
  return when.makespan;
}

}  // namespace

TEST_CASE("modules that feed one another on 64 ranks take what is simulated, with jitter too") {
  for (const bool fills : {false, true})
    for (const double jitter : {0.0, 0.1}) {
      CAPTURE(fills);
      CAPTURE(jitter);
      const program of = of_64_ranks(fills);
      cost_table costs = even_costs(of, {1, 1, 1});
      costs.wires.inside.latency = 0.25;
      costs.jitter = jitter;
      costs.seed = 5;
      const double wanted = simulated(of, costs);
      // How late a busy machine wakes threads does not grow with the run: each try lasts twice as long.
      bool as_simulated = false, foretold = false;
      for (double lasts = 1; lasts <= 16 && !(as_simulated && foretold); lasts *= 2) {
        const double unit = lasts / wanted;
        stand_in<local::world, local::endpoint> ranks(of, costs, unit, 600);
        const stand_in_result found = ranks.run();
        CHECK(found.seconds >= lasts * (1 - 1e-9));
        as_simulated = as_simulated || found.seconds <= 1.03 * lasts;
        // Costs that are measured in the run foretell it as well as those that it was made with.
        foretold =
            foretold || jitter > 0 ||
            simulated(of, measured_costs(of, {found.when})) == doctest::Approx(found.seconds).epsilon(0.03);
      }
      CHECK(as_simulated);
      CHECK(foretold);
    }
}

TEST_CASE("simulated order of five plans equals their measured order on the timed stand-in") {
  std::vector<candidate> all = candidates();
  const model_shape model = two_towers();
  double least = 0;
  for (candidate& each : all) {
    REQUIRE(prove_plan(each.how, facts_of(model), samples).ok());
    const program of = program_of(each.how);
    timeline when;
    REQUIRE(simulate(of, plan_costs(of, each.how, model, eight(), {}, samples), when).ok());
    each.simulated = when.makespan;
    if (least == 0 || when.makespan < least) least = when.makespan;
  }
  std::sort(all.begin(), all.end(),
            [](const candidate& a, const candidate& b) { return a.simulated < b.simulated; });
  // They are far enough apart that a machine need not be still to tell them apart.
  for (std::size_t i = 1; i < all.size(); ++i) REQUIRE(all[i].simulated > 1.2 * all[i - 1].simulated);

  // The fastest takes a sixth of a second. Waiting never ends early, so of several runs the shortest is the
  // least disturbed; on a machine that is busy each try lasts twice as long, and how late it wakes threads
  // does not grow with that.
  bool ordered = false;
  double unit = 0.16 / least;
  for (int round = 0; round < 5 && !ordered; ++round, unit *= 2) {
    for (candidate& each : all) {
      const program of = program_of(each.how);
      stand_in<local::world, local::endpoint> ranks(of, plan_costs(of, each.how, model, eight(), {}, samples),
                                                    unit, 600);
      const double took = ranks.run().seconds / unit;
      CHECK(took >= each.simulated * (1 - 1e-9));
      if (each.measured == 0 || took < each.measured) each.measured = took;
    }
    ordered = std::is_sorted(all.begin(), all.end(),
                             [](const candidate& a, const candidate& b) { return a.measured < b.measured; });
  }
  for (const candidate& each : all)
    MESSAGE(std::string(each.what) << ": simulated " << each.simulated << " s, measured " << each.measured
                                   << " s");
  CHECK(ordered);
}
