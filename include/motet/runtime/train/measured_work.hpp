// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/module_times.hpp>
#include <motet/plan/disttrain/measured_pace.hpp>
#include <motet/runtime/train/foretell.hpp>
#include <motet/runtime/train/times_of_steps.hpp>

#include <string>

namespace motet {

// What is known of the times of a program's modules beside rates: recorded steps, and towers of which the
// blocks were measured alone, module after module.
struct measured_modules {
  list<module_times> times{};
  list<measured_pace> blocks{};

  const module_times* recorded(const module_plan& own, int threads) const {
    return find_times(times, own.name, own.on.split(), threads);
  }
  const module_profile* alone(isize module) const {
    return module < blocks.size() ? blocks[module].measured : nullptr;
  }
};

namespace detail {

// Operations of a stage at this pace.
inline void put_pace(stage_cost& to, const stage_work& own, const counted_seconds& pace) {
  if (pace.forward > 0) to.forward = to.forward_gaps + pace.forward * own.forward;
  if (pace.input > 0)
    to.backward_input =
        to.input_gaps + pace.input * (own.backward_input - own.again) + pace.forward * own.again;
  if (pace.weight > 0) to.backward_weight = to.weight_gaps + pace.weight * own.backward_weight;
}
// The same of blocks alone, in place of what their rates say.
inline void put_block_pace(stage_cost& to, const stage_work& own, const counted_seconds& pace,
                           const machine_rates& rates) {
  const auto more = [&](const operation_work& blocks, double measured) {
    return measured - rates.seconds(blocks.flops, blocks.slower);
  };
  const double again = own.again > 0 ? own.forward_blocks.flops : 0;
  to.forward += more(own.forward_blocks, pace.forward * own.forward_blocks.flops);
  to.backward_input +=
      more(own.input_blocks, pace.input * (own.input_blocks.flops - again) + pace.forward * again);
  to.backward_weight += more(own.weight_blocks, pace.weight * own.weight_blocks.flops);
}

}  // namespace detail

// Puts what modules were measured to compute in place of what follows from rates: of recorded steps all that
// a module does and updates; of towers that were measured alone their blocks, on as many threads as the ranks
// have. What was not measured stays counted, and gaps stay as they are.
// Asks for: costs as program_work makes them of these rates, of a rank's threads.
// Memory: none.
// Errors: none of its own.
// Example:
//   cost_table as_seen(const program& of, const plan& from, const program_work& work, const machine_rates& rates,
//                      const list<module_times>& times) {
//     cost_table costs = work.costs(of, rates);
//     put_measured_times(costs, of, from, work, rates, {times, {}}, 1);
//     return costs;
//   }
inline void put_measured_times(cost_table& to, const program& of, const plan& from, const program_work& work,
                               const machine_rates& rates, const measured_modules& measured, int threads) {
  for (isize k = 0; k < from.modules.size(); ++k) {
    const module_plan& own = from.modules[k];
    const module_times* const found = measured.recorded(own, threads);
    if (found == nullptr && measured.alone(k) == nullptr) continue;
    const counted_seconds pace =
        found != nullptr ? pace_at(*found, forward_flops_of(of, k, work)) : counted_seconds{};
    for (const voice& sings : of.voices) {
      if (sings.module != k) continue;
      double blocks = 0;
      for (std::int32_t s = 0; s < sings.stages; ++s)
        blocks += work.places[as_size(sings.first_place + s)].forward_blocks.flops;
      for (std::int32_t s = 0; s < sings.stages; ++s) {
        const std::int32_t place = sings.first_place + s;
        const stage_work& does = work.places[as_size(place)];
        if (found != nullptr) {
          detail::put_pace(to.stages[place], does, pace);
          if (found->update > 0 && own.zero == 0)
            to.updates[place] = found->update * static_cast<double>(work.parameters[as_size(place)]);
          continue;
        }
        // Rates are those of all threads of a rank, of which each was measured by itself.
        const double whole = 1 / rates.flops;
        counted_seconds alone = measured.blocks[k].seconds(
            blocks, own.on.split().tensor, {threads * whole, threads * whole, threads * whole});
        for (const auto each : {&counted_seconds::forward, &counted_seconds::input, &counted_seconds::weight})
          alone.*each /= threads;
        detail::put_block_pace(to.stages[place], does, alone, rates);
      }
    }
  }
}

// A line for each module says what its times are: "eye measured, by recorded steps", or counted by rates.
inline std::string words_on_times(const plan& from, const measured_modules& measured, int threads) {
  std::string out;
  for (isize k = 0; k < from.modules.size(); ++k) {
    const module_plan& own = from.modules[k];
    const module_times* const found = measured.recorded(own, threads);
    out += "times     " + std::string(own.name.view());
    if (found != nullptr) {
      const degrees& split = own.on.split();
      out += " measured, by recorded steps";
      if (found->tensor != split.tensor || found->context != split.context)
        out += sentence({" with tensor ", found->tensor, " and context ", found->context});
    } else if (measured.alone(k) != nullptr) {
      out += "'s blocks measured alone, the rest of it counted";
    } else {
      out += " counted";
    }
    out += "\n";
  }
  return out;
}

}  // namespace motet
