// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/expert_load.hpp>
#include <motet/plan/cost/folded_plan.hpp>
#include <motet/plan/cost/lane_speeds.hpp>
#include <motet/plan/cost/piece_times.hpp>
#include <motet/plan/cost/plan_join.hpp>
#include <motet/plan/cost/plan_layout.hpp>
#include <motet/plan/cost/profile.hpp>
#include <motet/plan/cost/tower_times.hpp>

namespace motet {

// The costs are what the instructions of a plan's program take, from the towers and the cluster.
// docs/plan/estimate.md says how each number comes about.

// One stage of one replica.
struct stage_seconds {
  part_times compute;                            // of a microbatch, the largest, by itself
  double forward_group = 0, backward_group = 0;  // for messages within its tensor and context group
  double message = 0;                            // of its rows to the next stage, or of their gradients back
  // of all its gradients once, nothing beside it; with zero 2 of one microbatch's
  double sum = 0;
  double sum_left = 0;  // of that, what is not hidden behind a backward
  // of the optimizer, and of the weights that others have updated
  double update = 0, gather = 0;
  // with zero 3 of all its weights, before a forward as before a backward
  double lend = 0;
  bool remade = false;
  // What was measured of waits comes before what is counted for messages, and for weights that are lent.
  bool waits_measured = false;
  gap_shares waited = {};

  constexpr double forward_waits() const {
    return waits_measured ? waited_beside(compute.forward, waited.forward) : forward_group + lend;
  }
  constexpr double input_waits() const {
    if (!waits_measured) return backward_group + lend + (remade ? forward_waits() : 0);
    return waited_beside(compute.backward_input + (remade ? compute.forward : 0), waited.input);
  }
  constexpr double weight_waits() const {
    return waits_measured ? waited_beside(compute.backward_weight, waited.weight) : 0;
  }
  constexpr double forward() const { return compute.forward + forward_waits(); }
  constexpr double backward_input() const {
    return compute.backward_input + (remade ? compute.forward : 0) + input_waits();
  }
  constexpr double backward_weight() const { return compute.backward_weight + weight_waits(); }
  constexpr double backward() const { return backward_input() + backward_weight(); }
};

// that are summed in one call, about: the last one begins when backward is over
constexpr double bucket_bytes = 1 << 20;

// The layers of stage s of a module.
constexpr interval layers_of_stage(const module_plan& own, isize layers, isize s) {
  if (own.layers.empty()) return {layers * s / own.stages(), layers * (s + 1) / own.stages()};
  isize first = 0;
  for (isize k = 0; k < s; ++k) first += own.layers[k];
  return {first, first + own.layers[s]};
}

namespace detail {

// The largest microbatch of a module, and whether all are alike. Shares are as even as can be, the first ones
// larger.
struct microbatch_sizes {
  isize largest = 0;
  bool even = true;
};
constexpr microbatch_sizes sizes_of(const sample_split& of) {
  return {of.of(0, 0, 0).size(), of.samples % (of.groups * of.replicas * of.microbatches) == 0};
}
// A plan says which replicas share the experts of a tower, and how many rows choose among them.
inline model_shape with_sharers(model_shape model, const plan& of, isize samples,
                                const machine_profile* measured, const training_bytes& bytes) {
  for (isize k = 0; k < model.towers.size(); ++k) {
    const module_plan& own = of.modules[k];
    model.towers[k].sharers = own.experts;
    model.towers[k] = with_load(model.towers[k], static_cast<double>(sizes_of(own.split(samples)).largest),
                                own.on.split(), measured, bytes);
  }
  return model;
}

}  // namespace detail

// All that the costs of a plan follow from.
class plan_pricer {
 public:
  // Keeps the addresses of the plan and the cluster. The plan must pass check_plan() and have its
  // modules in the model's order.
  plan_pricer(const plan& of, const model_shape& model, const cluster_facts& on, const training_bytes& bytes,
              isize samples, const estimate_options& options = {})
      : of_(of),
        model_(detail::with_sharers(model, of, samples, options.measured, bytes)),
        on_(on),
        bytes_(bytes),
        samples_(samples),
        options_(options),
        layouts_(plan_layouts(of, on)) {
    for (isize k = 0; k < of.modules.size(); ++k) sizes_.push(detail::sizes_of(of.modules[k].split(samples)));
    for (isize k = 0; k < of.modules.size(); ++k) pieces_.push(find_pieces(k));
    for (isize k = 0; k < of.modules.size(); ++k)
      gaps_.push(find_gaps(options.measured, model_.towers[k], gap_degrees_of(of.modules[k]), bytes_));
  }

