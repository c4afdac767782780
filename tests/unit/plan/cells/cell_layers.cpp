// SPDX-License-Identifier: Apache-2.0
#include "../estimated_models.hpp"

#include <motet/plan/cells/cell_layers.hpp>

using namespace motet;

TEST_CASE("layers are told apart one by one, or in runs of all towers") {
  const cluster_facts on = plain_cluster(1, 8);
  model_shape model = pictures_and_captions();
  const list<cell_layer> each = cell_layers_of(model, 8, 4, 16, on.device, {});
  CHECK(each.size() == 12);
  CHECK(each[8].tower == 1);
  CHECK(each[8].blocks.begin == 0);
  model.towers[0].layers = 32, model.towers[1].layers = 7;
  const list<cell_layer> runs = cell_layers_of(model, 8, 4, 16, on.device, {});
  CHECK(runs.size() <= 16);
  isize covered = 0;
  for (const cell_layer& one : runs) covered += one.blocks.size();
  CHECK(covered == 39);
  CHECK(runs.back().blocks.end == 7);
}
TEST_CASE("a load is arithmetic over the peak, or bytes over the memory's rate, whichever is longer") {
  CHECK(detail::roofline_seconds(1e12, 1e9, 100e12, 1e12) == about(0.01));
  CHECK(detail::roofline_seconds(1e12, 20e9, 100e12, 1e12) == about(0.02));
  CHECK(detail::roofline_seconds(0.09e9, 1e6, 1e9, 1e12) == about(1e-6));  // too small to count
  const cluster_facts on = plain_cluster(1, 8);
  model_shape model;
  model.towers.push(tower_of_layers("a", 4, 4096, 512));
  const list<cell_layer> layers = cell_layers_of(model, 32, 1e12, 16, on.device, {});
  // Large products: three times the FLOPs of forward, but for what memory bounds.
  const part_work block = work_of_part(model.towers[0], tower_part::block);
  const double least = 32 * (block.forward_flops + block.backward_flops()) / on.device.half_flops;
  CHECK(layers[1].load > least);
  CHECK(layers[1].load < 1.5 * least);
  CHECK(layers[1].load == about(layers[2].load));
  model.towers[0].frozen = true;
  CHECK(cell_layers_of(model, 32, 1e12, 16, on.device, {})[1].load < 0.5 * layers[1].load);
  model.towers[0].cached = true;
  CHECK(cell_layers_of(model, 32, 1e12, 16, on.device, {})[1].load == 0);
}
