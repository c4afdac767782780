// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/estimate_plan.hpp>
#include <motet/plan/cost/plan_costs.hpp>

#include "unit/plan/estimated_models.hpp"

using namespace motet;

namespace {

// 8 layers of 512 columns over 256 rows, and 4 of 256 over 64.
const model_shape clip = pictures_and_captions();
constexpr double picture_rows = 256 * 512;

stage_seconds first_stage(const plan& of, const cluster_facts& on, isize samples,
                          const model_shape& in = clip, const training_bytes& bytes = {},
                          const estimate_options& options = {}) {
  const plan_pricer by(of, in, on, bytes, samples, options);
  return by.stage(0, 0, 0, 0, of.modules[0].on.split().stages > 1 ? 1 : -1);
}
plan one_module(mesh on, int microbatches = 1) {
  plan of{{64, 8}, "batch_sync", {}};
  of.modules.push({"picture", static_cast<mesh&&>(on)});
  of.modules[0].microbatches = microbatches;
  return of;
}

// Each module takes these seconds, forward and backward together; a third of it is forward.
double toy_time(const plan& of, const list<double>& seconds, const list<double>& sums,
                std::uint8_t summing = lane::reduce) {
  list<module_facts> facts;
  for (const module_plan& own : of.modules) facts.push({own.name, 1, 8});
  REQUIRE(check_plan(of, facts, 12).ok());
  program made;
  REQUIRE(write_program(unfolded_plan(of), facts, made, summing).ok());
  cost_table costs = even_costs(made, {});
  for (const voice& each : made.voices) {
    const double all = seconds[each.module];
    costs.stages[each.first_place] = {all / 3, all / 3, all / 3};
    costs.reductions.push(sums[each.module]);
  }
  timeline when;
  REQUIRE(simulate(made, costs, when).ok());
  return when.makespan;
}
plan toy(std::int32_t small_ranks, std::int32_t big_first, degrees big) {
  plan of{{4, 4}, "batch_sync", {}};
  of.modules.push(on_ranks("small", 0, small_ranks == 4 ? big : degrees{}));
  of.modules.push(on_ranks("big", big_first, big));
  return of;
}

}  // namespace

TEST_CASE("a stage computes its layers, and again where it is remade") {
  const cluster_facts on = wired_cluster(8, 8);
  plan of = one_module(mesh::from(0, {.stages = 2}), 4);
  const stage_seconds keeps = first_stage(of, on, 64);
  const part_times alone = times_of_layers(clip.towers[0], 0, 4, 16, of.modules[0].on.split(), on.device, {});
  CHECK((keeps.forward() == alone.forward && keeps.backward_input() == alone.backward_input &&
         keeps.backward() == alone.backward()));
  CHECK((keeps.forward_group == 0 && keeps.backward_group == 0 && keeps.sum == 0 && keeps.sum_left == 0 &&
         keeps.gather == 0));
  of.modules[0].remade = {1, 0};
  CHECK(first_stage(of, on, 64).backward() == about(alone.backward() + alone.forward));
  of.modules[0].layers = {1, 7};
  CHECK(first_stage(of, on, 64).forward() ==
        times_of_layers(clip.towers[0], 0, 1, 16, of.modules[0].on.split(), on.device, {}).forward);
}

TEST_CASE("a tensor group gathers and sums in every block") {
  cluster_facts on = wired_cluster(8, 8);
  const plan of = one_module(mesh::from(0, {.tensor = 4}), 2);
  const double bytes = 8 * 4 * picture_rows * 16 * 2;  // blocks, calls, numbers of a sample, samples, bytes
  const stage_seconds found = first_stage(of, on, 32);
  CHECK(found.forward_group == about(8 * 4 * 3 * 5e-6 + bytes * 3 / 4 / 100e9));
  CHECK(found.backward_group == about(1.5 * found.forward_group));
  // Over two nodes the slowest wire counts, and two groups share it.
  plan wide = one_module(mesh::from(4, {.data = 1, .tensor = 8}), 2);
  wide.cluster.tensor_may_cross_nodes = true;
  CHECK(first_stage(wide, on, 32).forward_group >
        6 * first_stage(one_module(mesh::from(0, {.tensor = 8}), 2), on, 32).forward_group);
  on.inside.bytes_per_second *= 2;
  CHECK(first_stage(of, on, 32).forward_group == about(8 * 4 * 3 * 5e-6 + bytes * 3 / 4 / 200e9));
}

