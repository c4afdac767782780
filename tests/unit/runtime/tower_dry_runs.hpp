// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/plan/cost/tower_work.hpp>
#include <motet/plan/describe/tower_of.hpp>
#include <motet/runtime/stage/stage_work.hpp>

#include <doctest/doctest.h>

// Dry runs of a tower's type check what plans take it to do: the formulas of plan/tower_steps.hpp are no
// bookkeeping of their own.
namespace motet::dry_runs {

inline constexpr isize samples = 12;

struct counted {
  stage_work work;
  double parameters = 0, kept_bytes = 0, working_bytes = 0;
};
template <class Net, class Numbers>
counted dry_run(stage_range range, spread_seat seat, std::int32_t sharers = 1) {
  const auto number = [](isize from) { return static_cast<std::int32_t>(from); };
  const any_group tensor(number(seat.tensor), number(seat.tensor_member)),
      context(number(seat.context), number(seat.context_member));
  if (sharers > 1) seat.experts = any_group(sharers * number(seat.tensor), number(seat.tensor_member));
  const replica_microbatches<Net> parts({samples, 1, 1, 1}, 0, seat, tensor, context);
  stage_position at;
  at.range = range;
  at.cut = {number(seat.tensor), number(seat.tensor_member), sharers, 0};
  counted out;
  out.work = work_of_stage(table_of_net<Net, cpu::context, Numbers>, at, parts, seat);
  out.parameters = static_cast<double>(Net::stage::parameter_end(range, at.cut) -
                                       Net::stage::parameter_begin(range, at.cut));
  const stage_needs needs = measure_stage(table_of_net<Net, cpu::context, Numbers>, at, parts);
  // A later stage reads the rows that came in from where they arrived.
  out.kept_bytes = static_cast<double>(needs.slot) + (range.first > 0 ? out.work.returned_bytes : 0);
  out.working_bytes = static_cast<double>(needs.work);
  return out;
}

inline double apart(double made, double wanted) {
  return wanted == 0 ? made : made > wanted ? made / wanted - 1 : 1 - made / wanted;
}

template <class Net, class Numbers = fp32>
void check_range(const tower_outline& of, stage_range range, degrees split, double flops_apart,
                 double kept_apart) {
  CAPTURE(range.first);
  CAPTURE(range.last);
  CAPTURE(split.tensor);
  CAPTURE(split.context);
  CAPTURE(of.sharers);
  const counted real = dry_run<Net, Numbers>(range, {.tensor = split.tensor, .context = split.context},
                                             static_cast<std::int32_t>(of.sharers));
  const part_work told = work_of_layers(of, range.first, range.last, split);
  CHECK(told.parameters == real.parameters);
  CHECK(apart(samples * told.forward_flops, real.work.forward) < flops_apart);
  CHECK(apart(samples * told.input_flops, real.work.backward_input) < flops_apart);
  CHECK(apart(samples * told.weight_flops, real.work.backward_weight) < flops_apart);
  const double bytes = (told.kept - told.kept_stream) * sizeof(typename Numbers::value) +
                       told.kept_stream * sizeof(typename Numbers::stream);
  CHECK(apart(samples * bytes, real.kept_bytes) < kept_apart);
}

}  // namespace motet::dry_runs
