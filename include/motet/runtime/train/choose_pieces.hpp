// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/piece_times.hpp>
#include <motet/plan/describe/plan.hpp>
#include <motet/runtime/train/foretell.hpp>

#include <algorithm>

namespace motet {

// So many pieces of rows pay for a module, by what a rank computes of it and exchanges for a microbatch.
struct chosen_pieces {
  int pieces = 1;
  piece_times times{};  // of the rank with most of it
};

// The rates by which all ranks choose are these numbers and not measured ones: ranks of a tensor group have
// to choose alike, and no two machines measure alike. A piece costs each exchange one more round of messages.
struct choice_rates {
  machine_rates each;
  double round = 5e-6;
};
inline constexpr choice_rates choice_of_processors{}, choice_of_gpus{{4e14, 2e11}, 2e-5};

// Finds how many pieces pay for a module of so many layers. A layer has four exchanges forward and six back.
// Asks for: the work of the program, as foretell() gives it.
// Memory: none.
// Errors: none of its own.
// Example:
//   int pieces(const program& of, const program_work& work) { return choose_pieces(of, work, 0, 12).pieces; }
inline chosen_pieces choose_pieces(const program& of, const program_work& work, isize module, isize layers,
                                   const choice_rates& by = choice_of_processors) {
  chosen_pieces out;
  for (const voice& sings : of.voices) {
    if (sings.module != module) continue;
    for (std::int32_t s = 0; s < sings.stages; ++s) {
      const stage_work& own = work.places[static_cast<std::size_t>(sings.first_place + s)];
      const double calls =
          (own.backward_group_bytes > 0 ? 10.0 : 4.0) * static_cast<double>(layers) / sings.stages;
      const piece_times times{(own.forward + own.backward_input + own.backward_weight) / by.each.flops,
                              (own.forward_group_bytes + own.backward_group_bytes) / by.each.bytes,
                              calls * by.round};
      if (times.product + times.exchange > out.times.product + out.times.exchange) out.times = times;
    }
  }
  out.pieces = out.times.exchange > 0 ? out.times.best() : 1;
  return out;
}

// Says whether a plan leaves the number to the model.
inline bool leaves_pieces(const plan& of) {
  return std::any_of(of.modules.begin(), of.modules.end(),
                     [](const module_plan& each) { return each.pieces == 0 && each.on.split().tensor > 1; });
}

}  // namespace motet
