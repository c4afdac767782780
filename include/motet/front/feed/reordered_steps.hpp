// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/feed/conducted_steps.hpp>

#include <utility>

namespace motet {

struct reorder_options {
  // The library answers one of two questions; a user's own order takes the place of the library's.
  step_questions asked{};
  step_sorter by{};
  swap_limits until{.tries = 100};
  // Steps between two that are recorded, from which costs are corrected, and three at the start; 0: costs
  // stay as they were counted.
  isize every = 8;
};

// Takes a trainer's steps with their samples in an order in which its plan is through sooner: which replica
// gets which sample, which samples share a microbatch, in which turn microbatches run. A step keeps its
// samples, so loss and gradients are what they are without this, within rounding. All processes compute the
// same order from the same batch and the same records, and compare what they found when they record. The
// order of a batch that is expected is looked for while the step before it runs.
// Asks for: batches of `batch` samples, of which all processes have all but the pictures of others; the
// trainer outlives this.
// Memory: a copy of the batch.
// Errors: MT-R26, MT-R37
// Example:
//   #include <motet/nn/towers/vit.hpp>
//   using eye = vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 1, .heads = 2}>;
//   using pair = model<join<info_nce, module<"left", eye>, module<"right", eye>>>;
//   double loss_of_one(trainer<pair>& train, const pair::batch& batch) {
//     reordered_steps steps(train, 64);
//     return steps.step(batch, 1e-3).loss;
//   }
template <class Model, class Numbers = fp32, class Device = cpu::device>
class reordered_steps : public conducted_steps<Model, Numbers, Device> {
 public:
  // samples: of a step, as the trainer has them.
  reordered_steps(trainer<Model, Numbers, Device>& train, isize samples, reorder_options how = {})
      : conducted_steps<Model, Numbers, Device>(
            train, samples,
            {.by = as_planned(), .every = how.every, .orders = {how.asked, std::move(how.by), how.until}}) {}

  // This is told of the last step.
  const reorder_told& told() const { return this->ordered(); }
};

}  // namespace motet
