// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/module_times.hpp>
#include <motet/plan/cost/profile.hpp>
#include <motet/plan/cost/tower_work.hpp>

namespace motet {

// How long the FLOPs of a module take, as a block of it was measured: small microbatches and short products
// take longer than a device's rate says. What is before and behind the blocks has their pace.
// Asks for: a profile that outlives it, of a tower with the module's blocks.
// Memory: none.
// Errors: none of its own.
// Example:
//   double forward_seconds(const module_profile& of, double flops) {
//     return flops * measured_pace{&of, 4}.seconds(flops, 1, {}).forward;
//   }
struct measured_pace {
  const module_profile* measured = nullptr;
  isize layers = 1;  // of the module

  // The time of a microbatch with so many FLOPs forward on a rank of the tensor group. What the profile does
  // not have, as the backward of a tower that rested, takes what `usual` says.
  counted_seconds seconds(double forward_flops, std::int32_t tensor, const counted_seconds& usual) const {
    const part_work one = work_of_part(measured->of, tower_part::block, {.tensor = tensor});
    if (!(forward_flops > 0) || !(one.forward_flops > 0)) return usual;
    const double samples = forward_flops / (static_cast<double>(layers) * one.forward_flops);
    const part_times took = measured_times(*measured, tower_part::block, samples, {.tensor = tensor});
    const auto pace = [&](double seconds, double flops, double otherwise) {
      return seconds > 0 && flops > 0 ? seconds / (samples * flops) : otherwise;
    };
    return {pace(took.forward, one.forward_flops, usual.forward),
            pace(took.backward_input, one.input_flops, usual.input),
            pace(took.backward_weight, one.weight_flops, usual.weight)};
  }
};

}  // namespace motet
