// SPDX-License-Identifier: Apache-2.0
#include "schedule_laws.hpp"
#include "unit/plan/estimated_models.hpp"

#include <array>
#include <vector>

using namespace motet;

namespace {

// Nothing takes time but products and exchanges, so that the stages of a tower are alike but for its
// projection.
cluster_facts products_only(std::int32_t nodes, std::int32_t devices_per_node) {
  cluster_facts on = plain_cluster(nodes, devices_per_node);
  on.device.bytes_per_second = 1e30;
  on.device.single_flops = 1e8;  // joins are slow
  return on;
}
struct pipe {
  int stages, microbatches, group, stash;
  constexpr int kept() const { return stash < 0 ? group : stash; }
};
plan plan_of(const model_shape& model, const std::vector<pipe>& pipes) {
  plan of;
  of.cluster.ranks = 0;
  for (std::size_t k = 0; k < pipes.size(); ++k) {
    of.modules.push(on_ranks(model.towers[static_cast<isize>(k)].name, of.cluster.ranks,
                             {.stages = pipes[k].stages}, pipes[k].microbatches));
    of.modules.back().group = pipes[k].group;
    of.modules.back().stash = pipes[k].stash;
    of.cluster.ranks += pipes[k].stages;
  }
  return of;
}
// The joint time of towers (docs/plan/estimate.md).
double joint_time(const std::vector<pipe>& pipes, const list<module_forecast>& towers, double joins_of_step) {
  double lead = 0, groups = 0, drain = 0;
  for (std::size_t k = 0; k < pipes.size(); ++k) {
    const auto& [stages, microbatches, group, stash] = pipes[k];
    const double forward = towers[static_cast<isize>(k)].forward_seconds,
                 backward = towers[static_cast<isize>(k)].backward_seconds;
    const double again = (group - pipes[k].kept()) * forward;
    lead = std::max(lead, (stages - 1 + group) * forward);
    groups = std::max(groups, group * (forward + backward) + again);
    drain = std::max(drain, again + (group + stages - 1) * backward);
  }
  return lead + (pipes[0].microbatches / pipes[0].group - 1) * groups + joins_of_step + drain;
}

}  // namespace

TEST_CASE("one tower takes what the closed form says") {
  model_shape model;
  model.towers = {tower_of_layers("picture", 24, 256, 128)};
  const std::vector<std::array<int, 4>> cases{{1, 1, 1, -1}, {2, 4, 1, -1}, {4, 4, 4, -1}, {4, 4, 2, 2},
                                              {4, 4, 2, 0},  {3, 5, 3, 1},  {6, 3, 2, 3}};
  for (const auto& [stages, group, groups, stash] : cases) {
    CAPTURE(stages);
    CAPTURE(group);
    CAPTURE(stash);
    const pipe one{stages, group * groups, group, stash};
    const run_forecast found =
        estimated(plan_of(model, {one}), model, products_only(1, 8), 64 * groups * group);
    const double forward = found.modules[0].forward_seconds, backward = found.modules[0].backward_seconds,
                 m = one.microbatches;
    const double closed = (m + stages - 1) * (forward + backward) + groups * (group - one.kept()) * forward +
                          found.join_seconds;
    CHECK(backward == about(2 * forward, .1));
    CHECK(found.step_seconds == about(closed, .002));
    CHECK(found.step_seconds == about(joint_time({one}, found.modules, found.join_seconds), .002));
  }
}

TEST_CASE("towers that meet take the joint time") {
  model_shape model;
  model.towers = {tower_of_layers("picture", 12, 256, 128), tower_of_layers("caption", 12, 128, 64),
                  tower_of_layers("sound", 12, 128, 256)};
  laws::dice roll(3);
  int slow_joins = 0;
  for (int n = 0; n < 300; ++n) {
    CAPTURE(n);
    const int towers = roll.between(1, 3), groups = roll.between(1, 4);
    model_shape some = model;
    some.towers.resize(towers);
    std::vector<pipe> pipes;
    for (int k = 0; k < towers; ++k) {
      constexpr int divisors[] = {1, 2, 3, 4, 6};
      const int group = roll.between(1, 6), stages = divisors[roll.below(5)];
      pipes.push_back({stages, group * groups, group, roll.between(-1, group)});
    }
    const run_forecast found =
        estimated(plan_of(some, pipes), some, products_only(4, 8), isize{60} * groups * 8);
    CHECK(found.step_seconds == about(joint_time(pipes, found.modules, found.join_seconds), .004));
    slow_joins += found.join_seconds > .2 * found.step_seconds ? 1 : 0;
  }
  CHECK(slow_joins > 50);
}

