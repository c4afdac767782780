// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/memory_forecast.hpp>

#include "unit/plan/estimated_models.hpp"

using namespace motet;

namespace {

plan two_stages(int zero = 0) {
  plan of{{12, 4}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.stages = 2, .data = 4}, 4));
  of.modules.push(on_ranks("caption", 8, {.data = 2, .tensor = 2}, 4));
  of.modules[0].group = of.modules[1].group = 2;
  of.modules[0].zero = zero;
  return of;
}

}  // namespace

TEST_CASE("what a stage holds, whatever it computes") {
  const model_shape model = pictures_and_captions();
  const cluster_facts on = wired_cluster(3, 4);
  const training_bytes bytes{.weight = 2, .gradient = 4, .state = 12};
  const double parameters = held_parameters(model.towers[0], 0, 4, 1);
  const auto standing = [&](int zero) {
    const plan of = two_stages(zero);
    return standing_bytes(plan_pricer(of, model, on, bytes, 256), 0, 0, false);
  };
  const rank_bytes all = standing(0);
  CHECK((all.weights == 2 * parameters && all.gradients == 4 * parameters && all.state == 12 * parameters));
  CHECK((all.activations == 0 && all.features == 0));
  CHECK((standing(1).gradients == all.gradients && standing(1).state == all.state / 4));
  // Sums of a quarter, and room for two layers.
  const rank_bytes ring = standing(2);
  CHECK(ring.gradients ==
        about(4 * (parameters / 4 + 2 * work_of_part(model.towers[0], tower_part::block).parameters)));
  CHECK(ring.weights == all.weights);
  // A quarter of the weights, and room for the largest of what comes together: a block, or what is before it.
  const rank_bytes lent = standing(3);
  const double most = std::max(work_of_part(model.towers[0], tower_part::block).parameters,
                               work_of_part(model.towers[0], tower_part::before).parameters);
  CHECK(lent.weights == about(2 * (parameters / 4 + most)));
  CHECK((lent.gradients == ring.gradients && lent.state == ring.state && lent.weights < all.weights));
  // Tensor parallelism cuts all but norms and biases.
  const plan of = two_stages();
  const plan_pricer by(of, model, on, bytes, 256);
  CHECK(standing_bytes(by, 1, 0, false).weights == about(parameters_of(model.towers[1]), .05));
  CHECK(standing_bytes(by, 1, 0, false).weights == 2 * held_parameters(model.towers[1], 0, 4, 2));
}

TEST_CASE("what a stage keeps of a microbatch") {
  model_shape model = pictures_and_captions();
  const cluster_facts on = wired_cluster(3, 4);
  const plan of = two_stages();
  const plan_pricer by(of, model, on, {}, 256);  // 16 samples in a microbatch
  CHECK(kept_bytes(by, 0, 0, false) == 2 * 16 * work_of_layers(model.towers[0], 0, 4).kept);
  CHECK(kept_bytes(by, 0, 0, true) == 0);                    // samples are there anyway
  CHECK(kept_bytes(by, 0, 1, true) == 2 * 16 * 256 * 512.);  // rows that came in
  CHECK(standing_bytes(by, 0, 1, true).activations == kept_bytes(by, 0, 1, false));
  // tensor shares it
  CHECK(kept_bytes(by, 1, 0, false) == about(2 * 32 * work_of_layers(model.towers[1], 0, 4).kept / 2, .02));
  model.towers[0].frozen = true;
  const plan_pricer fixed(of, model, on, {}, 256);
  CHECK(kept_bytes(fixed, 0, 0, false) == 0);
  CHECK(standing_bytes(fixed, 0, 0, false).total() ==
        4 * held_parameters(model.towers[0], 0, 4, 1) + 2 * 2 * 16 * 256 * 512.);
}

TEST_CASE("rows for a join") {
  model_shape model = pictures_and_captions();
  const cluster_facts on = wired_cluster(3, 4);
  const plan of = two_stages();
  const plan_pricer by(of, model, on, {}, 256);
  const double row = 256 * 4;
  CHECK(feature_bytes(by, 0) == (128 + 2 * 128 / 4) * row);  // a loss of 128; own rows and their gradients
  CHECK(feature_bytes(by, 1) == (128 + 2 * 128 / 4) * row);
  model.join = "sigmoid";
  CHECK(feature_bytes(plan_pricer(of, model, on, {}, 256), 0) ==
        (2 * 128 / 4 + 2 * 128 / 4) * row);  // of four members two at a time
}

TEST_CASE("the fullest rank is the first stage's, with as many microbatches as are in flight") {
  const model_shape model = pictures_and_captions();
  const cluster_facts on = wired_cluster(3, 4);
  const plan of = two_stages();
  const plan_pricer by(of, model, on, {}, 256);
  const run_forecast found = estimated(of, model, on, 256);
  // Groups of two on two stages: three live on the first, two on the second.
  CHECK(found.modules[0].bytes.activations == 3 * kept_bytes(by, 0, 0, false));
  CHECK(found.memory_bytes == found.modules[0].bytes.total());
  CHECK(found.fullest_rank < 4);
  CHECK(found.modules[1].bytes.activations == 2 * kept_bytes(by, 1, 0, false));
  CHECK(found.modules[1].bytes.features == feature_bytes(by, 1));
  // A rank that holds both has both.
  plan shared = of;
  shared.modules[1].on = mesh::from(0, {.data = 2, .tensor = 2});
  const run_forecast both = estimated(shared, model, on, 256);
  CHECK(both.memory_bytes == about(found.modules[0].bytes.total() + found.modules[1].bytes.total()));
  CHECK(both.modules[0].bytes.total() == found.modules[0].bytes.total());
}

TEST_CASE("systems that keep more, and some of it whole on every rank of a tensor group") {
  const model_shape model = pictures_and_captions();
  const cluster_facts on = wired_cluster(3, 4);
  const plan of = two_stages();
  const auto kept = [&](training_bytes bytes, isize k) {
    return kept_bytes(plan_pricer(of, model, on, bytes, 256), k, 0, false);
  };
  CHECK(kept({.kept = 1.7}, 0) == about(1.7 * kept({}, 0)));
  CHECK(kept({.uncut = 1}, 0) == about(kept({}, 0)));  // nothing is cut there
  const double whole = 2 * 32 * work_of_layers(model.towers[1], 0, 4).kept;
  CHECK(kept({.kept = 2, .uncut = .25}, 1) == about(2 * (.75 * kept({}, 1) + .25 * whole)));
}