TEST_CASE("rows in pieces are exchanged while others are computed") {
  cluster_facts on = wired_cluster(8, 8);
  on.inside.latency = 1e-7;
  plan of = one_module(mesh::from(0, {.tensor = 4}), 2);
  const stage_seconds one = first_stage(of, on, 32);
  for (const int pieces : {2, 8}) {
    of.modules[0].pieces = pieces;
    const stage_seconds found = first_stage(of, on, 32);
    // Each further piece is a round of messages for each of the four calls of a block.
    const double calls = 8 * 4 * 3 * 1e-7 * (pieces - 1);
    CHECK(found.compute.forward == one.compute.forward);
    CHECK(found.forward_group ==
          about(one.compute.forward > one.forward_group + calls
                    ? (one.forward_group + calls) / pieces
                    : one.forward_group + calls - one.compute.forward * (pieces - 1) / pieces));
    CHECK(found.forward_group < one.forward_group);
    CHECK(found.backward_group < one.backward_group);
  }
  // The model takes as many as pay: none where a round of messages takes longer than it hides.
  for (const double latency : {1e-7, 1e-2}) {
    on.inside.latency = latency;
    double least = 1e300;
    for (const int pieces : {1, 2, 4, 8}) {
      of.modules[0].pieces = pieces;
      least = std::min(least, first_stage(of, on, 32).forward_group);
    }
    of.modules[0].pieces = 1;
    const double whole = first_stage(of, on, 32).forward_group;
    of.modules[0].pieces = 0;
    CHECK(first_stage(of, on, 32).forward_group == least);
    CHECK((least < whole) == (latency < 1e-3));
  }
}

// As a run has it, whose ranks settle it before they start.
TEST_CASE("the number of pieces that pays is one for all stages of a module, forward and backward") {
  cluster_facts on = wired_cluster(8, 8);
  plan of = one_module(mesh::from(0, {.stages = 2, .tensor = 4}), 2);
  of.modules[0].layers = {1, 7};
  list<int> seen;
  for (double latency = 1e-8; latency < 1e-3; latency *= 1.5) {
    on.inside.latency = latency;
    of.modules[0].pieces = 0;
    const plan_pricer open(of, clip, on, {}, 32);
    plan said = of;
    said.modules[0].pieces = open.pieces(0);
    const plan_pricer closed(said, clip, on, {}, 32);
    for (const std::int32_t s : {0, 1}) {
      const stage_seconds found = open.stage(0, s, 0, s, s == 0 ? 1 : -1),
                          wanted = closed.stage(0, s, 0, s, s == 0 ? 1 : -1);
      CHECK(found.forward_group == wanted.forward_group);
      CHECK(found.backward_group == wanted.backward_group);
    }
    run_forecast told;
    REQUIRE(estimate(of, model_shape{"one", {clip.towers[0]}}, on, {}, 32, told).ok());
    CHECK(told.modules[0].pieces == open.pieces(0));
    if (seen.empty() || seen.back() != open.pieces(0)) seen.push(open.pieces(0));
  }
  // The longer a round of messages, the fewer.
  CHECK(seen.size() > 2);
  CHECK(std::is_sorted(seen.begin(), seen.end(), std::greater<int>()));
  CHECK((seen[0] == 8 && seen.back() == 1));
  // Without a tensor group there is nothing to choose.
  of.modules[0].on = mesh::from(0, {.stages = 2});
  CHECK(plan_pricer(of, clip, on, {}, 32).pieces(0) == 1);
}

