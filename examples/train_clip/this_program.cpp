// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"
#include "plans.hpp"
#include "session.hpp"

namespace motet::train_clip {

// Null where the program was linked without one.
[[gnu::weak]] std::unique_ptr<session> make_quick(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_tiny(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_small(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_b16(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_l14(const session_request& wanted);

// The same on GPUs, in units that nvcc compiles.
[[gnu::weak]] std::unique_ptr<session> cuda_quick(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> cuda_tiny(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> cuda_small(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> cuda_b16(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> cuda_l14(const session_request& wanted);

static const model_entry models[] = {{"quick", make_quick, cuda_quick, &quick_picture, &quick_caption},
                                     {"tiny", make_tiny, cuda_tiny, &tiny_picture, &tiny_caption},
                                     {"small", make_small, cuda_small, &small_picture, &small_caption},
                                     {"b16", make_b16, cuda_b16, &b16_picture, &b16_caption},
                                     {"l14", make_l14, cuda_l14, &l14_picture, &l14_caption}};

static list<motet::module_facts> facts(const model_entry& of) {
  list<motet::module_facts> found;
  found.push({.name = "picture",
              .layers = of.picture->layers,
              .key_heads = of.picture->tower().attention.shape().kv_heads});
  found.push({.name = "caption",
              .layers = of.caption->layers,
              .key_heads = of.caption->tower().attention.shape().kv_heads});
  return found;
}

const program_entry this_program{
    "train_clip", "trains two towers, pictures and captions, on captioned pictures", false, models, plans,
    facts};

}  // namespace motet::train_clip
