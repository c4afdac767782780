// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/front/cuda_ranks.hpp>

#include "deviation.hpp"
#include "unit/runtime/small_fan.hpp"

#include <doctest/doctest.h>

// Modules that feed one another on GPUs, on one and on two that share it: the same calls, the same numbers.

using namespace motet;

namespace {

using speech = small_fan;
constexpr motet::isize samples = 6;

// Returns the priority of the first rank's stream, in its first lane.
int compare(const plan* spread) {
  const char* const words[] = {"program", "--threads", "1"};
  const launched_world world = launch(3, words);
  trainer<speech> wanted(world, {.batch = samples});
  using on_gpu = trainer<speech, fp32, motet::cuda::device>;
  on_gpu found = spread != nullptr ? on_gpu(world, *spread, {.batch = samples, .processors = {0}})
                                   : on_gpu(world, {.batch = samples, .ahead = true});
  // Batches come again, whose work was recorded.
  for (std::uint64_t k = 0; k < 5; ++k) {
    const small_fan_text data(samples, 1 + k % 2);
    const speech::batch batch = data.get();
    const step_result a = found.step(batch, 1e-3), b = wanted.step(batch, 1e-3);
    CHECK(laws::off_by(a.loss, b.loss) <= 1e-4 * b.loss);
    if (k == 0) CHECK(laws::off_by(a.gradient_norm, b.gradient_norm) <= 1e-4 * b.gradient_norm);
  }
  int priority = 0;
  motet::cuda::check(cudaStreamGetPriority(found.device().on().stream(), &priority), "cudaStreamGetPriority");
  return priority;
}

}  // namespace

TEST_CASE("modules feed one another on a GPU as on processors") { compare(nullptr); }

TEST_CASE("and on ranks that share a GPU") {
  plan spread;
  spread.cluster.ranks = 2;
  spread.schedule = "1f1b";
  for (const char* const name : {"eye", "glue", "lens", "ear", "talk"}) {
    module_plan own = on_ranks(name, name[0] == 't' || name[0] == 'l' ? 1 : 0, {}, 3);
    own.group = 1;
    spread.modules.push(own);
  }
  compare(&spread);
  // The eye in three microbatches, the language model in two; what is between them cut as the eye is.
  for (module_plan& own : spread.modules) own.microbatches = own.name.view() == "talk" ? 2 : 3;
  compare(&spread);
  // Both ranks cut its samples: rows go to their places, gradients come back into the order of their
  // rows.
  module_plan& talk = spread.modules.back();
  talk.on = mesh::from(0, {.context = 2});
  compare(&spread);
}

TEST_CASE("and in lanes, where rows go from one to another and back") {
  plan spread;
  spread.schedule = "1f1b";
  for (const char* const name : {"eye", "glue", "lens", "ear", "talk"}) {
    module_plan own = on_ranks(name, 0, {}, 6);
    own.group = 1;
    own.lane = name[0] == 't' ? 1 : name[0] == 'l' ? 2 : 0;
    spread.modules.push(own);
  }
  for (const std::int32_t ranks : {1, 2}) {
    CAPTURE(ranks);
    spread.cluster.ranks = ranks;
    spread.modules[3].on = mesh::from(ranks - 1, {});
    spread.modules[3].lane = 1;
    CHECK(compare(&spread) == 0);
  }
  for (module_plan& own : spread.modules) own.share = own.lane == 0 ? 0.5 : 0.25;
  compare(&spread);
}

TEST_CASE("and in a lane that fills, which yields to the other") {
  plan spread;
  spread.cluster.ranks = 2;
  spread.schedule = "1f1b";
  for (const char* const name : {"eye", "glue", "lens", "ear", "talk"}) {
    module_plan own = on_ranks(name, 0, name[0] == 't' ? degrees{.stages = 2} : degrees{}, 3);
    own.group = 1;
    own.fills = name[0] != 't';
    own.lane = own.fills ? 1 : 0;
    spread.modules.push(own);
  }
  CHECK(compare(&spread) < 0);
}

// It learns nothing, so it may be microbatches ahead of who reads its rows.
TEST_CASE("an ear that rests in a lane of its own writes rows again behind who reads them") {
  plan spread;
  spread.schedule = "1f1b";
  for (const char* const name : {"eye", "glue", "lens", "ear", "talk"}) {
    module_plan own = on_ranks(name, 0, {}, 6);
    own.group = 1;
    own.lane = name[1] == 'a' && name[0] == 'e' ? 1 : 0;
    spread.modules.push(own);
  }
#if !defined(__CUDACC__)
  emulation::seed(3);  // all that is begun waits until the host does
#endif
  compare(&spread);
}
