// SPDX-License-Identifier: Apache-2.0
#include "../train_clip/session.hpp"
#include "models.hpp"

#include <motet/plan/prove/check_plan.hpp>

namespace motet::train_clip {

// Null where the program was linked without one.
[[gnu::weak]] std::unique_ptr<session> make_say_quick(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_say_small(const session_request& wanted);

static const model_entry models[] = {
    {"say-quick", make_say_quick, nullptr, &say_quick_eye, &say_quick_caption},
    {"say-small", make_say_small, nullptr, &say_small_eye, &say_small_caption}};

static constexpr plan spread(std::int32_t ranks, degrees split, int microbatches) {
  plan out;
  out.cluster.ranks = ranks;
  out.schedule = microbatches > 1 ? "1f1b" : "batch_sync";
  out.modules.push(on_ranks("talk", 0, split, microbatches));
  if (microbatches > 1) out.modules[0].group = 1;
  return out;
}
static constexpr named_plan plans[] = {
    {"one", "all of it on one rank", [] { return spread(1, {}, 1); }},
    {"data-2", "two ranks, each with half of the samples", [] { return spread(2, degrees{.data = 2}, 1); }},
    {"tensor-2", "two ranks, each with half of every layer's columns; the eye of its own samples",
     [] { return spread(2, degrees{.tensor = 2}, 1); }},
    {"1f1b", "a pipeline of two, the eye with the first half, one forward one backward",
     [] { return spread(2, degrees{.stages = 2}, 4); }}};

const program_entry this_program{"train_vlm",
                                 "trains an eye and a language model to say what captioned pictures show",
                                 true, models, plans};

}  // namespace motet::train_clip