TEST_CASE("the largest batch that a loss sees") {
  // Static bytes Ms and bytes Ma kept of a sample, of the whole tower; the memory of a device is what some
  // batch needs.
  model_shape model;
  model.towers = {tower_of_layers("picture", 24, 256, 128)};
  constexpr training_bytes bytes{.feature = 0};
  const auto memory = [&](const plan& of, isize samples) {
    return estimated(of, model, products_only(1, 16), samples, {}, bytes).memory_bytes;
  };
  const plan alone = plan_of(model, {{1, 1, 1, -1}});
  const double kept = memory(alone, 101) - memory(alone, 100), fixed = memory(alone, 100) - 100 * kept;
  CHECK(fixed == about(parameters_of(model.towers[0]) * 16));

  SUBCASE("data parallel: N (M - Ms) / Ma") {
    for (const int ranks : {2, 8}) {
      plan of = plan_of(model, {{1, 1, 1, -1}});
      of.cluster.ranks = ranks;
      of.modules[0].on = mesh::from(0, {.data = ranks});
      CHECK(ranks * (memory(of, 160) - fixed) / kept == about(160));
    }
  }
  SUBCASE("tensor parallel: (M N - Ms) / Ma, but for what tensor parallelism leaves whole") {
    for (const int ranks : {2, 8}) {
      plan of = plan_of(model, {{1, 1, 1, -1}});
      of.cluster.ranks = ranks;
      of.modules[0].on = mesh::from(0, {.tensor = ranks});
      CHECK((memory(of, 1600) * ranks - fixed) / kept == about(1600, .06));
    }
  }
  SUBCASE("a classical pipeline with a loss for each microbatch: (M - Ms / P) / Ma, however many stages") {
    for (const int stages : {2, 4, 8}) {
      plan of = plan_of(model, {{stages, 32, 1, -1}});
      of.schedule = "1f1b";
      CHECK((memory(of, 32 * 40) - fixed / stages) / kept == about(40, .02));
    }
  }
  SUBCASE("batch_sync: (M P - Ms) / Ma  G / (G + P - 1), not the half of it") {
    for (const auto& [stages, group] :
         std::vector<std::array<int, 2>>{{4, 4}, {4, 16}, {4, 32}, {2, 1}, {8, 5}}) {
      const isize seen = group * 8;
      const double most =
          (memory(plan_of(model, {{stages, 4 * group, group, -1}}), 4 * seen) * stages - fixed) / kept;
      CHECK(most * group / (group + stages - 1) == about(static_cast<double>(seen), .02));
      if (group > stages) CHECK(static_cast<double>(seen) > 1.05 * most / 2);
      if (group < stages - 1) CHECK(static_cast<double>(seen) < most / 2);
    }
  }
  SUBCASE("batch_sync that keeps nothing of first forwards: as many samples as anybody likes") {
    const plan small = plan_of(model, {{4, 16, 4, 0}}), large = plan_of(model, {{4, 256, 64, 0}});
    CHECK(memory(large, 8 * 256) == about(memory(small, 8 * 16)));
    CHECK(estimated(large, model, products_only(1, 16), 8 * 256).step_seconds >
          12 * estimated(small, model, products_only(1, 16), 8 * 16).step_seconds);
  }
}

TEST_CASE("backward that makes everything again") {
  const model_shape model = pictures_and_captions();
  const cluster_facts on = wired_cluster(1, 8);
  plan of{{.ranks = 6}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.stages = 2, .tensor = 2}, 8));
  of.modules.push(on_ranks("caption", 4, {.data = 2}, 8));
  of.modules[0].group = of.modules[1].group = 4;
  const run_forecast keeps = estimated(of, model, on, 1024);
  of.modules[0].remade.resize(2, 1);
  const run_forecast makes = estimated(of, model, on, 1024);
  // A forward more, with its messages; the model's FLOPs are the same.
  CHECK(makes.modules[0].backward_seconds ==
        about(keeps.modules[0].backward_seconds + keeps.modules[0].forward_seconds));
  CHECK(makes.modules[0].forward_seconds == keeps.modules[0].forward_seconds);
  CHECK(makes.modules[0].flops == keeps.modules[0].flops);
  CHECK(makes.step_seconds > 1.2 * keeps.step_seconds);
  // Five microbatches are live on the first stage: now one whole one, and nothing that came in.
  CHECK(makes.modules[0].bytes.activations < .3 * keeps.modules[0].bytes.activations);
  CHECK(makes.modules[1].bytes.total() == keeps.modules[1].bytes.total());
}

