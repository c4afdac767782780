// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/optimus/search_filled.hpp>

#include <doctest/doctest.h>

#include <utility>

using namespace motet;

TEST_CASE("encoder pipelines on nodes that are left, evenly over the language model's") {
  const auto made = [](motet::isize nodes, motet::isize stages, motet::isize pipelines,
                       motet::isize microbatches) {
    const std::optional<encoders_apart> found = apart_on(nodes, stages, pipelines, microbatches);
    return found ? std::pair{found->copies, found->shares} : std::pair<motet::isize, motet::isize>{};
  };
  CHECK(made(7, 1, 2, 8) ==
        std::pair<motet::isize, motet::isize>{2, 1});  // three would not divide microbatches
  CHECK(made(9, 1, 1, 4) == std::pair<motet::isize, motet::isize>{4, 1});
  CHECK(made(9, 2, 8, 4) == std::pair<motet::isize, motet::isize>{1, 2});
  CHECK(made(3, 1, 8, 4) == std::pair<motet::isize, motet::isize>{1, 4});
  CHECK(made(1, 2, 8, 4) == std::pair<motet::isize, motet::isize>{0, 0});
}
TEST_CASE("a pipeline waits for encoders on devices of their own, and they for it") {
  pipeline_stage each;
  each.forward = 1, each.backward = 2;
  const std::vector<pipeline_stage> talk(4, each);
  const auto seconds = [&](double forward, double backward, encoders_apart how, motet::isize stages = 1) {
    encoder_work work;
    work.stages = stages;
    work.forward = forward, work.backward = backward;
    return seconds_apart(talk, 4, 8, work, how, 0.5, 0.25);
  };
  const double alone = 0.75 + 33;  // (8 + 3) x 3
  CHECK(seconds(0.1, 0.2, {}) ==
        doctest::Approx(alone + 0.3).epsilon(1e-3));  // before the first, behind the last
  CHECK(seconds(0.1, 0.2, {}, 2) == doctest::Approx(alone + 0.6).epsilon(1e-3));
  CHECK(seconds(0.1, 0, {}) == doctest::Approx(alone + 0.1).epsilon(1e-3));        // it rests
  CHECK(seconds(0.1, 0.2, {1, 3}) == doctest::Approx(alone + 0.9).epsilon(1e-3));  // and serves three
  // The pipeline comes no faster than its encoder, and with four of them as fast as by itself.
  CHECK(seconds(3, 6, {}) > alone + 3 + 6 + 8 * 3);
  CHECK(seconds(3, 6, {4, 1}) == doctest::Approx(alone + 3 + 6).epsilon(0.05));
}
TEST_CASE("where devices do not divide a batch, some are idle or encoders get those that are left") {
  const auto best = [](const char* name, const char* cluster) {
    return search_filled(filled_search::motet, filled_costs(*find_filled_model(name), cluster_named(cluster)),
                         32);
  };
  // 16 microbatches of two samples: a ninth node has nothing to do.
  const filled_answer eight = best("vit-11b+llama-70b", "hopper-64"),
                      nine = best("vit-11b+llama-70b", "hopper-72");
  CHECK((eight.fills && eight.idle_devices == 0 && nine.fills && nine.idle_devices == 8));
  CHECK(nine.step_seconds == eight.step_seconds);
  CHECK(nine.mfu == doctest::Approx(eight.mfu * 64 / 72));
  // Two encoders that are larger than the language model do not fit into its gaps.
  const char* const large = "vit-22b+vit-22b+gpt-11b";
  const filled_answer full = best(large, "hopper-64"), more = best(large, "hopper-96");
  CHECK((full.fills && more.apart && !more.fills && more.step_seconds < full.step_seconds));
  CHECK(more.idle_devices + more.language.devices() + more.encoder.devices() == 96);
  CHECK(more.bubble_rate == doctest::Approx(more.idle.sum()));
  CHECK(
      (more.idle.dependency > 0 && more.bubble_rate < 1 && more.memory_bytes.mean < more.memory_bytes.worst));
  CHECK_THROWS_WITH_AS(search_filled(filled_search::optimus,
                                     filled_costs(*find_filled_model(large), cluster_named("hopper-72")), 32),
                       doctest::Contains("MT-P85"), error);
}
