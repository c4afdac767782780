// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/tower_work.hpp>
#include <motet/plan/describe/cluster.hpp>
#include <motet/plan/describe/tower.hpp>

#include <algorithm>

namespace motet {

// A run of a tower's layers that stays together wherever stages are cut.
struct cell_layer {
  isize tower = 0;
  interval blocks{};  // of the tower's layers
  // Seconds of a microbatch on one device, forward, backward, and its part of the update.
  double load = 0;
};

namespace detail {

// Seconds of an operation on one device, whose rate its arithmetic bounds or its memory. What is small takes
// as long as its bytes do.
constexpr double roofline_seconds(double flops, double bytes, double peak, double bytes_per_second) {
  constexpr double small_flops = 0.1e9, small_bytes = 0.1e9;
  const double moving = bytes_per_second > 0 ? bytes / bytes_per_second : 0;
  if (flops < small_flops && bytes < small_bytes) return moving;
  return std::max(flops / peak, moving);
}

// One part of a tower loads a device so, for so many samples.
constexpr double load_of_part(const tower_outline& of, tower_part which, double samples,
                              const device_facts& on, const training_bytes& bytes) {
  const double peak = bytes.activation <= 2 ? on.half_flops : on.single_flops;
  const auto seconds = [&](double flops, double numbers) {
    return roofline_seconds(flops, numbers * bytes.activation, peak, on.bytes_per_second);
  };
  if (of.cached) return 0;
  const part_steps steps = steps_of(of, which);
  double sum = 0;
  for (const product_step& each : steps.products) {
    const double rows = samples * each.rows,
                 one = seconds(samples * each.flops(),
                               rows * each.inner + each.inner * each.columns + rows * each.columns);
    // Nothing that comes in before the first block has a gradient.
    sum += one * (of.frozen ? 1 : which == tower_part::before ? 2 : 3);
  }
  for (const attention_step& each : steps.attention) {
    const double pairs = samples * each.width * each.pairs * each.seen,
                 rows = 4 * samples * each.rows * each.width;
    sum += seconds(4 * pairs, rows) + (of.frozen ? 0 : seconds(10 * pairs, 2 * rows));
  }
  for (const row_step& each : steps.row_by_row) {
    sum += seconds(samples * each.forward, samples * each.forward_moved);
    if (of.frozen) continue;
    sum += seconds(samples * each.input, samples * each.input_moved) +
           seconds(samples * each.weight, samples * each.weight_moved);
  }
  return sum;
}

}  // namespace detail

// The layers of a model load a device with these, for microbatches of so many samples, `microbatches` of them
// in a step. There are at most `most` runs of layers over all towers, and every stage is some of them in a
// row. Towers come one behind the other.
constexpr list<cell_layer> cell_layers_of(const model_shape& of, double samples, double microbatches,
                                          isize most, const device_facts& on, const training_bytes& bytes) {
  isize all = 0;
  for (const tower_outline& each : of.towers) all += each.layers;
  list<cell_layer> out;
  for (isize k = 0; k < of.towers.size(); ++k) {
    const tower_outline& net = of.towers[k];
    const isize runs = all <= most ? net.layers : std::max<isize>(1, net.layers * most / all);
    const double block = detail::load_of_part(net, tower_part::block, samples, on, bytes),
                 before = detail::load_of_part(net, tower_part::before, samples, on, bytes),
                 behind = detail::load_of_part(net, tower_part::behind, samples, on, bytes);
    const double updated = net.frozen || net.cached || on.bytes_per_second <= 0
                               ? 0
                               : (2 * bytes.weight + bytes.gradient + 2 * bytes.state) / on.bytes_per_second;
    for (isize r = 0; r < runs; ++r) {
      cell_layer made{k, {net.layers * r / runs, net.layers * (r + 1) / runs}};
      const isize whole = net.whole_blocks();
      made.load =
          block * static_cast<double>(std::min(made.blocks.end, whole) - std::min(made.blocks.begin, whole)) +
          (r == 0 ? before : 0) + (r + 1 == runs ? behind : 0) +
          updated * held_parameters(net, made.blocks.begin, made.blocks.end, 1) / microbatches;
      out.push(made);
    }
  }
  return out;
}

}  // namespace motet