TEST_CASE("a frozen tower, and one whose features are cached") {
  model_shape model = pictures_and_captions();
  const cluster_facts on = wired_cluster(2, 4);
  plan of{{8, 4}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.data = 4}, 4));
  of.modules.push(on_ranks("caption", 4, {.data = 4}, 4));
  const run_forecast both = estimated(of, model, on, 1024);
  model.towers[0].frozen = true;
  const run_forecast frozen = estimated(of, model, on, 1024);
  CHECK(frozen.modules[0].forward_seconds == both.modules[0].forward_seconds);
  CHECK(frozen.modules[0].backward_seconds == 0);
  CHECK(frozen.modules[0].flops == about(both.modules[0].flops / 3, .1));
  CHECK((frozen.modules[0].reduction_seconds == 0 && frozen.modules[0].bytes.state == 0 &&
         frozen.modules[0].bytes.gradients == 0));
  CHECK(frozen.modules[0].bytes.activations < .1 * both.modules[0].bytes.activations);
  CHECK(frozen.step_seconds < .5 * both.step_seconds);
  CHECK(frozen.modules[1].backward_seconds == both.modules[1].backward_seconds);
  model.towers[0].cached = true;
  const run_forecast cached = estimated(of, model, on, 1024);
  CHECK(cached.modules[0].bytes.weights == 0);
  CHECK(cached.modules[0].forward_seconds < .01 * frozen.modules[0].forward_seconds);
  CHECK(cached.step_seconds < frozen.step_seconds);
  CHECK(cached.exchange_bytes == both.exchange_bytes);  // the loss sees both
}

TEST_CASE("no wire, no memory and no device makes a step slower by being faster") {
  const model_shape model = pictures_and_captions();
  laws::dice roll(8);
  int faster = 0;
  for (int n = 0; n < 60; ++n) {
    CAPTURE(n);
    plan of{{16, 4}, "batch_sync", {}};
    of.modules.push(on_ranks(
        "picture", 0,
        {.stages = roll.between(1, 2), .data = roll.between(1, 2), .tensor = 1 << roll.below(3)}, 8));
    of.modules.push(
        on_ranks("caption", roll.below(2) == 0 ? 0 : 12, {.data = 2, .context = roll.between(1, 2)}, 4));
    of.modules[0].group = 4, of.modules[1].group = 2;
    of.modules[0].zero = roll.below(4), of.modules[1].zero = roll.below(4);
    cluster_facts on = wired_cluster(4, 4);
    const double before = estimated(of, model, on, 512).step_seconds;
    const auto try_it = [&](double& rate, double to) {
      const double was = std::exchange(rate, to);
      const double now = estimated(of, model, on, 512).step_seconds;
      CHECK(now <= before * (1 + 1e-12));
      faster += now < before ? 1 : 0;
      rate = was;
    };
    try_it(on.inside.bytes_per_second, 3 * on.inside.bytes_per_second);
    try_it(on.between.bytes_per_second, 3 * on.between.bytes_per_second);
    try_it(on.between.latency, 0);
    try_it(on.device.bytes_per_second, 3 * on.device.bytes_per_second);
    try_it(on.device.half_flops, 3 * on.device.half_flops);
  }
  CHECK(faster > 200);
}

