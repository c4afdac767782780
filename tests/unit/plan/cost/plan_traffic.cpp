// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/plan_traffic.hpp>

#include "unit/plan/estimated_models.hpp"

using namespace motet;

namespace {

double traffic(const plan& of, const model_shape& model, isize samples) {
  const cluster_facts on = wired_cluster(2, 4);
  return node_traffic(plan_pricer(of, model, on, {}, samples));
}
plan pictures(mesh on, int microbatches = 1) {
  plan of{{8, 4, true}, "batch_sync", {}};
  of.modules.push({"picture", static_cast<mesh&&>(on)});
  of.modules[0].microbatches = microbatches;
  return of;
}

}  // namespace

TEST_CASE("rows and gradients of a pipeline leave their nodes") {
  model_shape model = pictures_and_captions();
  const double rows = 2 * 256 * 512.;  // bytes of a sample
  // Every sample goes up once and comes back once; whatever cuts it.
  CHECK(traffic(pictures(mesh::from(0, {.stages = 2, .tensor = 4}), 4), model, 64) == 64 * rows);
  CHECK(traffic(pictures(mesh({.stages = 2, .tensor = 2}, {2, 3, 4, 5}), 8), model, 64) == 64 * rows);
  CHECK(traffic(pictures(mesh::from(0, {.stages = 2, .tensor = 2}), 8), model, 64) == 0);
  // Chunks of a loop send each sample over all boundaries but those within a node, slices once.
  plan cut = pictures(mesh({.stages = 2}, {0, 4}), 4);
  cut.modules[0].chunks = 2;
  CHECK(traffic(cut, model, 64) == 3 * 64 * rows);
  cut.modules[0].fills = true;
  CHECK(traffic(cut, model, 64) == 64 * rows);
  // A microbatch that is not kept goes up twice.
  plan again = pictures(mesh::from(0, {.stages = 2, .tensor = 4}), 4);
  again.modules[0].stash = 1;
  CHECK(traffic(again, model, 64) == about(1.75 * 64 * rows));
  model.towers[0].frozen = true;
  CHECK(traffic(pictures(mesh::from(0, {.stages = 2, .tensor = 4}), 4), model, 64) == 64 * rows);
  model.towers[0].cached = true;
  CHECK(traffic(pictures(mesh::from(0, {.stages = 2, .tensor = 4}), 4), model, 64) == 0);
}

TEST_CASE("sums of gradients leave each node once, whatever the ranks in it") {
  const model_shape model = pictures_and_captions();
  const double gradients = 4 * parameters_of(model.towers[0]);
  // Of two nodes, each sends half of what is summed, then the other half.
  CHECK(traffic(pictures(mesh::from(0, {.data = 8})), model, 64) == about(gradients, .15));
  CHECK(traffic(pictures(mesh({.data = 2}, {0, 4})), model, 64) == about(gradients));
  CHECK(traffic(pictures(mesh::from(0, {.data = 4})), model, 64) == 0);
  // Shards of a tensor group are in one node here, and replicas in two.
  CHECK(traffic(pictures(mesh::from(0, {.data = 2, .tensor = 4})), model, 64) == about(gradients, .05));
  plan zero = pictures(mesh({.data = 2}, {0, 4}), 4);
  zero.modules[0].zero = 1;
  CHECK(traffic(zero, model, 64) == about(gradients));  // half of the gradients, half of the weights
  zero.modules[0].zero = 2;
  CHECK(traffic(zero, model, 64) == about(2.5 * gradients));
  zero.modules[0].zero = 3;  // half of the weights for each forward and backward of four microbatches
  CHECK(traffic(zero, model, 64) == about(6 * gradients));
}

TEST_CASE("replicas that share experts swap rows, and sum less") {
  model_shape model = pictures_and_captions();
  tower_outline& net = model.towers[0];
  net.experts = 8, net.chosen = 2, net.hidden = 256;
  const double gradients = 4 * parameters_of(net),
               of_experts = 4.0 * static_cast<double>(net.layers * 8 * 2 * 512 * 256);
  plan of = pictures(mesh::from(0, {.data = 8}));
  CHECK(traffic(of, model, 64) == about(gradients, .15));
  // In one node: rows stay there, and each quarter of the experts is summed over both nodes by itself.
  of.modules[0].experts = 4;
  CHECK(traffic(of, model, 64) == about(gradients, .15));
  // All eight: no gradient of an expert is summed. Of the rows that 8 samples of each rank send to two
  // experts, and get back, forward and backward, half go to the other node.
  of.modules[0].experts = 8;
  const double rows = 4 * 8 * 0.5 * static_cast<double>(net.layers) * 4 * 2 * (2 * 256 * 512.);
  CHECK(traffic(of, model, 64) == about(gradients - of_experts + rows, .05));
  // As many rows go to others where these are two tensor groups, each on a node.
  plan both = pictures(mesh::from(0, {.data = 2, .tensor = 4}));
  both.modules[0].experts = 2;
  CHECK(traffic(both, model, 64) == about(gradients - of_experts + rows, .05));
  // Two replicas of which each has half of them: no sum of those is left.
  of = pictures(mesh({.data = 2}, {0, 4}));
  CHECK(traffic(of, model, 2) == about(gradients));
  of.modules[0].experts = 2;
  CHECK(traffic(of, model, 2) == about(gradients - of_experts + rows / 32, .01));
}

TEST_CASE("a tensor group over nodes sends rows in every block") {
  const model_shape model = pictures_and_captions();
  const double rows = 2 * 256 * 512.;
  // Ten calls for each of 8 blocks, half of each crosses.
  CHECK(traffic(pictures(mesh::from(0, {.tensor = 8})), model, 64) == about(64 * 8 * 10 * rows / 2, .3));
  plan again = pictures(mesh({.tensor = 2}, {0, 4}), 2);
  const double once = traffic(again, model, 64);
  CHECK(once == about(64 * 8 * 10 * rows / 2));
  again.modules[0].remade = {1};
  CHECK(traffic(again, model, 64) == about(once * 1.4));
}

TEST_CASE("modules add up on a node") {
  const model_shape model = pictures_and_captions();
  plan of = pictures(mesh({.data = 2}, {0, 4}));
  const double one = traffic(of, model, 64);
  of.modules.push({"caption", mesh({.data = 2}, {1, 5})});
  CHECK(traffic(of, model, 64) == about(one + 4 * parameters_of(model.towers[1])));
}
