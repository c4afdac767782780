// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/optimus/search_filled.hpp>

#include <doctest/doctest.h>

#include <numeric>

using namespace motet;

namespace {

// Two devices; each has a gap of 10 in front, one of 10 behind, and some of 1 between.
pipeline_gaps two_devices(int between) {
  pipeline_gaps out;
  out.seconds = 20 + 3.0 * between + 2;
  out.front = out.behind = 10;
  for (int d = 0; d < 2; ++d) {
    out.first.push_back(10);
    out.last.push_back(out.seconds - 10);
    std::vector<time_slot> inside;
    for (int k = 0; k < between; ++k) inside.push_back({12.0 + 3 * k, 13.0 + 3 * k});
    out.inside.push_back(inside);
  }
  for (int m = 0; m < 8; ++m) {
    out.needed.push_back(10 + m * 3.0 * between / 8);
    out.given.push_back(12 + m * 3.0 * between / 8);
  }
  return out;
}
encoder_work work_of(motet::isize stages, double forward, double backward, std::size_t kernels) {
  encoder_work out;
  out.stages = stages;
  out.forward = forward;
  out.backward = backward;
  out.forward_kernels.assign(kernels, forward / static_cast<double>(kernels));
  out.backward_kernels.assign(kernels, backward / static_cast<double>(kernels));
  return out;
}

}  // namespace

TEST_CASE("whole microbatches at both ends: what does not fit makes the step longer") {
  // Four forwards of 3 for each of two pipelines: three fit into 10, the fourth is over by 2; backwards
  // likewise.
  const encoder_placement found = place_encoders(two_devices(0), work_of(1, 3, 3, 1), {4, 4});
  CHECK(found.coarse_seconds == doctest::Approx(22 + 2 + 2));
  CHECK(found.filled_coarse == doctest::Approx(0.75));
  CHECK(found.seconds == found.coarse_seconds);
  // One pipeline of two stages fills a gap less, as the second stage waits for the first.
  CHECK(place_encoders(two_devices(0), work_of(2, 3, 3, 1), {3}).coarse_seconds ==
        doctest::Approx(22 + 2 + 2));
}
TEST_CASE("kernels go into the gaps between, where they fit") {
  const pipeline_gaps gaps = two_devices(16);
  const encoder_placement whole = place_encoders(gaps, work_of(1, 3, 3, 1), {4, 4});
  CHECK(whole.seconds == whole.coarse_seconds);  // no kernel fits
  const encoder_placement small = place_encoders(gaps, work_of(1, 3, 3, 3), {4, 4});
  CHECK(small.seconds == doctest::Approx(gaps.seconds));
  CHECK(small.filled_fine == doctest::Approx(1));
  const encoder_placement sliced =
      place_encoders(gaps, work_of(1, 3, 3, 1), {4, 4}, {.slices = true, .goes_on = true, .slice_costs = 1});
  CHECK(sliced.seconds == doctest::Approx(gaps.seconds));
  CHECK((whole.slices == 1 && small.slices == 1 && sliced.slices == 3));
}
TEST_CASE(
    "never shorter than the pipeline alone, never longer than coarse, and what is not filled makes it "
    "longer") {
  const filled_costs costs(*find_filled_model("vit-22b+gpt-175b"), cluster_named("hopper-512"));
  for (const motet::isize stages : {1, 2, 4}) {
    const pipeline_gaps gaps =
        find_gaps(even_stages(costs, costs.model().language, {8, 8, 8}, 12), 8, 16, 0.115, 0.31, 0.3);
    const encoder_work work =
        work_of(stages, 0.095 / static_cast<double>(stages), 0.15 / static_cast<double>(stages), 300);
    const auto pipelines = static_cast<std::size_t>(8 / stages);
    for (const bool better : {false, true}) {
      const encoder_placement found = place_encoders(
          gaps, work, std::vector<motet::isize>(pipelines, 16 / static_cast<motet::isize>(pipelines)),
          {.slices = better, .goes_on = better});
      CHECK(found.seconds >= gaps.seconds);
      CHECK(found.seconds <= found.coarse_seconds);
      CHECK((found.filled_fine >= found.filled_coarse && found.filled_fine <= 1));
      CHECK(((found.filled_fine > 1 - 1e-9) == (found.seconds < gaps.seconds + 1e-9)));
    }
  }
}