TEST_CASE("what an estimate tells beside its time") {
  const model_shape model = pictures_and_captions();
  const cluster_facts on = wired_cluster(4, 4);
  plan of{{16, 4}, "batch_sync", {}};
  of.modules.push(on_ranks("caption", 12, {.data = 4}, 2));
  of.modules.push(on_ranks("picture", 0, {.data = 12}, 2));
  const run_forecast found = estimated(of, model, on, 960);
  CHECK(found.samples_per_second == about(960 / found.step_seconds));
  CHECK((found.bubble_rate > 0 && found.bubble_rate < 1));
  CHECK((found.communication_share > 0 && found.communication_share < 1));
  // Utilisation times ranks is what the whole model computes; the model's order counts.
  CHECK(found.modules[0].utilisation * 12 * 100e12 * found.step_seconds == about(found.modules[0].flops));
  CHECK(found.modules[0].flops > 10 * found.modules[1].flops);
  CHECK((found.fullest_rank >= 0 && found.fullest_rank < 12));
  CHECK(found.memory_bytes == about(found.modules[0].bytes.total()));
  // Sums behind all backwards take longer; so does an exchange of gradients.
  CHECK(estimated(of, model, on, 960, {.sums_overlap = false}).step_seconds > found.step_seconds);
  const run_forecast sends = estimated(of, model, on, 960, {.exchange_gradients = true});
  CHECK(sends.exchange_bytes == about(2 * found.exchange_bytes, .01));
  CHECK(sends.step_seconds > found.step_seconds);
  // With towers on the same ranks, everybody needs both.
  plan same{{16, 4}, "batch_sync", {}};
  same.modules.push(on_ranks("picture", 0, {.data = 16}));
  same.modules.push(on_ranks("caption", 0, {.data = 16}));
  const run_forecast together = estimated(same, model, on, 960);
  CHECK(together.exchange_bytes == about(2 * found.exchange_bytes * 15 / 16));
  CHECK(together.memory_bytes ==
        about(together.modules[0].bytes.total() + together.modules[1].bytes.total()));
  // No step is shorter than what leaves a node takes: rows go to and fro between two nodes, in three flows of
  // which each waits for itself alone.
  model_shape one = model;
  one.towers.resize(1);
  plan zigzag{{16, 4}, "batch_sync", {}};
  zigzag.modules.push({});
  module_plan& own = zigzag.modules.back();
  own.name = "picture";
  own.on = mesh({.stages = 4}, {0, 4, 1, 5});
  own.microbatches = 64;
  cluster_facts slow = on;
  slow.between = {0, 1e8};
  const run_forecast bound = estimated(zigzag, one, slow, 640);
  CHECK(bound.node_traffic_bytes == 3 * 640 * 2 * 256 * 512.);
  CHECK(bound.step_seconds == about(bound.node_traffic_bytes / 1e8));
}

TEST_CASE("plans that do not fit are told by their rules") {
  const model_shape model = pictures_and_captions();
  plan of{{16, 4}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.data = 8}, 2));
  run_forecast out;
  CHECK(estimate(of, model, wired_cluster(4, 4), {}, 64, out).why == reason::no_ranks);
  of.modules.push(on_ranks("caption", 8, {.data = 8}, 2));
  CHECK(estimate(of, model, wired_cluster(4, 4), {}, 64, out).ok());
  CHECK(estimate(of, model, wired_cluster(4, 4), {}, 8, out).why == reason::too_few_samples);
  const verdict outside = estimate(of, model, wired_cluster(2, 4), {}, 64, out);
  CHECK((outside.why == reason::rank_outside && outside.got == 16 && outside.wanted == 8));
  of.schedule = "fastest";
  CHECK(estimate(of, model, wired_cluster(4, 4), {}, 64, out).why == reason::unknown_schedule);
  CHECK(out.modules.empty());
}

TEST_CASE("thousands of ranks are estimated as a few") {
  const model_shape model = pictures_and_captions();
  const auto on_nodes = [&](std::int32_t nodes) {
    plan of{{8 * nodes, 8}, "batch_sync", {}};
    of.modules.push(on_ranks("picture", 0, {.stages = 2, .data = 3 * nodes / 8, .tensor = 8}, 8));
    of.modules.push(on_ranks("caption", 6 * nodes, {.data = nodes / 2, .tensor = 4}, 8));
    return estimated(of, model, wired_cluster(nodes, 8), 4096 * 24);
  };
  const run_forecast found = on_nodes(512), few = on_nodes(8);
  CHECK(found.step_seconds < few.step_seconds / 20);  // 64 times the ranks
  CHECK(found.step_seconds > few.step_seconds / 64);
}