TEST_CASE("a context group exchanges rows for heads, or sends keys round behind the computation") {
  cluster_facts on = wired_cluster(8, 8);
  const plan of = one_module(mesh::from(0, {.context = 4}));
  const double heads = first_stage(of, on, 16).forward_group;
  // Queries, keys, values and results of a quarter of the rows, three quarters of which go elsewhere.
  const double bytes = 8 * 4 * picture_rows / 4 * 16 * 2;
  CHECK(heads >= bytes * 3 / 4 / 100e9);
  CHECK(heads < 1.1 * bytes * 3 / 4 / 100e9 + 8 * 4 * 3 * 5e-6 + 1e-3);
  model_shape ring = clip;
  ring.towers[0].ring = true;
  CHECK(first_stage(of, on, 16, ring).forward_group < heads);
  on.device.half_flops = on.device.bytes_per_second = 1e30;  // nothing to hide behind
  CHECK(first_stage(of, on, 16, ring).forward_group >= 8 * 2 * picture_rows * 16 * 2 * 3 / 4 / 100e9);
}

TEST_CASE("the rank with the busiest experts is waited for, over the slowest wires of all that share them") {
  model_shape mixed{"mixed", {clip.towers[0]}};
  tower_outline& net = mixed.towers[0];
  net.experts = 8, net.chosen = 2, net.hidden = 1024;
  plan of = one_module(mesh::from(0, {.data = 8}));
  of.modules[0].experts = 8;
  // Eight replicas with two samples of 256 rows choose 8,192 experts, on one node or two.
  const double by_lot = 1 + std::sqrt(7.0 / 8192 * 2 * std::log(8.0));
  for (const double uneven : {0.0, 1.0, 1.25}) {
    net.uneven = uneven;
    const double busiest = uneven > 0 ? uneven : by_lot;
    for (const std::int32_t nodes : {1, 2}) {
      const cluster_facts on = wired_cluster(nodes, 8 / nodes);
      of.cluster.ranks_per_node = 8 / nodes;
      const plan_pricer by(of, mixed, on, {}, 16);
      CHECK(by.work(0, 0).expert_numbers == about(busiest * 8 * 2 * 2 * picture_rows));
      // A block sends them and gets them back, 2 bytes each.
      const double bytes = busiest * 2 * 2 * picture_rows * 2;
      CHECK(by.stage(0, 0, 0, 0, -1).forward_group ==
            about(16 * all_to_all_seconds(bytes, {nodes, 8 / nodes, 1}, on)));
    }
    // Of its work the busiest rank has more in both products of an expert, and little beside them.
    const plan_pricer by(of, mixed, wired_cluster(1, 8), {}, 16);
    tower_outline even = net;
    even.sharers = 8, even.uneven = 1;
    const part_steps share = steps_of(even, tower_part::block);
    const double more = by.work(0, 0).forward_flops - work_of_layers(even, 0, 8).forward_flops,
                 products = (busiest - 1) * 8 * (share.products[3].flops() + share.products[4].flops());
    CHECK(more >= products * (1 - 1e-9));
    CHECK(more <= products * 1.02);
  }
  // Slow wires between nodes are all that such rows take.
  of.cluster.ranks_per_node = 4;
  cluster_facts far = wired_cluster(2, 4);
  const double before = first_stage(of, far, 16, mixed).forward_group;
  far.between.bytes_per_second /= 10;
  CHECK(first_stage(of, far, 16, mixed).forward_group > 5 * before);
}

