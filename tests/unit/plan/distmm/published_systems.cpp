// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/distmm/published_systems.hpp>

#include "unit/plan/estimated_models.hpp"

namespace {

using namespace motet;

model_shape two() {
  model_shape out;
  out.towers.push(tower_of_layers("one", 4, 256, 32));
  out.towers.push(tower_of_layers("other", 4, 256, 32));
  out.towers[1].vocabulary = 1000;
  return out;
}

}  // namespace

TEST_CASE(
    "a published system cuts its table of tokens, sums gradients at the end and sends those of features") {
  search_options options;
  options.contrastive_batch = 16;
  const published_question asked(two(), plain_cluster(1, 2), 64, options);
  CHECK(asked.losses == 4);
  CHECK(asked.model.towers[1].cut_vocabulary);
  CHECK_FALSE(asked.options.play.sums_overlap);
  CHECK(asked.options.play.exchange_gradients);
  CHECK(published_question(two(), plain_cluster(1, 2), 64, {}).losses == 1);
  options.pins.push({.name = "one", .data = 2});
  CHECK_THROWS_WITH_AS(published_question(two(), plain_cluster(1, 2), 64, options),
                       doctest::Contains("MT-P87"), error);
}

TEST_CASE("numbers of microbatches grow until each has one sample") {
  for (const motet::isize samples : {1, 2, 7, 64, 1000}) {
    motet::isize last = samples + 1, steps = 0;
    for (motet::isize count = 1; count <= samples; count = more_microbatches(samples, count), ++steps) {
      const motet::isize size = (samples + count - 1) / count;
      CHECK(size < last);
      CHECK((samples + size - 1) / size == count);  // no fewer would make them as small
      last = size;
    }
    CHECK(last == 1);
    CHECK(steps < 60);
  }
}

TEST_CASE("as much of a group is kept as fits") {
  for (const motet::isize room : {0, 1, 3, 7, 12}) {
    motet::isize asked = 0;
    CHECK(kept_of_group(12, [&](motet::isize count) { return ++asked, count <= room; }) == room);
    CHECK(asked <= 6);
  }
  CHECK(kept_of_group(12, [](motet::isize) { return false; }) == -1);
}

TEST_CASE("frozen towers have weights only") {
  tower_outline of = tower_of_layers("one", 4, 256, 32);
  CHECK(bytes_of_parameter(of, {}) == 16);
  of.frozen = true;
  CHECK(bytes_of_parameter(of, {}) == 4);
}
