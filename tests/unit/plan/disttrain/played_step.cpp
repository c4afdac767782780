// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/disttrain/played_step.hpp>

#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

step_headers loads(std::initializer_list<double> work) {
  step_headers out;
  out.samples = static_cast<std::int32_t>(work.size());
  out.modules = {"talk"};
  out.work = list<double>(work);
  out.rows = out.work;
  return out;
}

}  // namespace

TEST_CASE("a step on one rank takes what its samples bring, the mean of all steps") {
  const program of = compile(one_f_one_b::write({.stages = 1, .microbatches = 2}));
  const cluster_facts on = cluster_named("laptop");
  const list<place_seconds> places = {place_seconds{{1, 2, 3}, 0, 0.5}};
  const list<sample_split> splits = {sample_split{.samples = 4, .groups = 2}};
  const double one = played_seconds(of, splits, places, on, {loads({1, 1, 1, 1})}),
               half = played_seconds(of, splits, places, on, {loads({1, 0.5, 0.25, 0.25})});
  CHECK(one - half == doctest::Approx(2 * 6));
  CHECK(played_seconds(of, splits, places, on, {loads({1, 1, 1, 1}), loads({1, 0.5, 0.25, 0.25})}) ==
        doctest::Approx((one + half) / 2));
}

TEST_CASE("a step is played in the order that a run would have its samples in, where it has one") {
  const program of = compile(one_f_one_b::write({.stages = 2, .microbatches = 4}));
  const cluster_facts on = cluster_named("laptop");
  const list<place_seconds> places = {place_seconds{{1, 1, 1}}, place_seconds{{1, 1, 1}}};
  const list<sample_split> splits = {sample_split{.samples = 8, .groups = 4}};
  const auto takes = [&](const step_headers& each, const step_questions& ordered) {
    return played_seconds(of, splits, places, on, {each}, {}, ordered);
  };
  // Two heavy samples share the first microbatch, and microbatches of one weight have no better turn.
  const step_headers uneven = loads({4, 4, 1, 1, 1, 1, 1, 1}), even = loads({4, 1, 4, 1, 4, 1, 4, 1});
  const double listed = takes(uneven, {false, false});
  CHECK(takes(uneven, {true, true}) < 0.9 * listed);
  CHECK(takes(uneven, {false, true}) < listed);
  CHECK(takes(uneven, {true, true}) <= takes(uneven, {false, true}));
  CHECK(takes(even, {false, true}) == takes(even, {false, false}));
}

TEST_CASE("sums of gradients cost nothing without replicas, and more between nodes than inside") {
  cluster_facts on = cluster_named("h100:2");
  on.of_device = on.inside.bytes_per_second / 4;
  CHECK(sum_seconds(1e9, 1, true, on) == 0);
  CHECK(sum_seconds(1e9, 2, false, on) > 0);
  CHECK(sum_seconds(1e9, 2, true, on) > sum_seconds(1e9, 2, false, on));
  CHECK(sum_seconds(1e9, 4, false, on) > sum_seconds(1e9, 2, false, on));
  CHECK(update_seconds(1e9, on) == doctest::Approx(28e9 / on.device.bytes_per_second));
}