TEST_CASE("rows go to the next stage, beside those of others that leave the node") {
  const cluster_facts on = wired_cluster(8, 8);
  const double bytes = picture_rows * 16 * 2;
  CHECK(first_stage(one_module(mesh::from(0, {.stages = 2})), on, 16).message == about(5e-6 + bytes / 100e9));
  CHECK(first_stage(one_module(mesh::from(0, {.stages = 2, .data = 4})), on, 64).message ==
        about(5e-6 + bytes / 100e9));
  // Four shards have a quarter each.
  CHECK(first_stage(one_module(mesh::from(0, {.stages = 2, .tensor = 8})), on, 16).message ==
        about(20e-6 + bytes / 5e9));
  CHECK(first_stage(one_module(mesh::from(0, {.stages = 2, .data = 8})), on, 128).message ==
        about(20e-6 + 8 * bytes / 5e9));
}

TEST_CASE("gradients are summed while the last backward runs, then weights change") {
  const cluster_facts on = wired_cluster(8, 8);
  const double parameters = parameters_of(clip.towers[0]);
  plan of = one_module(mesh::from(0, {.data = 8}));
  const stage_seconds all = first_stage(of, on, 8);
  CHECK(all.sum == about(2 * 7 * (5e-6 + 4 * parameters / 8 / 100e9)));
  CHECK(all.sum_left == about(all.sum - all.backward()));
  CHECK(first_stage(of, on, 8, clip, {}, {.sums_overlap = false}).sum_left == all.sum);
  // Behind a long backward the last bucket is left.
  CHECK(first_stage(of, on, 8000).sum_left == about(2 * 7 * (5e-6 + (1 << 20) / 8.0 / 100e9), .5));
  CHECK(all.update == about(parameters * (2 * 4 + 4 + 2 * 8) / 1e12));
  of.modules[0].zero = 1;
  const stage_seconds shared = first_stage(of, on, 8);
  CHECK(shared.sum == about(all.sum / 2));
  CHECK(shared.gather == about(all.sum / 2));
  CHECK(shared.update == about(all.update / 8));
  // Weights come together for each forward and each backward, and not behind the update.
  of.modules[0].zero = 3;
  const stage_seconds lent = first_stage(of, on, 8);
  CHECK((lent.gather == 0 && lent.lend == shared.gather && lent.update == shared.update));
  CHECK(lent.forward() == about(shared.forward() + lent.lend));
  CHECK(lent.backward() == about(shared.backward() + lent.lend));
  // Parts of the context sum the same gradients.
  CHECK(first_stage(one_module(mesh::from(0, {.data = 4, .context = 2})), on, 8).sum == about(all.sum));
  // A frozen module has none of it.
  model_shape frozen = clip;
  frozen.towers[0].frozen = true;
  const stage_seconds still = first_stage(one_module(mesh::from(0, {.data = 8})), on, 8, frozen);
  CHECK((still.backward() == 0 && still.sum == 0 && still.update == 0 && still.forward() == all.forward()));
}

TEST_CASE("microbatches of unequal size") {
  const cluster_facts on = wired_cluster(8, 8);
  plan of = one_module(mesh::from(0, {.data = 3}), 4);
  of.modules[0].group = 2;
  const plan_pricer by(of, clip, on, {}, 94);  // 47 in a loss: 16, 16, 15 for the replicas
  CHECK_FALSE(by.even(0));
  CHECK(by.largest_microbatch(0) == 8);
  double sum = 0;
  for (isize r = 0; r < 3; ++r)
    for (isize m = 0; m < 4; ++m) sum += 8 * by.scale(0, r, m);
  CHECK(sum == about(94));
  CHECK(by.scale(0, 2, 1) == 7. / 8);
  CHECK((by.key(0, 0) == by.key(0, 1) && by.key(0, 0) != by.key(0, 2)));
}

