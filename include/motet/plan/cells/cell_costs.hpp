// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cells/cell_plan.hpp>
#include <motet/plan/cells/comm_table.hpp>
#include <motet/plan/cost/plan_costs.hpp>

#include <map>
#include <tuple>

namespace motet {

// The bars say how far off numbers are by their kind, as shares. They are what Crius publishes of profiles of
// one device and of FLOPs over a rate; numbers that are measured later replace them.
struct cell_bars {
  double profiled = 0.08;
  double by_rates = 0.6;
  double wires = 0.3;
};

// The sources are what the plans of cells are priced from. Keeps the addresses of all but `bars`.
struct cell_sources {
  const model_shape& model;
  const cluster_facts& kind;  // that cells take their devices from
  training_bytes bytes;
  isize samples;  // of a step
  const comm_table& wires;
  const machine_profile* measured = nullptr;  // of one device of the kind
  cell_bars bars = {};
};

// A tower's part of a stage, for one microbatch on one device.
struct part_price {
  double forward = 0, backward = 0;            // arithmetic
  double forward_sent = 0, backward_sent = 0;  // within the tensor group, or as long as it was seen to wait
  double message = 0;                          // of rows to the next stage, or of their gradients back
  double sum_left = 0;                         // of gradients, behind the last backward
  double update = 0;
  double standing = 0;  // bytes of weights, gradients and state
  double kept = 0;      // bytes of each microbatch until its backward
  double again = 0;     // bytes that are made again
  // How wrong the costs of what is sent may be, as a share, and where they come from at least.
  double sent_bar = 0;
  provenance sent_from = provenance::measured;
  bool fits = true;  // heads and samples can be cut so
  bool waits_measured = false;

  constexpr double forth() const { return forward + forward_sent; }
  constexpr double back() const { return backward + backward_sent; }
};

// Prices of all stages that a cell's plans may have, each worked out once.
class cell_costs {
 public:
  // Keeps the addresses of the sources and of the layers.
  cell_costs(const cell_sources& from, const job_cell& cell, const list<cell_layer>& layers, int microbatches,
             bool remade)
      : from_(from),
        on_(cluster_of(cell, from.kind)),
        cell_(cell),
        layers_(layers),
        microbatches_(microbatches),
        remade_(remade) {}

  const cluster_facts& on() const { return on_; }
  const cell_sources& from() const { return from_; }
  const list<cell_layer>& layers() const { return layers_; }
  int microbatches() const { return microbatches_; }
  bool remade() const { return remade_; }
  std::int32_t stages() const { return cell_.stages; }

  // The part of `tower` in a stage; `leaves`: so many of its ranks send to another node.
  const part_price& part(isize tower, interval blocks, const cell_stage& split, std::int32_t leaves) const {
    const auto key = std::tuple(tower, blocks.begin, blocks.end, split.data, split.tensor, leaves);
    const auto found = prices_.find(key);
    if (found != prices_.end()) return found->second;
    return prices_.emplace(key, price(tower, blocks, split, leaves)).first->second;
  }
  // Ranks of a stage that begins with device `first` whose rows go to another node.
  std::int32_t leaving(std::int32_t first, const cell_stage& stage) const {
    const std::int32_t node = on_.devices_per_node, end = first + stage.devices();
    if (on_.nodes == 1 || end >= cell_.devices) return 0;
    return stage.devices() >= node ? node : end % node == 0 ? stage.devices() : 0;
  }
  bool learns(isize tower) const {
    return !from_.model.towers[tower].frozen && !from_.model.towers[tower].cached;
  }
  bool profiled(isize tower) const {
    const tower_outline& net = from_.model.towers[tower];
    return from_.measured != nullptr && (find_measured(*from_.measured, net, from_.bytes) != nullptr ||
                                         find_recorded(from_.measured, net, {}, from_.bytes) != nullptr);
  }

 private:
  struct tower_parts {
    part_times times[3];
    part_work work[3];
    double uncut_kept[3] = {};
  };
  const tower_parts& parts(isize tower, std::int32_t tensor, double samples) const {
    const auto key = std::tuple(tower, tensor, samples);
    const auto found = parts_.find(key);
    if (found != parts_.end()) return found->second;
    const tower_outline& net = from_.model.towers[tower];
    tower_parts made;
    const degrees split{.tensor = tensor};
    const module_profile* const known =
        from_.measured == nullptr || net.cached ? nullptr : find_measured(*from_.measured, net, from_.bytes);
    const module_times* const recorded =
        known != nullptr ? nullptr : find_recorded(from_.measured, net, split, from_.bytes);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto which = static_cast<tower_part>(i);
      made.work[i] = work_of_part(net, which, split);
      made.uncut_kept[i] =
          tensor > 1 && from_.bytes.uncut > 0 ? work_of_part(net, which).kept : made.work[i].kept;
      made.times[i] = known != nullptr ? measured_times(*known, which, samples, split)
                      : recorded != nullptr
                          ? recorded_times(*recorded, net, made.work[i], samples, split)
                          : times_of_part(net, which, samples, split, on_.device, from_.bytes);
    }
    return parts_.emplace(key, made).first->second;
  }
  double wires(comm_kind what, const group_layout& group, double bytes, part_price& of) const {
    const uncertain found = from_.wires.seconds(what, group, bytes);
    of.sent_bar = std::max(of.sent_bar, found.relative_bar());
    of.sent_from = std::max(of.sent_from, found.from);
    return found.value;
  }