  const plan& whole() const { return of_; }
  const model_shape& model() const { return model_; }
  const cluster_facts& cluster() const { return on_; }
  const training_bytes& bytes() const { return bytes_; }
  const estimate_options& options() const { return options_; }
  const module_layout& layout(isize k) const { return layouts_[k]; }
  double samples_of_group(isize k) const { return static_cast<double>(samples_) / of_.modules[k].groups(); }
  double largest_microbatch(isize k) const { return static_cast<double>(sizes_[k].largest); }
  // A microbatch is so large beside the largest one.
  double scale(isize k, isize replica, isize microbatch) const {
    if (sizes_[k].even) return 1;
    const isize group = of_.modules[k].whole_group();
    return static_cast<double>(
               of_.modules[k].split(samples_).of(microbatch / group, replica, microbatch % group).size()) /
           static_cast<double>(sizes_[k].largest);
  }
  bool even(isize k) const { return sizes_[k].even; }
  // Rows of a module's tensor groups are exchanged in so many pieces: those of its plan, or where it leaves
  // them open those that pay.
  int pieces(isize k) const { return pieces_[k]; }
  bool learns(isize k) const { return !model_.towers[k].frozen && !model_.towers[k].cached; }
  // So many ranks sum a gradient of a module.
  double summing(isize k) const { return of_.modules[k].on.split().data * of_.modules[k].on.split().context; }
  // And so many a gradient of its experts.
  double summing_experts(isize k) const { return summing(k) / of_.modules[k].experts; }
  double boundary_bytes(isize k) const {
    const degrees& split = of_.modules[k].on.split();
    return work_of(model_.towers[k]).boundary * largest_microbatch(k) * bytes_.activation /
           (split.context * split.tensor);
  }

  // Replicas of equal keys take equal times.
  std::uint64_t key(isize k, std::int32_t replica) const {
    std::uint64_t made = 0;
    const auto put = [&](isize number) { made = detail::mixed(made, static_cast<std::uint64_t>(number)); };
    for (std::int32_t d = 0; d < of_.modules[k].on.split().stages; ++d) {
      const device_layout& at = layouts_[k].at(d, replica);
      for (const group_layout& each : {at.tensor, at.context, at.experts})
        put(each.nodes), put(each.per_node), put(each.sharers), put(each.kinds);
      put(at.crossing);
      put(at.kinds);
    }
    if (sizes_[k].even) return made;
    const sample_split split = of_.modules[k].split(samples_);
    for (isize g = 0; g < split.groups; ++g)
      for (isize m = 0; m < split.microbatches; ++m) put(split.of(g, replica, m).size());
    return made;
  }

