// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/profile.hpp>

#include <motet/plan/cost/estimate_plan.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

tower_outline picture() {
  tower_outline out;
  out.name = "picture";
  out.layers = 4;
  out.width = 128;
  out.heads = 4;
  out.tokens = 65;
  out.patch = 192;
  out.embedding = 128;
  out.end = tower_end::block_of_row;
  return out;
}
part_times times_for(double forward) { return {forward, 1.1 * forward, 0.9 * forward}; }

// Degree 1 at 4, 8 and 32 samples, degree 4 at 8 and 16.
module_profile points() {
  module_profile out{picture(), {}};
  for (const profile_point& each : {profile_point{4, 16, times_for(6), times_for(60), times_for(0.6)},
                                    {1, 32, times_for(80), times_for(320), times_for(8)},
                                    {1, 8, times_for(20), times_for(100), times_for(2)},
                                    {4, 8, times_for(4), times_for(40), times_for(0.4)},
                                    {1, 4, times_for(12), times_for(60), times_for(1)}})
    add_point(out, each);
  return out;
}
machine_profile profile() {
  machine_profile out;
  out.machine = "a machine";
  out.modules.push(points());
  return out;
}
device_facts device() {
  device_facts out;
  out.half_flops = out.single_flops = 1e9;
  out.bytes_per_second = 1e9;
  return out;
}
constexpr training_bytes single{.activation = 4};
double block(double samples, degrees split = {}) {
  return measured_times(points(), tower_part::block, samples, split).forward;
}

}  // namespace

TEST_CASE("points keep their order, and a point measured anew replaces the old one") {
  module_profile of = points();
  REQUIRE(of.points.size() == 5);
  const std::pair<int, double> wanted[] = {{1, 4}, {1, 8}, {1, 32}, {4, 8}, {4, 16}};
  for (motet::isize i = 0; i < 5; ++i) {
    CHECK(of.points[i].tensor == wanted[i].first);
    CHECK(of.points[i].samples == wanted[i].second);
  }
  add_point(of, {1, 8, {}, times_for(7), {}});
  CHECK(of.points.size() == 5);
  CHECK(of.points[1].block.forward == 7);
}

TEST_CASE("on a point it is what was measured, between points it is straight") {
  CHECK(block(4) == 60);
  CHECK(block(8) == 100);
  CHECK(block(32) == 320);
  CHECK(block(8, {.tensor = 4}) == 40);
  CHECK(block(6) == doctest::Approx(80));
  CHECK(block(20) == doctest::Approx(210));
  const part_times behind = measured_times(points(), tower_part::behind, 8, {});
  CHECK(behind.forward == 2);
  CHECK(behind.backward_input == doctest::Approx(2.2));
  CHECK(behind.backward_weight == doctest::Approx(1.8));
  CHECK(measured_times(points(), tower_part::before, 12, {.tensor = 4}).forward == doctest::Approx(5));
}

TEST_CASE("more samples never take less time, below and beyond the points too") {
  for (const std::int32_t degree : {1, 2, 4, 8}) {
    double last = 0;
    for (double samples = 0.25; samples < 100; samples += 0.25) {
      const double own = block(samples, {.tensor = degree});
      CHECK(own >= last);
      last = own;
    }
  }
  // From 4 to 8 samples 10 each: without samples 20 would remain.
  CHECK(block(1) == doctest::Approx(30));
  CHECK(block(64) == doctest::Approx(320 + 32 * 220 / 24.0));
  // A machine that was disturbed does not make later points negative.
  module_profile odd{picture(), {}};
  add_point(odd, {1, 4, {}, times_for(10), {}});
  add_point(odd, {1, 8, {}, times_for(6), {}});
  CHECK(measured_times(odd, tower_part::block, 100, {}).forward == 6);
  CHECK(measured_times(odd, tower_part::block, 1, {}).forward == 10);
  // One point alone is a proportion.
  odd.points.resize(1);
  CHECK(measured_times(odd, tower_part::block, 1, {}).forward == doctest::Approx(2.5));
}

TEST_CASE("a degree that was not measured takes the nearest one in proportion") {
  CHECK(block(8, {.tensor = 8}) == doctest::Approx(20));
  CHECK(block(8, {.tensor = 3}) == doctest::Approx(40 * 4 / 3.0));  // 4 is nearer than 1
  CHECK(block(8, {.tensor = 2}) == doctest::Approx(50));            // as near as 4: the lower one
  CHECK(block(8, {.context = 2}) == block(4));                      // half of the rows
}

