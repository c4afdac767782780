// SPDX-License-Identifier: Apache-2.0
#include "../train_clip/session.hpp"
#include "models.hpp"
#include "plans.hpp"

#include <motet/plan/prove/check_plan.hpp>

namespace motet::train_clip {

// Null where the program was linked without one.
[[gnu::weak]] std::unique_ptr<session> make_say_quick(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_say_small(const session_request& wanted);

static const model_entry models[] = {
    {"say-quick", make_say_quick, nullptr, &say_quick_eye, &say_quick_caption},
    {"say-small", make_say_small, nullptr, &say_small_eye, &say_small_caption}};

static list<motet::module_facts> facts(const model_entry& of) {
  return of.picture == &say_quick_eye ? facts_of<say_quick_model>() : facts_of<say_small_model>();
}

const program_entry this_program{
    "train_vlm", "trains an eye and a language model to say what captioned pictures show",
    true,        models,
    plans,       facts};

}  // namespace motet::train_clip
