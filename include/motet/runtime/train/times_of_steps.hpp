// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/module_times.hpp>
#include <motet/runtime/train/foretell.hpp>
#include <motet/schedule/simulate/measured_costs.hpp>

#include <vector>

namespace motet {

namespace detail {

// FLOPs and seconds of a module in one step, over all ranks that have it.
struct module_step {
  counted_seconds flops, seconds;
  double updated = 0, update_seconds = 0;
};

inline module_step step_of_module(const program& of, isize module, const timeline& when,
                                  const program_work& work, const cost_table& sharing) {
  const list<double> seconds = seconds_by_itself(of, when, sharing), waits = waits_inside(of, when);
  module_step sum;
  double again = 0, whole_input = 0, whole_weight = 0, whole = 0;
  for (isize i = 0; i < of.instructions.size(); ++i) {
    const instruction& it = of.instructions[i];
    if (it.what == op::join || !(is_compute(it.what) || it.what == op::optimizer_step)) continue;
    const voice& sings = of.voices[it.voice];
    if (sings.module != module) continue;
    const auto place = as_size(sings.first_place + it.stage);
    const stage_work& own = work.places[place];
    const double took = seconds[i] > waits[i] ? seconds[i] - waits[i] : 0;
    if (it.what == op::optimizer_step) {
      sum.updated += static_cast<double>(work.parameters[place]);
      sum.update_seconds += took;
    } else if (is_forward(it.what)) {
      sum.flops.forward += own.forward;
      sum.seconds.forward += took;
    } else if (it.what == op::backward_weight) {
      sum.flops.weight += own.backward_weight;
      sum.seconds.weight += took;
    } else if (it.what == op::backward_input) {
      sum.flops.input += own.backward_input - own.again;
      sum.seconds.input += took;
      again += own.again;
    } else {
      whole_input += own.backward_input - own.again;
      whole_weight += own.backward_weight;
      whole += took;
      again += own.again;
    }
  }
  // What is made again has the pace of forwards, and both parts of a backward that ran as one the same pace.
  const double pace = sum.flops.forward > 0 ? sum.seconds.forward / sum.flops.forward : 0,
               both = whole_input + whole_weight;
  if (both > 0) {
    const double left = std::max(0.0, whole - pace * again);
    sum.seconds.input += left * whole_input / both;
    sum.seconds.weight += left * whole_weight / both;
    sum.flops.input += whole_input;
    sum.flops.weight += whole_weight;
  } else {
    sum.seconds.input = std::max(0.0, sum.seconds.input - pace * again);
  }
  return sum;
}

}  // namespace detail

// FLOPs of a forward of one microbatch through all layers of a module, on one of its ranks.
inline double forward_flops_of(const program& of, isize module, const program_work& work) {
  double sum = 0, voices = 0;
  for (const voice& sings : of.voices) {
    if (sings.module != module) continue;
    voices += 1;
    for (std::int32_t s = 0; s < sings.stages; ++s)
      sum += work.places[as_size(sings.first_place + s)].forward;
  }
  return voices > 0 ? sum / voices : 0;
}

// Steps as they ran, with the work that was counted of each, say what the modules of their plan take: the
// median over steps of what a FLOP took, in microbatches of as many as they had on average. Waits for others
// are left out; how lanes share a rank is as `sharing` says. Numbers that a rank updates count where replicas
// do not share the optimizer.
// Asks for: the plan of the program, with its modules in the model's order, and facts of all of them.
// Memory: some numbers for each instruction.
// Errors: none of its own.
// Example:
//   list<module_times> seen(const program& of, const plan& from, const list<module_facts>& facts,
//                           const timeline& step, const program_work& counted) {
//     return times_of_steps(of, from, facts, {step}, {counted}, 1);
//   }
inline list<module_times> times_of_steps(const program& of, const plan& from, const list<module_facts>& facts,
                                         const list<timeline>& steps, const std::vector<program_work>& works,
                                         int threads, const cost_table& sharing = {}) {
  list<module_times> out;
  for (isize k = 0; k < from.modules.size(); ++k) {
    const degrees& split = from.modules[k].on.split();
    module_times made{
        from.modules[k].name, facts[k].layers, facts[k].work, split.tensor, split.context, threads, 0, {}};
    list<double> flops, forward, input, weight, updates, of_input, of_weight;
    for (isize i = 0; i < steps.size(); ++i) {
      const program_work& work = works[as_size(i)];
      const detail::module_step step = detail::step_of_module(of, k, steps[i], work, sharing);
      if (!(step.flops.forward > 0) || !(step.seconds.forward > 0)) continue;
      const double one = forward_flops_of(of, k, work), share = one / step.flops.forward;
      const auto pace = [](double took, double counted) { return counted > 0 ? took / counted : 0; };
      flops.push(one);
      of_input.push(share * step.flops.input);
      of_weight.push(share * step.flops.weight);
      forward.push(pace(step.seconds.forward, step.flops.forward));
      input.push(pace(step.seconds.input, step.flops.input));
      weight.push(pace(step.seconds.weight, step.flops.weight));
      if (step.updated > 0) updates.push(step.update_seconds / step.updated);
    }
    if (flops.empty()) continue;
    const counted_seconds of_one{median(flops), median(of_input), median(of_weight)};
    made.points.push(
        {of_one,
         {of_one.forward * median(forward), of_one.input * median(input), of_one.weight * median(weight)}});
    if (from.modules[k].zero == 0) made.update = median(updates);
    out.push(made);
  }
  return out;
}

}  // namespace motet