TEST_CASE("a tower is found by its parts, whatever its name and depth") {
  const machine_profile in = profile();
  tower_outline like = picture();
  CHECK(find_measured(in, like, single) == &in.modules[0]);
  like.name = "other";
  like.layers = 24;
  like.frozen = true;
  CHECK(find_measured(in, like, single) == &in.modules[0]);
  like.hidden = 4 * 128;
  like.key_heads = 4;
  like.head_width = 32;
  CHECK(find_measured(in, like, single) == &in.modules[0]);
  machine_profile of_frozen = in;
  of_frozen.modules[0].of.frozen = true;
  CHECK(find_measured(of_frozen, like, single) != nullptr);
  CHECK(find_measured(of_frozen, picture(), single) == nullptr);
  CHECK(find_measured(in, like, {.activation = 2}) == nullptr);
  like.tokens = 64;
  CHECK(find_measured(in, like, single) == nullptr);
  like = picture();
  like.end = tower_end::row;
  CHECK(find_measured(in, like, single) == nullptr);
}

TEST_CASE("layers take the sum of their parts") {
  const machine_profile in = profile();
  const auto of_layers = [&](motet::isize first, motet::isize last, tower_outline of = picture()) {
    return times_of_layers(of, first, last, 8, {}, device(), single, &in);
  };
  // The last of four layers is computed for one row, which is in `behind`.
  CHECK(of_layers(1, 2).forward == doctest::Approx(100));
  CHECK(of_layers(0, 4).forward == doctest::Approx(20 + 3 * 100 + 2));
  CHECK(of_layers(0, 2).backward_input == doctest::Approx(1.1 * (20 + 2 * 100)));
  CHECK(of_layers(3, 4).backward_weight == doctest::Approx(0.9 * 2));
  CHECK(of_layers(0, 1).forward + of_layers(1, 4).forward == doctest::Approx(of_layers(0, 4).forward));
  tower_outline frozen = picture();
  frozen.frozen = true;
  CHECK(of_layers(0, 4, frozen).forward == doctest::Approx(322));
  CHECK(of_layers(0, 4, frozen).backward() == 0);
}

TEST_CASE("what was not measured follows from the formulas") {
  const machine_profile in = profile();
  tower_outline other = picture();
  other.width = 256;
  const part_times formula = times_of_layers(other, 0, 4, 8, {}, device(), single);
  CHECK(formula.forward > 0);
  CHECK(times_of_layers(other, 0, 4, 8, {}, device(), single, &in).forward == formula.forward);
  CHECK(times_of_layers(other, 0, 4, 8, {}, device(), single, nullptr).backward_weight ==
        formula.backward_weight);
  other = picture();
  other.frozen = other.cached = true;
  CHECK(times_of_layers(other, 0, 4, 8, {}, device(), single, &in).forward ==
        times_of_layers(other, 0, 4, 8, {}, device(), single).forward);
}

TEST_CASE("an estimate takes measured times where there are some") {
  model_shape model;
  model.name = "two";
  tower_outline other = picture();
  other.name = "caption";
  other.tokens = 32;
  model.towers.push(picture());
  model.towers.push(other);
  cluster_facts on;
  on.device = device();
  on.devices_per_node = 2;
  on.inside = {1e-6, 1e9};
  plan how;
  how.cluster.ranks = 2;
  how.modules.push(on_ranks("picture", 0, {}));
  how.modules.push(on_ranks("caption", 1, {}));
  // Of the pictures alone, and twice what the formulas say.
  machine_profile in;
  module_profile one{picture(), {}};
  const auto twice = [&](tower_part which) {
    const part_times own = times_of_part(picture(), which, 8, {}, on.device, single);
    return part_times{2 * own.forward, 2 * own.backward_input, 2 * own.backward_weight};
  };
  add_point(one, {1, 8, twice(tower_part::before), twice(tower_part::block), twice(tower_part::behind)});
  in.modules.push(one);

  run_forecast formula, measured, other_numbers;
  estimate_options options;
  REQUIRE(estimate(how, model, on, single, 8, formula).ok());
  options.measured = &in;
  REQUIRE(estimate(how, model, on, single, 8, measured, options).ok());
  CHECK(measured.modules[0].forward_seconds == doctest::Approx(2 * formula.modules[0].forward_seconds));
  CHECK(measured.modules[0].backward_seconds == doctest::Approx(2 * formula.modules[0].backward_seconds));
  CHECK(measured.modules[1].forward_seconds == formula.modules[1].forward_seconds);
  CHECK(measured.step_seconds > formula.step_seconds);
  REQUIRE(estimate(how, model, on, {.activation = 2}, 8, formula).ok());
  REQUIRE(estimate(how, model, on, {.activation = 2}, 8, other_numbers, options).ok());
  CHECK(other_numbers.step_seconds == formula.step_seconds);
}
