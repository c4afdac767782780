// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/estimate.hpp>
#include <motet/plan/cost/tower_work.hpp>
#include <motet/plan/describe/cluster.hpp>

namespace motet {

// Seconds of one microbatch on one rank, without messages.
struct part_times {
  double forward = 0, backward_input = 0, backward_weight = 0;
  constexpr double backward() const { return backward_input + backward_weight; }
};

namespace detail {

// One device takes products at the share of its peak that their sides allow, but no faster than their numbers
// move; the rest takes as long as its numbers move.
struct device_clock {
  const device_facts& on;
  double bytes = 2;  // of a number

  constexpr double moving(double numbers) const {
    return on.bytes_per_second > 0 ? numbers * bytes / on.bytes_per_second : 0;
  }
  constexpr double computing(double flops, double rows, double columns) const {
    const double peak = bytes <= 2 ? on.half_flops : on.single_flops;
    return flops <= 0 ? 0 : flops / (peak * on.products.of(rows, columns));
  }
  constexpr double product(const product_step& of, double samples) const {
    const double rows = samples * of.rows,
                 moved = rows * of.inner + of.inner * of.columns + rows * of.columns;
    // Tensor parallelism cuts one side of the weights; the shorter one tells.
    const double taken = computing(samples * of.flops(), rows, of.inner < of.columns ? of.inner : of.columns),
                 least = moving(moved);
    return taken > least ? taken : least;
  }
  constexpr double attention(const attention_step& of, double flops_of_pair, double samples) const {
    return computing(samples * flops_of_pair * of.width * of.pairs * of.seen, samples * of.rows, of.width);
  }
};

}  // namespace detail

// `samples` are those of the rank's tensor and context group. With numbers between layers of 2 bytes products
// run at half_flops, else at single_flops.
constexpr part_times times_of_part(const tower_outline& of, tower_part which, double samples, degrees split,
                                   const device_facts& on, const training_bytes& bytes) {
  const part_steps steps = steps_of(of, which, split);
  const detail::device_clock clock{on, bytes.activation};
  part_times out;
  for (const product_step& each : steps.products) {
    const double seconds = clock.product(each, samples);
    out.forward += seconds;
    // Nothing comes in that has a gradient.
    if (which != tower_part::before) out.backward_input += seconds;
    out.backward_weight += seconds;
  }
  for (const attention_step& each : steps.attention) {
    out.forward += clock.attention(each, 4, samples);
    out.backward_input += clock.attention(each, 10, samples);
  }
  for (const row_step& each : steps.row_by_row) {
    out.forward += clock.moving(samples * each.forward_moved);
    out.backward_input += clock.moving(samples * each.input_moved);
    out.backward_weight += clock.moving(samples * each.weight_moved);
  }
  // The host runs ahead, so only its sum tells.
  const double least =
      on.launch_seconds *
      static_cast<double>(steps.products.size() + steps.attention.size() + steps.row_by_row.size());
  for (double part_times::*const part :
       {&part_times::forward, &part_times::backward_input, &part_times::backward_weight})
    if (out.*part > 0 && out.*part < least) out.*part = least;
  if (of.frozen) out.backward_input = out.backward_weight = 0;
  return out;
}

// The layers [first, last) take this: with `before` where they begin with the first, with `behind` where they
// end with the last.
constexpr part_times times_of_layers(const tower_outline& of, isize first, isize last, double samples,
                                     degrees split, const device_facts& on, const training_bytes& bytes) {
  const detail::parts_of_layers have(of, first, last);
  part_times out;
  const auto add = [&](tower_part which, double times) {
    const part_times own = times_of_part(of, which, samples, split, on, bytes);
    out.forward += times * own.forward;
    out.backward_input += times * own.backward_input;
    out.backward_weight += times * own.backward_weight;
  };
  if (have.before) add(tower_part::before, 1);
  if (have.blocks > 0) add(tower_part::block, static_cast<double>(have.blocks));
  if (have.behind) add(tower_part::behind, 1);
  return out;
}

}  // namespace motet
