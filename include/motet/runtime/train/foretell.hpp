// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/stage/layer_split.hpp>
#include <motet/runtime/stage/model_table.hpp>
#include <motet/runtime/stage/module_choice.hpp>
#include <motet/runtime/stage/program_fit.hpp>
#include <motet/runtime/stage/stage_work.hpp>
#include <motet/runtime/train/message_bytes.hpp>
#include <motet/schedule/core/costs.hpp>

namespace motet {

// The rates are what a machine does in a second, for one rank.
struct machine_rates {
  double flops = 1e11;
  double bytes = 1e10;  // moved, within a rank or between two
  // FLOPs of attention, and bytes that operations on single elements move; 0: their FLOPs take as long as
  // those of products, and the optimizer moves `bytes`
  double attention = 0, elements = 0;

  double seconds(double all_flops, const slower_work& slower) const {
    double rest = all_flops, out = 0;
    if (attention > 0) rest -= slower.attention, out += slower.attention / attention;
    if (elements > 0) rest -= slower.elements + slower.exchanges, out += slower.bytes / elements;
    return out + rest / flops;
  }
};

// The work of a program of a model, place after place.
struct program_work {
  std::vector<stage_work> places;
  std::vector<isize> parameters;  // elements that each place holds
  double join_flops = 0;          // of each member of a join
  list<double> messages;          // bytes that each instruction sends

  // These add a step of the same program, and scale what was added, for the mean of several steps.
  void add(const program_work& other) {
    for (std::size_t p = 0; p < places.size(); ++p) places[p].add(other.places[p]);
    for (isize i = 0; i < messages.size(); ++i) messages[i] += other.messages[i];
  }
  void scale(double times) {
    for (stage_work& each : places) each.add(each, times - 1);
    for (double& each : messages) each *= times;
  }

  // Seconds of every instruction, with nothing measured but these rates: for simulate().
  cost_table costs(const program& of, const machine_rates& rates) const {
    cost_table made;
    isize most = 0;
    for (std::size_t p = 0; p < places.size(); ++p) {
      const stage_work& own = places[p];
      const double forward_waits = own.forward_group_bytes / rates.bytes,
                   backward_waits = own.backward_group_bytes / rates.bytes;
      made.stages.push({rates.seconds(own.forward, own.of_forward) + forward_waits,
                        rates.seconds(own.backward_input, own.of_input) + backward_waits,
                        rates.seconds(own.backward_weight, own.of_weight), own.kept_bytes, own.boundary_bytes,
                        own.returned_bytes, forward_waits, backward_waits, 0});
      // Weights and two moments are read and written, the gradient is read.
      made.updates.push(7.0 * 4 * static_cast<double>(parameters[p]) /
                        (rates.elements > 0 ? rates.elements : rates.bytes));
      most = parameters[p] > most ? parameters[p] : most;
    }
    made.messages = messages;
    made.joins.resize(of.joins, join_flops / rates.flops);
    // Sums go to every other rank and back, in parts.
    made.reduction = 2.0 * 4 * static_cast<double>(most) / rates.bytes;
    // They are read and written.
    made.offload_bytes_per_second = rates.bytes / 2;
    made.wires.inside.bytes_per_second = made.wires.between.bytes_per_second = rates.bytes;
    return made;
  }
};

// Dry runs of every stage find it, for every rank that holds it: over these inputs of a step, module after
// module, of a stage's microbatches the mean; or, where there are none, over the largest microbatch, of
// samples as long as any can be.
template <class Context, class Numbers>
program_work foretell(const model_table<Context, Numbers>& model, const program& of,
                      const std::vector<module_choice>& choices, isize samples,
                      std::span<const void* const> inputs = {}) {
  program_work found;
  const stage_groups groups = groups_of(of, choices, model.of->size());
  const list<sample_split> splits = splits_of(of, samples);
  step_long_rows long_rows(*model.of, of, groups, choices);
  if (!inputs.empty()) long_rows.find(inputs, splits);
  found.messages =
      message_bytes(*model.of, of, groups, choices, samples, sizeof(typename Numbers::stream), inputs);
  for (const voice& sings : of.voices) {
    const auto module = as_size(sings.module);
    const net_outline& net = *model.of->nets[module];
    const module_choice choice = module < choices.size() ? choices[module] : module_choice{};
    const spread_seat seat = seat_with(seat_of(sings, groups), choice);
    const any_group tensor(groups.tensor_of(sings), groups.tensor_member(sings)),
        context(groups.context_of(sings), groups.context_member(sings));
    const auto parts = net.microbatches(splits[sings.module], sings.replica, seat, tensor, context, 0);
    if (!inputs.empty()) long_rows.cut(module, *parts, inputs[module]);
    const std::vector<isize> layers =
        split_layers(model.of->names[module], net.layers, sings.stages, choice.layers);
    stage_position at;
    at.learns = sings.learns;
    at.fixed = sings.fixed;
    at.feeds_back = model.of->feeds_back(module);
    at.cut = cut_of(sings, groups);
    for (std::int32_t s = 0; s < sings.stages; ++s) {
      at.range = {at.range.last, at.range.last + layers[as_size(s)]};
      at.targets = s + 1 == sings.stages ? model.of->targets(module) : 1;
      at.recompute = choice.recompute;
      at.keep_outputs = choice.keep_outputs;
      at.remade = !choice.remade.empty() && choice.remade[as_size(s)] != 0;
      const isize counted = inputs.empty() ? 0 : parts->count();
      stage_work own;
      for (isize m = 0; m < counted; ++m)
        own.add(work_of_stage(*model.nets[module], at, *parts, seat, m), 1.0 / static_cast<double>(counted));
      if (counted == 0) own = work_of_stage(*model.nets[module], at, *parts, seat);
      found.places.push_back(own);
      found.parameters.push_back(net.span_of(at.range, at.cut).size());
    }
  }
  if (!model.compares()) return found;
  // All pairs of a group once forward, and twice backward, cut over those who meet.
  const double pairs = static_cast<double>(samples) / of.voices[0].joins();
  for (const join_outline& each : model.of->joins)
    if (each.members.size() > 1)
      found.join_flops += 6 * pairs * pairs * static_cast<double>(each.facts.embedding) /
                          static_cast<double>(of.voices.size());
  return found;
}
template <class Model, class Context, class Numbers>
program_work foretell(const program& of, const std::vector<module_choice>& choices, isize samples,
                      std::span<const void* const> inputs = {}) {
  return foretell(table_of_model<Model, Context, Numbers>, of, choices, samples, inputs);
}

}  // namespace motet