  part_price price(isize tower, interval blocks, const cell_stage& split, std::int32_t leaves) const {
    const tower_outline& net = from_.model.towers[tower];
    const training_bytes& bytes = from_.bytes;
    part_price out;
    const double own = std::ceil(static_cast<double>(from_.samples) / microbatches_ / split.data);
    out.fits = net.keyed_heads() % split.tensor == 0 && isize{split.data} * microbatches_ <= from_.samples;
    if (!out.fits) return out;
    if (net.cached) {
      out.forward = own * static_cast<double>(net.embedding) * bytes.feature / on_.device.bytes_per_second;
      return out;
    }
    const tower_parts& of = parts(tower, split.tensor, own);
    const isize whole = net.whole_blocks();
    const double times[3] = {blocks.begin == 0 ? 1.0 : 0.0,
                             static_cast<double>(std::min(blocks.end, whole) - std::min(blocks.begin, whole)),
                             blocks.end == net.layers ? 1.0 : 0.0};
    part_work work;
    double kept = 0, input = 0, weight = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      out.forward += times[i] * of.times[i].forward;
      input += times[i] * of.times[i].backward_input;
      weight += times[i] * of.times[i].backward_weight;
      work.add(of.work[i], times[i]);
      kept += times[i] * bytes.kept * ((1 - bytes.uncut) * of.work[i].kept + bytes.uncut * of.uncut_kept[i]);
    }
    const double rows = static_cast<double>(net.tokens * net.width);
    const auto exchanged = [&](double numbers) {
      if (split.tensor == 1 || numbers <= 0) return 0.0;
      const double calls = std::max(1.0, numbers / rows);
      return calls * wires(comm_kind::all_gather, {1, split.tensor, 1},
                           own * numbers / calls * bytes.activation, out);
    };
    const gap_shares* const waited =
        find_gaps(from_.measured, net, gap_degrees_of({.tensor = split.tensor}, 1, 0), bytes);
    out.waits_measured = waited != nullptr;
    if (out.waits_measured) out.sent_bar = from_.bars.profiled;
    out.backward = input + weight;
    out.forward_sent =
        waited != nullptr ? waited_beside(out.forward, waited->forward) : exchanged(work.group_numbers);
    out.standing = work.parameters * bytes.weight;
    const double boundary = rows * own * bytes.activation / split.tensor;
    if (stages() > 1)
      out.message = wires(comm_kind::message, leaves > 0 ? group_layout{2, 1, leaves} : group_layout{1, 2, 1},
                          boundary, out);
    if (!learns(tower)) {
      out.backward = 0;
      out.standing += 2 * boundary;
      return out;
    }
    if (waited != nullptr)
      out.backward_sent = waited_beside(input + (remade_ ? out.forward : 0), waited->input) +
                          waited_beside(weight, waited->weight);
    else out.backward_sent = exchanged(work.backward_group_numbers) + (remade_ ? out.forward_sent : 0);
    if (remade_) out.backward += out.forward;
    out.standing += work.parameters * (bytes.gradient + bytes.state);
    const double of_microbatch = kept * own * bytes.activation;
    if (remade_) {
      out.again = of_microbatch;
      out.kept = blocks.begin > 0 ? boundary : 0;
    } else {
      out.kept = of_microbatch;
    }
    sum_gradients(work.parameters, split, out);
    return out;
  }
  void sum_gradients(double parameters, const cell_stage& split, part_price& out) const {
    const training_bytes& bytes = from_.bytes;
    out.update =
        parameters * (2 * bytes.weight + bytes.gradient + 2 * bytes.state) / on_.device.bytes_per_second;
    if (split.data == 1) return;
    const std::int32_t node = on_.devices_per_node, all = split.devices();
    const group_layout group = all > node ? group_layout{all / node, node / split.tensor, split.tensor}
                                          : group_layout{1, split.data, 1};
    const double sent = parameters * bytes.gradient;
    // The first bucket begins when its backward is over; a whole sum hides behind the last backward.
    out.sum_left = std::max(wires(comm_kind::all_reduce, group, sent, out) - out.back(),
                            wires(comm_kind::all_reduce, group, std::min(sent, bucket_bytes), out));
  }

  cell_sources from_;
  cluster_facts on_;
  job_cell cell_;
  const list<cell_layer>& layers_;
  int microbatches_;
  bool remade_;
  mutable std::map<std::tuple<isize, isize, isize, std::int32_t, std::int32_t, std::int32_t>, part_price>
      prices_;
  mutable std::map<std::tuple<isize, std::int32_t, double>, tower_parts> parts_;
};

}  // namespace motet