  part_work work(isize k, isize stage) const {
    const interval layers = layers_of_stage(of_.modules[k], model_.towers[k].layers, stage);
    return work_of_layers(model_.towers[k], layers.begin, layers.end, of_.modules[k].on.split());
  }
  // Stage `stage` of module k, on the pipeline's device `device` of a replica; its rows go to device `next`
  // (-1: it is the last).
  stage_seconds stage(isize k, isize stage, std::int32_t replica, std::int32_t device,
                      std::int32_t next) const {
    const module_plan& own = of_.modules[k];
    const degrees& split = own.on.split();
    const tower_outline& net = model_.towers[k];
    const double samples = largest_microbatch(k);
    const interval layers = layers_of_stage(own, net.layers, stage);
    const device_layout& at = layouts_[k].at(device, replica);
    stage_seconds out;
    if (net.cached) {
      out.compute.forward = samples * static_cast<double>(net.embedding) * bytes_.feature /
                            of_kinds(on_, at.kinds).device.bytes_per_second;
      return out;
    }
    out.compute = compute_of(net, layers, samples, split, at.kinds);
    const part_work work = work_of_layers(net, layers.begin, layers.end, split);
    out.forward_group =
        group_seconds(k, work.group_numbers, work.context_numbers, layers.size(), at, out.compute.forward) +
        expert_seconds(k, work.expert_numbers, layers.size(), at);
    out.remade = !own.remade.empty() && own.remade[stage] != 0 && learns(k);
    out.waits_measured = gaps_[k] != nullptr;
    if (out.waits_measured) out.waited = *gaps_[k];
    if (next >= 0 && next != device) {
      // Both directions of a pair are alike; of a chain that turns round, the pair's first device knows.
      const device_layout& there = layouts_[k].at(next, replica);
      const std::int32_t crossing = next == (device + 1) % split.stages ? at.crossing : there.crossing;
      const cluster_facts both = of_kinds(on_, at.kinds | there.kinds);
      const wire& way = crossing > 0 ? both.between : both.inside;
      out.message = way.latency + way.seconds(boundary_bytes(k) * std::max(crossing, 1));
    }
    if (!learns(k)) return out;
    out.backward_group = group_seconds(k, work.backward_group_numbers, work.backward_context_numbers,
                                       layers.size(), at, out.compute.backward()) +
                         expert_seconds(k, work.backward_expert_numbers, layers.size(), at);
    sums(k, own, work, device, at.kinds, out);
    return out;
  }

  // Lanes share a rank as the plan says, and slow each other as was measured of such towers.
  void lanes(cost_table& out) const {
    out.shares = shares_of_lanes(of_);
    const machine_profile* const measured = options_.measured;
    if (measured == nullptr || measured->pairs.empty() || out.shares.size() < 2) return;
    list<label> names;
    for (isize k = 0; k < of_.modules.size(); ++k) {
      const module_profile* const found = find_measured(*measured, model_.towers[k], bytes_);
      names.push(found != nullptr ? found->of.name : of_.modules[k].name);
    }
    out.beside_others = kept_beside_others(of_, names, measured->pairs);
  }

  // The most parameters of a stage that are asked for by themselves: those before or behind its blocks, or of
  // one.
  double largest_part(isize k, isize stage) const {
    const module_plan& own = of_.modules[k];
    const tower_outline& net = model_.towers[k];
    const auto parameters = [&](tower_part part) {
      return work_of_part(net, part, own.on.split()).parameters;
    };
    const interval layers = layers_of_stage(own, net.layers, stage);
    double most = parameters(tower_part::block);
    if (layers.begin == 0) most = std::max(most, parameters(tower_part::before));
    if (layers.end == net.layers) most = std::max(most, parameters(tower_part::behind));
    return most;
  }
  join_cost join() const { return join_of(of_, model_, on_, bytes_, samples_, options_); }

