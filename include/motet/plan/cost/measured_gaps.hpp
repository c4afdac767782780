// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/plan.hpp>
#include <motet/schedule/core/costs.hpp>

#include <string_view>

namespace motet {

// For whom the ranks of a module wait inside its operations follows from these.
struct gap_degrees {
  std::int32_t tensor = 1, context = 1, experts = 1;
  int zero = 0;           // 2 or 3; below that replicas sum and update between operations: 0
  std::int32_t data = 1;  // replicas that share gradients or weights, where zero is 2 or 3

  constexpr bool waits() const { return tensor > 1 || context > 1 || experts > 1 || data > 1; }
  friend constexpr bool operator==(const gap_degrees&, const gap_degrees&) = default;
};
constexpr gap_degrees gap_degrees_of(const degrees& split, std::int32_t experts, int zero) {
  const bool shared = zero > 1 && split.data * split.context > 1;
  return {split.tensor, split.context, experts, shared ? zero : 0, shared ? split.data : 1};
}
constexpr gap_degrees gap_degrees_of(const module_plan& own) {
  return gap_degrees_of(own.on.split(), own.experts, own.zero);
}

// The share of the time of each operation of a module in which a rank waits for others of its groups. A
// backward that makes its forward again has that in its input part.
struct gap_shares {
  double forward = 0, input = 0, weight = 0;
  friend constexpr bool operator==(const gap_shares&, const gap_shares&) = default;
};
inline constexpr double most_waited = 0.99;  // some of an operation is always work

// What a recorded step showed of a module.
struct measured_gaps {
  label module;
  gap_degrees under;
  gap_shares of;
  friend constexpr bool operator==(const measured_gaps&, const measured_gaps&) = default;
};

// Seconds that are waited beside so many that compute, so that they are this share of both.
constexpr double waited_beside(double computes, double share) { return computes * share / (1 - share); }

// The same operations, longer by what is waited beside what computes in them.
constexpr stage_cost with_gaps(stage_cost of, const gap_shares& shares) {
  const auto wait = [](double& seconds, double& gaps, double share) {
    const double computes = seconds - gaps;
    gaps = waited_beside(computes, share);
    seconds = computes + gaps;
  };
  wait(of.forward, of.forward_gaps, shares.forward);
  wait(of.backward_input, of.input_gaps, shares.input);
  wait(of.backward_weight, of.weight_gaps, shares.weight);
  return of;
}

// Where gaps are from, as programs say it: counted by messages, or seen by a recorded step.
constexpr std::string_view gaps_are(bool measured) { return measured ? "measured" : "counted"; }

// Null: the module was not measured under these degrees.
constexpr const gap_shares* find_gaps(const list<measured_gaps>& in, const label& module,
                                      const gap_degrees& under) {
  for (const measured_gaps& each : in)
    if (each.module == module && each.under == under) return &each.of;
  return nullptr;
}
// Puts what was measured in place of what is there of the same.
constexpr void put_gaps(list<measured_gaps>& to, const measured_gaps& made) {
  for (measured_gaps& each : to)
    if (each.module == made.module && each.under == made.under) {
      each = made;
      return;
    }
  to.push(made);
}

// Costs of a step as it ran, with its gaps, say which part of their operations the modules of its plan
// waited, over all stages and ranks together. Modules whose ranks have nobody to wait for are left out.
// Asks for: the plan of the program, with its modules in the model's order; costs as measured_costs() makes
// them.
// Memory: some numbers for each module.
// Errors: none of its own.
// Example:
//   void as_seen(cost_table& counted, const program& steps, const plan& from, const cost_table& measured) {
//     put_measured_gaps(counted, steps, from, gaps_of_step(steps, from, measured));
//   }
constexpr list<measured_gaps> gaps_of_step(const program& of, const plan& from, const cost_table& costs) {
  list<measured_gaps> out;
  for (isize k = 0; k < from.modules.size(); ++k) {
    const gap_degrees under = gap_degrees_of(from.modules[k]);
    if (!under.waits()) continue;
    stage_cost all{0, 0, 0};
    for (const voice& sings : of.voices)
      for (std::int32_t s = 0; sings.module == k && s < sings.stages; ++s) {
        const stage_cost& own = costs.stages[sings.first_place + s];
        for (const auto each :
             {&stage_cost::forward, &stage_cost::backward_input, &stage_cost::backward_weight,
              &stage_cost::forward_gaps, &stage_cost::input_gaps, &stage_cost::weight_gaps})
          all.*each += own.*each;
      }
    const auto share = [](double waits, double seconds) {
      const double found = seconds > 0 ? waits / seconds : 0;
      return found < most_waited ? found : most_waited;
    };
    out.push({from.modules[k].name,
              under,
              {share(all.forward_gaps, all.forward), share(all.input_gaps, all.backward_input),
               share(all.weight_gaps, all.backward_weight)}});
  }
  return out;
}

// Costs with these gaps in place of counted ones, where modules were measured under the degrees of their
// plan: what computes takes what it took, and operations are longer by what is waited.
constexpr void put_measured_gaps(cost_table& to, const program& of, const plan& from,
                                 const list<measured_gaps>& measured) {
  for (const voice& sings : of.voices) {
    const module_plan& own = from.modules[sings.module];
    const gap_shares* const found = find_gaps(measured, own.name, gap_degrees_of(own));
    for (std::int32_t s = 0; found != nullptr && s < sings.stages; ++s) {
      stage_cost& at = to.stages[sings.first_place + s];
      at = with_gaps(at, *found);
    }
  }
}

}  // namespace motet
