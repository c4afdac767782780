// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/disttrain/joint_pipeline.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

microbatch_times even(std::int32_t stages, std::int32_t microbatches) {
  return {stages, microbatches, list<double>(stages * microbatches, 1.0), list<double>(stages, 2.0)};
}

}  // namespace

TEST_CASE("a joint pipeline takes what the explorer says, and by itself what 1F1B does") {
  const microbatch_times talk = even(4, 16);
  const microbatch_order order = in_turn(16);
  joint_pipeline joint(4, 4, 16, true);
  CHECK(joint.seconds(talk, order, list<double>(16, 0.5), 2) == doctest::Approx(76.5));
  CHECK(joint.seconds(talk, order, list<double>(16, 0.0), 2) ==
        doctest::Approx(one_f_one_b_seconds(talk, order)));
  // No gradients go back to an encoder that rests.
  joint_pipeline rests(4, 4, 16, false);
  CHECK(rests.seconds(talk, order, list<double>(16, 0.5), 0) < 67);
}

TEST_CASE(
    "stages behind those with parts lengthen the pipeline, and no order is shorter than its busiest rank") {
  const microbatch_times talk = even(5, 12);
  joint_pipeline joint(5, 4, 12, true);
  list<double> parts;
  double sum = 0;
  for (std::int32_t m = 0; m < 12; ++m) parts.push(0.1 * (1 + m % 4)), sum += parts.back();
  microbatch_order back = in_turn(12);
  std::reverse(back.begin(), back.end());
  for (const microbatch_order& order : {in_turn(12), back}) {
    const double seconds = joint.seconds(talk, order, parts, 2);
    CHECK(seconds >= 3 * (12 + sum));
    CHECK(seconds >= one_f_one_b_seconds(talk, order));
    CHECK(seconds <= one_f_one_b_seconds(talk, order) + 3 * sum + 1);
  }
  // Longer microbatches take longer, whichever they are.
  CHECK(joint.seconds(talk, back, list<double>(12, 0.4), 2) > joint.seconds(talk, back, parts, 2));
}
