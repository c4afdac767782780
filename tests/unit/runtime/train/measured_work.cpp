// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/measured_work.hpp>

#include "support/counted_plan.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr machine_rates usual{1e9, 1e12}, slow{0.25e9, 1e12};
cost_table measured_of(const counted_plan& from, const measured_modules& by, int threads = 1) {
  cost_table out = from.work.costs(from.of, usual);
  put_measured_times(out, from.of, from.from, from.work, usual, by, threads);
  return out;
}
counted_plan with(degrees picture, int microbatches, const char* schedule, bool remade = false) {
  module_plan first = on_ranks("picture", 0, picture, microbatches);
  if (remade) first.remade.resize(first.stages(), 1);
  return count_plan(first, on_ranks("caption", 4, {}, microbatches), schedule);
}

}  // namespace

TEST_CASE("a forecast by times of steps is these steps', and another plan's in its own order") {
  const counted_plan seen = with({.stages = 2}, 4, "gpipe");
  const timeline step = seen.played(seen.work.costs(seen.of, slow));
  const measured_modules by{times_of_steps(seen.of, seen.from, counted_modules(), {step}, {seen.work}, 1),
                            {}};
  for (const counted_plan& other :
       {seen, with({.stages = 4}, 4, "gpipe"), with({.stages = 2}, 2, "gpipe", true),
        with({.data = 2}, 4, "batch_sync"), with({.tensor = 2}, 2, "gpipe")}) {
    const double found = other.seconds(measured_of(other, by)),
                 truth = other.seconds(other.work.costs(other.of, slow)),
                 counted_alone = other.seconds(other.work.costs(other.of, usual));
    CHECK(found == doctest::Approx(truth).epsilon(1e-9));
    CHECK(found > 2 * counted_alone);
  }
  // On other threads nothing was measured.
  CHECK(seen.seconds(measured_of(seen, by, 2)) == seen.seconds(seen.work.costs(seen.of, usual)));
}

TEST_CASE("what a profile lacks stays counted, and it is said what is measured") {
  const counted_plan from =
      count_plan(on_ranks("picture", 0, degrees{.tensor = 2}), on_ranks("caption", 4, {}));
  const measured_modules picture{{{"picture", 4, 3e6, 1, 1, 1, 0, {{{1e6, 1e6, 1e6}, {1, 1, 1}}}}}, {}};
  const cost_table counted_alone = from.work.costs(from.of, usual), found = measured_of(from, picture);
  const isize caption = found.stages.size() - 1;
  CHECK(found.stages[caption].forward == counted_alone.stages[caption].forward);
  CHECK(found.updates == counted_alone.updates);
  CHECK(found.stages[0].forward_gaps == counted_alone.stages[0].forward_gaps);
  CHECK(found.stages[0].forward ==
        doctest::Approx(found.stages[0].forward_gaps + 1e-6 * from.work.places[0].forward));
  const std::string words = words_on_times(from.from, picture, 1);
  CHECK(words ==
        "times     picture measured, by recorded steps with tensor 1 and context 1\n"
        "times     caption counted\n");
}

TEST_CASE("blocks that were measured alone take their times, and what is around them its rates") {
  const counted_plan from = count_plan(on_ranks("picture", 0, {}), on_ranks("caption", 4, {}));
  module_profile blocks;
  blocks.of = {.name = "caption", .layers = 2, .width = 8, .heads = 2, .tokens = 6};
  const part_work one = work_of_part(blocks.of, tower_part::block);
  add_point(blocks, {1, 1, {}, {1e-6 * one.forward_flops, 1e-6 * one.input_flops, 0}, {}});
  const measured_modules alone{{}, {{}, {&blocks, 2}}};
  const cost_table counted_alone = from.work.costs(from.of, usual);
  const stage_work& own = from.work.places.back();
  for (const int threads : {1, 2}) {
    // All threads of a rank compute, of which one was measured; of what was not, rates tell.
    const cost_table by = measured_of(from, alone, threads);
    CHECK(by.stages[1].forward - counted_alone.stages[1].forward ==
          doctest::Approx(own.forward_blocks.flops * (1e-6 / threads - 1e-9)));
    CHECK(by.stages[1].backward_input - counted_alone.stages[1].backward_input ==
          doctest::Approx(own.input_blocks.flops * (1e-6 / threads - 1e-9)));
    CHECK(by.stages[1].backward_weight == doctest::Approx(counted_alone.stages[1].backward_weight));
    CHECK(by.stages[0].forward == counted_alone.stages[0].forward);
  }
  CHECK(words_on_times(from.from, alone, 1) ==
        "times     picture counted\ntimes     caption's blocks measured alone, the rest of it counted\n");
}