 private:
  // A group of unlike devices waits for the slowest. What was measured is of the cluster's first kind, and of
  // the others in proportion.
  part_times compute_of(const tower_outline& net, interval layers, double samples, degrees split,
                        std::uint32_t kinds) const {
    const auto modelled = [&](const device_facts& device) {
      return times_of_layers(net, layers.begin, layers.end, samples, split, device, bytes_);
    };
    const part_times measured =
        times_of_layers(net, layers.begin, layers.end, samples, split, on_.device, bytes_, options_.measured);
    if (on_.more_runs == 0 || kinds == 1) return measured;
    const part_times first = modelled(on_.device);
    part_times out;
    for (std::int32_t kind = 0; kind < on_.kinds(); ++kind) {
      if ((kinds & 1u << kind) == 0) continue;
      const part_times own = kind > 0 ? modelled(on_.of_kind(kind).device) : first;
      for (const auto time :
           {&part_times::forward, &part_times::backward_input, &part_times::backward_weight}) {
        const double ratio = first.*time > 0 ? own.*time / first.*time : 1;
        out.*time = std::max(out.*time, options_.measured == nullptr ? own.*time : ratio * (measured.*time));
      }
    }
    return out;
  }
  // What a stage computes, and what its tensor group gathers and sums beside that: four calls forward, six
  // backward, which are told from the numbers.
  piece_times tensor_exchange(isize k, double numbers, const device_layout& at, double compute) const {
    if (of_.modules[k].on.split().tensor == 1 || numbers <= 0) return {compute, 0, 0};
    const tower_outline& net = model_.towers[k];
    const double rows = static_cast<double>(net.tokens * net.width) / of_.modules[k].on.split().context,
                 calls = std::max(1.0, numbers / rows);
    const auto of_bytes = [&](double bytes) { return calls * all_gather_seconds(bytes, at.tensor, on_); };
    return {compute, of_bytes(largest_microbatch(k) * numbers / calls * bytes_.activation), of_bytes(0)};
  }
  // A run has one number for all stages of a module, forward and backward: it is found by the stage with most
  // of both.
  int find_pieces(isize k) const {
    const module_plan& own = of_.modules[k];
    const degrees& split = own.on.split();
    const tower_outline& net = model_.towers[k];
    if (own.pieces > 0) return own.pieces;
    if (split.tensor == 1 || net.cached) return 1;
    piece_times most;
    for (std::int32_t s = 0; s < own.stages(); ++s)
      for (std::int32_t replica = 0; replica < layouts_[k].data; ++replica) {
        const device_layout& at = layouts_[k].at(s % split.stages, replica);
        const interval layers = layers_of_stage(own, net.layers, s);
        const part_work numbers = work_of_layers(net, layers.begin, layers.end, split);
        const part_times takes = compute_of(net, layers, largest_microbatch(k), split, at.kinds);
        piece_times both = tensor_exchange(k, numbers.group_numbers, at, takes.forward);
        if (learns(k)) {
          const piece_times back = tensor_exchange(k, numbers.backward_group_numbers, at, takes.backward());
          both = {both.product + back.product, both.exchange + back.exchange, both.further + back.further};
        }
        if (both.product + both.exchange > most.product + most.exchange) most = both;
      }
    return most.exchange > 0 ? most.best() : 1;
  }
  // Blocks wait for what their tensor group exchanges, in pieces for what does not hide behind products; and
  // for keys and values of their context group.
  double group_seconds(isize k, double tensor_numbers, double context_numbers, isize blocks,
                       const device_layout& at, double compute) const {
    const double samples = largest_microbatch(k), number = bytes_.activation;
    const degrees& split = of_.modules[k].on.split();
    const tower_outline& net = model_.towers[k];
    const piece_times tensor = tensor_exchange(k, tensor_numbers, at, compute);
    double out = pieces(k) > 1 ? tensor.seconds(pieces(k)) - compute : tensor.exchange;
    if (split.context > 1 && context_numbers > 0) {
      const double bytes = samples * context_numbers * number, calls = 4 * static_cast<double>(blocks);
      if (!net.ring) out += calls * all_to_all_seconds(bytes / calls, at.context, on_);
      // Keys and values are under way while those before them are computed.
      else
        out +=
            std::max(0.0, static_cast<double>(blocks) *
                                  all_gather_seconds(bytes / static_cast<double>(blocks), at.context, on_) -
                              compute);
    }
    return out;
  }
  // Rows go to the replicas that have experts for them and come back, twice for each block.
  double expert_seconds(isize k, double numbers, isize blocks, const device_layout& at) const {
    if (numbers <= 0) return 0;
    const double calls = 2 * static_cast<double>(blocks),
                 bytes = largest_microbatch(k) * numbers * bytes_.activation;
    return calls * all_to_all_seconds(bytes / calls, at.experts, on_);
  }
  // Gradients of experts that replicas share are summed over those that have the same.
  void sums(isize k, const module_plan& own, const part_work& work, std::int32_t device, std::uint32_t kinds,
            stage_seconds& out) const {
    const double of_experts = own.experts > 1 ? work.of_experts : 0, rest = work.parameters - of_experts,
                 memory = of_kinds(on_, kinds).device.bytes_per_second;
    const auto part = [&](double parameters, double among) {
      return own.zero > 0 ? parameters / among : parameters;
    };
    // Weights and state are read and written, gradients are read.
    out.update = (part(rest, summing(k)) + part(of_experts, summing_experts(k))) *
                 (2 * bytes_.weight + bytes_.gradient + 2 * bytes_.state) / memory;
    const auto add = [&](double parameters, double among, const group_layout& group) {
      if (among < 2 || parameters <= 0) return;
      const double bytes = parameters * bytes_.gradient;
      const auto of_bytes = [&](double some) {
        return own.zero > 0 ? reduce_scatter_seconds(some, group, on_) : all_reduce_seconds(some, group, on_);
      };
      const double all = of_bytes(bytes);
      out.sum += all;
      out.sum_left += options_.sums_overlap
                          ? std::max(all - out.backward(), of_bytes(std::min(bytes, bucket_bytes)))
                          : all;
      if (own.zero > 0)
        (own.zero > 2 ? out.lend : out.gather) += all_gather_seconds(parameters * bytes_.weight, group, on_);
    };
    add(rest, summing(k), layouts_[k].sums[device]);
    if (own.experts > 1) add(of_experts, summing_experts(k), layouts_[k].sums_of_experts[device]);
    // Those of every backward are in its measured waits.
    if (out.waits_measured && own.zero > 1) out.sum_left = 0;
  }