TEST_CASE("costs of a plan's own program") {
  const cluster_facts on = wired_cluster(2, 4);
  plan of{{8, 4}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.stages = 2, .data = 2}, 4));
  of.modules.push(on_ranks("caption", 4, {.data = 4}, 2));
  of.modules[0].group = 2, of.modules[1].group = 1;
  of.modules[0].zero = 2;
  const list<module_facts> facts = facts_of(clip);
  score order;
  REQUIRE(write_plan(of, facts, order).ok());
  const program made = compile(order);
  const cost_table costs = plan_costs(made, of, clip, on, {}, 256);
  REQUIRE(costs.stages.size() == made.places.size());
  REQUIRE(costs.reductions.size() == made.places.size());
  timeline when;
  REQUIRE(simulate(made, costs, when).ok());
  CHECK(when.makespan == about(estimated(of, clip, on, 256, {.fold = false}).step_seconds));
  CHECK(when.makespan == about(estimated(of, clip, on, 256).step_seconds));
}

TEST_CASE("exchanges of a tensor group, and sums of every backward, are gaps of their operations") {
  const cluster_facts on = wired_cluster(2, 4);
  plan of{{8, 4}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.data = 2, .tensor = 2}, 2));
  of.modules.push(on_ranks("caption", 4, {.data = 4}, 2));
  of.modules[0].zero = 2;
  of.modules[0].remade = {1};
  score order;
  REQUIRE(write_plan(of, facts_of(clip), order).ok());
  const cost_table costs = plan_costs(compile(order), of, clip, on, {}, 256);
  const plan_pricer by(of, clip, on, {}, 256);
  const stage_seconds wanted = by.stage(0, 0, 0, 0, -1);
  const stage_cost& found = costs.stages[0];
  CHECK((wanted.forward_group > 0 && wanted.sum_left > 0));
  CHECK(found.forward_gaps == wanted.forward_group);
  CHECK(found.input_gaps == wanted.backward_group + wanted.forward_group);
  CHECK(found.weight_gaps == wanted.sum_left);
  of.modules[0].zero = 3;
  REQUIRE(write_plan(of, facts_of(clip), order).ok());
  const stage_cost lent = plan_costs(compile(order), of, clip, on, {}, 256).stages[0];
  const double waits = plan_pricer(of, clip, on, {}, 256).stage(0, 0, 0, 0, -1).lend;
  CHECK((waits > 0 && lent.forward_gaps == about(found.forward_gaps + waits)));
  CHECK(lent.input_gaps == about(found.input_gaps + 2 * waits));  // it is made again, too
  const stage_cost& alone = costs.stages[costs.stages.size() - 1];
  CHECK((alone.forward_gaps == 0 && alone.input_gaps == 0 && alone.weight_gaps == 0));
}

TEST_CASE("measured gaps come before counted ones, where module and degrees are the same") {
  const cluster_facts on = wired_cluster(2, 4);
  plan of{{8, 4}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.data = 2, .tensor = 2}, 2));
  of.modules.push(on_ranks("caption", 4, {.data = 2, .tensor = 2}, 2));
  of.modules[0].remade = {1};
  machine_profile measured;
  measured.activation_bytes = 2;
  measured.gaps.push({"picture", {.tensor = 2}, {.75, .5, .25}});
  measured.gaps.push({"caption", {.tensor = 4}, {.75, .5, .25}});
  const auto costs = [&](const machine_profile* by) {
    score order;
    REQUIRE(write_plan(of, facts_of(clip), order).ok());
    return plan_costs(compile(order), of, clip, on, {}, 256, {.measured = by});
  };
  const part_times takes = plan_pricer(of, clip, on, {}, 256).stage(0, 0, 0, 0, -1).compute;
  const cost_table counted = costs(nullptr);
  for (const int zero : {0, 2, 3}) {
    CAPTURE(zero);
    of.modules[0].zero = zero;
    if (zero > 0) measured.gaps[0].under = {.tensor = 2, .zero = zero, .data = 2};
    const cost_table found = costs(&measured);
    const stage_cost& own = found.stages[0];
    CHECK(own.forward == about(4 * takes.forward));
    CHECK(own.backward_input == about(2 * (takes.backward_input + takes.forward)));  // it is made again
    CHECK(own.backward_weight == about(takes.backward_weight / .75));
    CHECK((own.gaps(op::forward) == about(.75) && own.gaps(op::backward_input) == about(.5) &&
           own.gaps(op::backward_weight) == about(.25)));
    // Of the captions another degree was measured.
    const isize last = found.stages.size() - 1;
    CHECK((found.stages[last].forward == counted.stages[last].forward &&
           found.stages[last].forward_gaps == counted.stages[last].forward_gaps));
  }
  // A tower that has another name in the profile; and numbers of another size.
  of.modules[0].zero = 0;
  measured.gaps[0] = {"seen", {.tensor = 2}, {.75, .5, .25}};
  CHECK(costs(&measured).stages[0].forward == counted.stages[0].forward);
  measured.modules.push({clip.towers[0], {{1, 16, {}, {1, 1, 1}, {}}}});
  measured.modules[0].of.name = "seen";
  CHECK(costs(&measured).stages[0].gaps(op::forward) == about(.75));
  measured.activation_bytes = 4;
  CHECK(costs(&measured).stages[0].forward == counted.stages[0].forward);

  measured.activation_bytes = 2;
  const run_forecast told = estimated(of, clip, on, 256, {.measured = &measured});
  CHECK((told.modules[0].waits_measured && !told.modules[1].waits_measured));
  CHECK(told.modules[0].forward_waits == about(.75));
  CHECK((told.modules[1].forward_waits > 0 && told.modules[1].backward_waits > 0));
}

