// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/tower_work.hpp>
#include <motet/plan/quotas/quota_question.hpp>

namespace motet {

namespace detail {

// Products of which a side is short do not reach the peak's best share. What they lose is taken as a time
// that no multiprocessor less makes longer; on all of them a product takes what estimates of plans say.
struct quota_clock {
  const device_facts& on;
  const multiprocessors& chip;
  double bytes = 2;  // of a number

  // A memory's rate is reached by less than half of the multiprocessors.
  static constexpr double memory_knee = 56;

  constexpr double peak() const { return (bytes <= 2 ? on.half_flops : on.single_flops) * on.products.best; }
  // The line of products with `flops` for each sample, which have `rows` of it.
  constexpr quota_line computing(double flops, double rows, double columns) const {
    const double by_columns = 1 + on.products.half_columns / columns, each = flops / peak();
    return {.fixed = each / rows * on.products.half_rows * by_columns,
            .fixed_each = each * (by_columns - 1),
            .scaled_each = each * chip.all};
  }
  constexpr quota_line moving(double each, double once = 0) const {
    if (on.bytes_per_second <= 0) return {};
    const double times = bytes / on.bytes_per_second * memory_knee;
    return {.scaled = once * times, .scaled_each = each * times, .knee = memory_knee};
  }
  // The longest of arithmetic, memory and the launch, `times` one behind the other.
  constexpr kernel_class product(const product_step& of, double times) const {
    return {.lines = {computing(times * of.flops(), of.rows, of.inner < of.columns ? of.inner : of.columns),
                      moving(times * of.rows * (of.inner + of.columns), times * of.inner * of.columns),
                      quota_line{.fixed = times * on.launch_seconds}}};
  }
};

inline void add_part(quota_module& to, const tower_outline& of, tower_part which, double blocks,
                     const quota_clock& clock) {
  if (blocks <= 0) return;
  const part_steps steps = steps_of(of, which);
  const bool learns = !of.frozen && !of.cached;
  const auto add = [&](phase_curve& half, kernel_class made, double flops, double bytes) {
    half.classes.push_back(std::move(made));
    half.flops_each += flops;
    half.bytes_each += bytes;
  };
  double forward = 0, back = 0;
  for (const product_step& each : steps.products) {
    const double flops = blocks * each.flops(),
                 bytes = blocks * clock.bytes * each.rows * (each.inner + each.columns);
    add(to.forward, clock.product(each, blocks), flops, bytes);
    // Nothing comes in that has a gradient.
    const double again = which == tower_part::before ? 1 : 2;
    if (learns) add(to.backward, clock.product(each, again * blocks), again * flops, again * bytes);
  }
  for (const attention_step& each : steps.attention) {
    const double pairs = blocks * each.width * each.pairs * each.seen;
    add(to.forward, {.lines = {clock.computing(4 * pairs, each.rows, each.width)}}, 4 * pairs, 0);
    if (learns)
      add(to.backward, {.lines = {clock.computing(10 * pairs, each.rows, each.width)}}, 10 * pairs, 0);
  }
  for (const row_step& each : steps.row_by_row) {
    forward += blocks * each.forward_moved;
    back += blocks * (each.input_moved + each.weight_moved);
  }
  add(to.forward, {.lines = {clock.moving(forward)}}, 0, forward * clock.bytes);
  if (learns) add(to.backward, {.lines = {clock.moving(back)}}, 0, back * clock.bytes);
}

}  // namespace detail

// A tower as a module: its times by the device's rates, its bytes as training keeps them.
inline quota_module quota_module_of(const tower_outline& of, const device_facts& on,
                                    const multiprocessors& chip, const training_bytes& bytes) {
  quota_module out;
  out.name = of.name;
  const detail::quota_clock clock{on, chip, bytes.activation};
  detail::add_part(out, of, tower_part::before, 1, clock);
  detail::add_part(out, of, tower_part::block, static_cast<double>(of.whole_blocks()), clock);
  detail::add_part(out, of, tower_part::behind, 1, clock);
  const part_work whole = work_of_layers(of, 0, of.layers);
  const bool learns = !of.frozen && !of.cached;
  out.sum_bytes = learns ? whole.parameters * bytes.gradient : 0;
  out.standing_bytes = whole.parameters * (bytes.weight + (learns ? bytes.gradient + bytes.state : 0));
  out.kept_bytes = learns ? whole.kept * bytes.kept * bytes.activation : 0;
  out.sends_bytes = learns ? whole.remade * bytes.activation : 0;
  return out;
}

// The towers of a model on a cluster of one kind; no tower enters another. Throws MT-P100 where it is not
// known how its devices split, MT-P101 for several kinds of them and more than 64.
inline quota_question quotas_of_towers(const model_shape& model, const cluster_facts& on, isize samples,
                                       const training_bytes& bytes) {
  if (on.kinds() > 1) fail(quotas_not_for_this, std::to_string(on.kinds()) + " kinds of devices, wanted one");
  if (on.devices() > 64) fail(quotas_not_for_this, std::to_string(on.devices()) + " devices, wanted 1 to 64");
  quota_question out;
  out.chip = multiprocessors_of(on.device);
  for (const tower_outline& each : model.towers)
    out.modules.push_back(quota_module_of(each, on.device, out.chip, bytes));
  out.samples = samples;
  out.devices = on.devices();
  out.limits = {.bytes_per_second = on.device.bytes_per_second,
                .flops_per_second = on.device.products.best *
                                    (bytes.activation <= 2 ? on.device.half_flops : on.device.single_flops)};
  out.memory_bytes = on.device.memory_bytes;
  out.wires = on;
  return out;
}
inline quota_question quotas_of_towers(const model_shape& model, const cluster_facts& on, isize samples) {
  return quotas_of_towers(model, on, samples, on.bytes);
}

}  // namespace motet
