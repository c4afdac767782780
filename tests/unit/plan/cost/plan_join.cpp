// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/plan_join.hpp>

#include "unit/plan/estimated_models.hpp"

using namespace motet;

namespace {

// 1024 samples in two groups; features of 256 numbers of 4 bytes, and one more of each row.
constexpr isize samples = 1024;
constexpr double rows = 512, feature = 256 * 4, told = 4;

plan apart() {
  plan of{{16, 4}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.stages = 2, .data = 3, .tensor = 2}, 2));
  of.modules.push(on_ranks("caption", 12, {.data = 4}, 2));
  of.modules[0].group = of.modules[1].group = 1;
  return of;
}

}  // namespace

TEST_CASE("members of towers apart get the rows of the other tower") {
  const model_shape model = pictures_and_captions();
  const cluster_facts on = wired_cluster(4, 4);
  const join_cost found = join_of(apart(), model, on, {}, samples);
  CHECK(found.bytes == rows * (feature + told));
  CHECK(found.node_bytes == found.bytes);  // ranks 6 to 11 want captions, which are all on the last node
  // Half a node of pictures' last stages and one: pictures come from two nodes to the last.
  CHECK(found.exchange == about(2 * (2 * 20e-6 + 2 * 5e-6) + found.bytes / 5e9 + found.bytes / 100e9));
  // A picture's member has a sixth of the rows, a caption's a quarter; 6 products of 256 for every pair.
  CHECK(found.compute == about(6 * rows / 4 * rows * 256 / 20e12));
  CHECK(join_of(apart(), model, on, {.feature = 2}, samples).compute == about(found.compute / 5));
}

TEST_CASE("pairwise sigmoid needs no second exchange, and gradients of features double the first") {
  model_shape model = pictures_and_captions();
  const cluster_facts on = wired_cluster(4, 4);
  const join_cost softmax = join_of(apart(), model, on, {}, samples);
  const join_cost sends = join_of(apart(), model, on, {}, samples, {.exchange_gradients = true});
  CHECK(sends.bytes == rows * 2 * feature);
  model.join = "sigmoid";
  const join_cost sigmoid = join_of(apart(), model, on, {}, samples);
  CHECK(sigmoid.bytes == rows * feature);
  CHECK(sigmoid.compute == about(softmax.compute * 4 / 6));
  CHECK(sigmoid.exchange < softmax.exchange);
}

TEST_CASE("members of both towers get both, less what they have") {
  const model_shape model = pictures_and_captions();
  plan of{{16, 4}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.data = 16}));
  of.modules.push(on_ranks("caption", 0, {.data = 16}));
  const join_cost found = join_of(of, model, wired_cluster(4, 4), {}, 512);
  const double all = 512 * (feature + told);
  CHECK(found.bytes == about(2 * all * 15 / 16));
  CHECK(found.node_bytes == about(2 * all * 3 / 4));
  CHECK(found.compute == about(2 * 6 * 32.0 * 512 * 256 / 20e12));
  // One rank with all samples of both: nothing moves.
  of.modules[0].on = of.modules[1].on = mesh::from(3, {});
  const join_cost alone = join_of(of, model, wired_cluster(4, 4), {}, 512);
  CHECK((alone.bytes == 0 && alone.exchange == 0 && alone.compute > 0));
  // A rank of each in one node: no byte leaves it.
  of.modules[1].on = mesh::from(2, {});
  const join_cost pair = join_of(of, model, wired_cluster(4, 4), {}, 512);
  CHECK((pair.bytes == all && pair.node_bytes == 0));
  CHECK(pair.exchange == about(4 * 5e-6 + all / 100e9));
}

TEST_CASE("of three towers each meets two") {
  model_shape model = pictures_and_captions();
  model.towers.push(tower_of_layers("sound", 2, 128, 32));
  plan of{{3, 0}, "batch_sync", {}};
  for (std::int32_t k = 0; k < 3; ++k) of.modules.push(on_ranks(model.towers[k].name, k, {}));
  const join_cost found = join_of(of, model, wired_cluster(1, 4), {}, 512);
  CHECK(found.bytes == 2 * 512 * (feature + told));
  CHECK(found.compute == about(2 * 6 * 512.0 * 512 * 256 / 20e12));
  // The last stage of a V is where it began.
  of.schedule = "zb_v";
  of.modules[0].on = mesh({.stages = 2}, {1, 0});
  of.modules[1].on = mesh({.stages = 2}, {1, 2});
  of.modules[2].on = mesh({.stages = 2}, {1, 3});
  CHECK(join_of(of, model, wired_cluster(1, 4), {}, 512).bytes == 0);  // all three on rank 1
}

TEST_CASE("traffic is half of DistMM's and a quarter of a local loss with gathered gradients") {
  model_shape model = pictures_and_captions();
  for (tower_outline& each : model.towers) each.embedding = 1024;
  cluster_facts on = wired_cluster(8, 8);
  on.between = {0, 3.125e9};
  on.inside = {0, 1e30};
  plan disjoint{{64, 8}, "batch_sync", {}}, shared{{64, 8}, "batch_sync", {}};
  disjoint.modules.push(on_ranks("picture", 0, {.data = 32}));
  disjoint.modules.push(on_ranks("caption", 32, {.data = 32}));
  shared.modules.push(on_ranks("picture", 0, {.data = 64}));
  shared.modules.push(on_ranks("caption", 0, {.data = 64}));
  constexpr training_bytes half{.feature = 2};
  const join_cost ours = join_of(disjoint, model, on, half, 32768);
  const join_cost distmm = join_of(disjoint, model, on, half, 32768, {.exchange_gradients = true});
  const join_cost local = join_of(shared, model, on, half, 32768, {.exchange_gradients = true});
  CHECK(distmm.bytes / ours.bytes == about(2, .002));
  CHECK(local.bytes / ours.bytes == about(4, .02));
  CHECK(ours.exchange == about(64 * 1024 * 1024 / 3.125e9, .002));  // 21 ms, as every node gets the rows once
}