TEST_CASE("measured times come before FLOPs") {
  const cluster_facts on = wired_cluster(8, 8);
  machine_profile measured;
  measured.activation_bytes = 2;
  measured.modules.push({clip.towers[0], {{1, 16, {.25, 0, 0}, {1, 2, 3}, {.5, .5, .5}}}});
  const stage_seconds found =
      first_stage(one_module(mesh::from(0, {})), on, 16, clip, {}, {.measured = &measured});
  CHECK(found.forward() == about(8.75));
  CHECK(found.backward() == about(41));
}

TEST_CASE("figure 3 of DistMM: a small tower is not cut as finely as a large one") {
  // At four ranks the small tower reaches a tenth of their peak for 2 units of time, the large one 30 % for
  // 3; at one rank 20 %, at three 35 %.
  const double small_work = 4 * 2 * .10, big_work = 4 * 3 * .30;
  CHECK(toy_time(toy(4, 0, {.tensor = 4}), {2, 3}, {0, 0}) == about(5));
  CHECK((small_work + big_work) / (4 * 5) == about(.22));
  CHECK(toy_time(toy(1, 1, {.tensor = 3}), {small_work / .20, big_work / 3 / .35}, {0, 0}) == about(4));
}

TEST_CASE("figure 4 of DistMM: each tower has the samples that fill its ranks") {
  // Three samples of each tower on every rank reach 20 % and 40 %; all 12 on one rank, and 4 on each of
  // three, 45 %.
  const double small_work = 4 * 2 * .20, big_work = 4 * 3 * .40;
  CHECK(toy_time(toy(4, 0, {.data = 4}), {2, 3}, {0, 0}) == about(5));
  CHECK(toy_time(toy(1, 1, {.data = 3}), {small_work / .45, big_work / 3 / .45}, {0, 0}) == about(32 / 9.));
}

TEST_CASE("figure 5 of DistMM: ranks of one tower sum its gradients alone") {
  // Computing takes 1 and 3 units, sums 2 and 4; apart 4 and 4, and sums 0 and 4.
  CHECK(toy_time(toy(4, 0, {.data = 4}), {1, 3}, {2, 4}, lane::compute) == about(10));
  CHECK(toy_time(toy(1, 1, {.data = 3}), {4, 4}, {0, 4}, lane::compute) == about(8));
  // The small tower's sum beside the large one's backward takes as long as towers apart.
  CHECK(toy_time(toy(4, 0, {.data = 4}), {1, 3}, {2, 4}) == about(8));
  CHECK(toy_time(toy(1, 1, {.data = 3}), {4, 4}, {0, 4}) == about(8));
}
