// SPDX-License-Identifier: Apache-2.0
// labels: threads
// races: runtime/train/pipeline_trainer and tests of kernels
// pipeline_trainer in other precisions.
#include <motet/runtime/train/pipeline_trainer.hpp>

#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/schedule/write/schedules.hpp>

#include "pipeline_comparisons.hpp"

namespace {

using picture = motet::module<
    "picture", vit<vit_config{.image = 8, .patch = 4, .width = 16, .layers = 3, .heads = 2, .embedding = 8}>>;
using caption =
    motet::module<"caption",
                  text_tower<text_config{
                      .vocabulary = 20, .context = 6, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>>;
using towers = model<join<info_nce, picture, caption>>;

std::vector<score> orders() {
  const auto both = [](const char* name, int groups) {
    return joined(beside(write_schedule(name, {.stages = 3, .microbatches = 4}),
                         write_schedule(name, {.stages = 2, .microbatches = 4})),
                  groups);
  };
  return {both("gpipe", 2), both("zb_h2", 4), batch_sync::write({{{3, 8, 4, 1}, {2, 4, 2, 0, 1}}, 2})};
}

}  // namespace

TEST_CASE("in double precision nothing but its rounding remains") {
  for (const score& order : orders()) compare_with_single_rank<towers, fp64>(order, 12, 1e-12);
}