  const plan& of_;
  model_shape model_;
  const cluster_facts& on_;
  training_bytes bytes_;
  isize samples_;
  estimate_options options_;
  list<module_layout> layouts_;
  list<detail::microbatch_sizes> sizes_;
  list<int> pieces_;              // of each module
  list<const gap_shares*> gaps_;  // of each module; null: they are counted
};

// The costs of a folded plan's program, voice after voice.
struct priced_program {
  // bytes of messages are told as seconds, on wires that carry one a second: who shares a node's way out is
  // known beforehand
  cost_table costs;
  list<stage_seconds> places;  // of each of the program's places
  join_cost join;
};

inline priced_program price(const plan_pricer& by, const folded_plan& folded, const program& of) {
  priced_program out;
  out.costs.wires.inside.bytes_per_second = 1;
  by.lanes(out.costs);
  bool even = true;
  for (const voice& each : of.voices) {
    const isize k = each.module;
    even = even && by.even(k);
    const mesh& on = folded.small.modules[k].on;
    const std::int32_t replica = folded.replicas[k][each.replica];
    const auto device = [&](std::int32_t s) {
      return s < each.stages ? on.position(on.find(of.place(each, s))).stage : -1;
    };
    const bool again = each.shard > 0 && each.shards > 1;  // shards take equal times
    for (std::int32_t s = 0; s < each.stages; ++s) {
      const isize before = out.places.size() - each.stages;
      const stage_seconds own =
          again ? stage_seconds(out.places[before]) : by.stage(k, s, replica, device(s), device(s + 1));
      out.places.push(own);
      const bool each_sums = folded.small.modules[k].zero > 1 && folded.sums[k] != 0;
      const double sums = each_sums ? own.sum_left : 0;
      out.costs.stages.push({own.forward(), own.backward_input(), own.backward_weight() + sums, 0,
                             own.message, s > 0 ? out.places[out.places.size() - 2].message : 0,
                             own.forward_waits(), own.input_waits(), own.weight_waits() + sums});
      out.costs.updates.push(own.update + own.gather);
      out.costs.reductions.push(each_sums ? 0 : own.sum_left);
    }
  }
  if (!even) {
    for (const voice& each : of.voices)
      for (std::int32_t s = 0; s < each.stages; ++s)
        for (std::int32_t m = 0; m < each.microbatches; ++m)
          out.costs.scale.push(by.scale(each.module, folded.replicas[each.module][each.replica], m));
  }
  if (of.joins > 0) out.join = by.join();
  out.costs.joins.resize(of.joins, out.join.compute + out.join.exchange);
  return out;
}

// The same for a plan's own program, as compile() makes it of write_plan().
inline cost_table plan_costs(const program& of, const plan& from, const model_shape& model,
                             const cluster_facts& on, const training_bytes& bytes, isize samples,
                             const estimate_options& options = {}) {
  return price(plan_pricer(from, model, on, bytes, samples, options), unfolded_plan(from), of).costs;
}

}  // namespace motet
