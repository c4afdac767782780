// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cells/cell_plan.hpp>
#include <motet/plan/cells/pareto_cut.hpp>
#include <motet/plan/cost/memory_forecast.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace motet {

// The constants of Crius's planner, as its artifact has them.
struct cell_rules {
  double least_share = 0.7;     // of an even share of devices, that a stage's load must be worth
  double most_imbalance = 0.9;  // the best imbalance over a plan's is at least one minus this
  double other_shape = 1.1;  // times the communication of a stage that is split otherwise than the one before
  double usable_memory = 0.8;  // of a device's
  int microbatches = 4;        // for each stage
  isize layers = 16;           // runs of layers that are told apart, 16 at most
  pareto_rules pareto = {};
  bool alike = true;  // all stages are split in one way, so that the plan can be run by the library
};

// An answer is what the planner found in a cell: no plan where none fits into memory.
struct cell_answer {
  job_cell cell;
  list<cell_layer> layers;
  list<cell_plan> plans;  // that no other one beats in balance and communication; the first is the proxy
  isize considered = 0;   // partitions into stages
};

// The microbatches of a step: as many as wanted, or the next lower number that divides the batch and leaves a
// sample for each device of an even stage.
constexpr int microbatches_of(const job_cell& of, isize batch, int of_stage) {
  for (isize b = std::min<isize>(isize{of_stage} * of.stages, batch); b > 1; --b)
    if (batch % b == 0 && batch / b >= of.devices / of.stages) return static_cast<int>(b);
  return 1;
}

namespace detail {

inline constexpr isize most_cell_layers = 16, most_cell_stages = 16;

// Follows the published steps for one cell, without running anything.
class cell_search {
 public:
  cell_search(const model_shape& model, const cluster_facts& kind, const training_bytes& bytes, isize batch,
              const job_cell& cell, const cell_rules& rules)
      : model_(model),
        on_(cluster_of(cell, kind)),
        bytes_(bytes),
        cell_(cell),
        rules_(rules),
        microbatches_(microbatches_of(cell, batch, rules.microbatches)),
        samples_(static_cast<double>(batch) / microbatches_) {
    if (model.towers.size() > 1) rules_.alike = true;
  }

  cell_answer run() {
    cell_answer out;
    out.cell = cell_;
    out.layers = cell_layers_of(model_, samples_, microbatches_, std::min(rules_.layers, most_cell_layers),
                                on_.device, bytes_);
    if (out.layers.size() < cell_.stages || cell_.stages > most_cell_stages) return out;
    weigh(out.layers);
    // Where nothing is as even as wanted, anything is; where nothing fits, backward makes everything again.
    for (const bool remade : {false, true}) {
      if (remade && !learns()) break;
      remade_ = remade;
      sum_up(out.layers);
      for (const double share : {rules_.least_share, 0.0}) {
        least_ = share * cell_.devices / cell_.stages;
        found_.clear();
        partition(0, 0);
        out.considered = considered_;
        if (!found_.empty()) break;
      }
      if (!found_.empty()) break;
    }
    keep_balanced();
    cut_to_pareto(found_, rules_.pareto);
    for (const cell_candidate& each : found_) out.plans.push(told(each));
    return out;
  }

 private:
  struct shape {
    std::int32_t data = 0, tensor = 0;
    double communication = 0;  // of a microbatch, seconds
  };
  bool learns() const {
    for (const tower_outline& each : model_.towers)
      if (!each.frozen && !each.cached) return true;
    return false;
  }

  // Shares of devices, by load, and what each tensor degree makes of each layer.
  void weigh(const list<cell_layer>& layers) {
    double all = 0;
    for (const cell_layer& each : layers) all += each.load;
    load_ = all;
    shares_.assign(as_size(layers.size()) + 1, 0);
    for (isize i = 0; i < layers.size(); ++i)
      shares_[as_size(i) + 1] = shares_[as_size(i)] + (all > 0 ? cell_.devices * layers[i].load / all
                                                               : static_cast<double>(cell_.devices) /
                                                                     static_cast<double>(layers.size()));
  }
  // Running sums over the layers, so that a stage is a difference.
  struct sums {
    double exchanged = 0;         // numbers of a sample in a tensor group, both ways
    double weights = 0;           // bytes whose gradients replicas sum
    double standing = 0;          // bytes of weights, gradients and state
    double kept = 0;              // bytes of a sample
    double again = 0;             // bytes of a sample that are made again
    std::uint8_t impossible = 0;  // layers whose heads such a degree does not divide
  };
  void sum_up(const list<cell_layer>& layers) {
    sums_.clear();
    for (std::int32_t tensor = 1; tensor <= on_.devices_per_node; tensor *= 2) {
      std::vector<sums> row(1);
      for (const cell_layer& each : layers) {
        const tower_outline& net = model_.towers[each.tower];
        const bool learns = !net.frozen && !net.cached;
        const part_work work = work_of_layers(net, each.blocks.begin, each.blocks.end, {.tensor = tensor});
        const double whole =
            bytes_.uncut > 0 ? work_of_layers(net, each.blocks.begin, each.blocks.end).kept : 0;
        const double kept = bytes_.kept * ((1 - bytes_.uncut) * work.kept + bytes_.uncut * whole) *
                            bytes_.activation * (learns ? 1 : 0);
        sums next = row.back();
        next.exchanged += work.group_numbers + work.backward_group_numbers;
        next.weights += learns ? work.parameters * bytes_.gradient : 0;
        next.standing += work.parameters * (bytes_.weight + (learns ? bytes_.gradient + bytes_.state : 0));
        next.kept += remade_ ? 0 : kept;
        next.again += remade_ ? kept : 0;
        if (net.keyed_heads() % tensor != 0) ++next.impossible;
        row.push_back(next);
      }
      sums_.push_back(std::move(row));
    }
  }

  // All ways to cut the layers from `first` on into the stages from `stage` on.
  void partition(isize stage, isize first) {
    const auto layers = static_cast<isize>(shares_.size()) - 1;
    const isize left = cell_.stages - stage;
    if (left == 0) return offer();
    for (isize last = left == 1 ? layers : first + 1; last <= layers - (left - 1); ++last) {
      const double share = shares_[as_size(last)] - shares_[as_size(first)];
      if (share < least_) continue;
      ends_[as_size(stage)] = static_cast<std::uint8_t>(last);
      wanted_[as_size(stage)] = share;
      partition(stage + 1, last);
    }
  }
  void offer() {
    ++considered_;
    cell_candidate made;
    made.stages = cell_.stages;
    made.ends = ends_;
    made.imbalance = rules_.alike ? even_devices(made) : nearest_powers(made);
    if (rules_.alike ? split_alike(made) : split_each(made)) found_.push_back(made);
  }
  double even_devices(cell_candidate& of) const {
    double sum = 0;
    for (isize s = 0; s < cell_.stages; ++s) {
      of.devices[as_size(s)] = static_cast<std::uint16_t>(cell_.devices / cell_.stages);
      const double off = wanted_[as_size(s)] - of.devices[as_size(s)];
      sum += off * off;
    }
    return std::sqrt(sum);
  }
  // Powers of two that add up to the devices, nearest to what loads are worth.
  double nearest_powers(cell_candidate& of) {
    const std::size_t all = as_size(cell_.devices) + 1;
    constexpr double far = std::numeric_limits<double>::infinity();
    distance_.assign(all, far);
    distance_[0] = 0;
    chosen_.assign(all * as_size(cell_.stages), 0);
    for (std::size_t s = 0; s < as_size(cell_.stages); ++s) {
      next_.assign(all, far);
      for (std::size_t used = 0; used < all; ++used) {
        if (distance_[used] == far) continue;
        for (std::size_t power = 1; used + power < all; power *= 2) {
          const double off = wanted_[s] - static_cast<double>(power), sum = distance_[used] + off * off;
          if (sum >= next_[used + power]) continue;
          next_[used + power] = sum;
          chosen_[s * all + used + power] = static_cast<std::uint16_t>(power);
        }
      }
      distance_.swap(next_);
    }
    std::size_t left = all - 1;
    for (std::size_t s = as_size(cell_.stages); s-- > 0;) {
      of.devices[s] = chosen_[s * all + left];
      left -= of.devices[s];
    }
    return std::sqrt(distance_[all - 1]);
  }

  // A stage that is split so sends this for a microbatch; negative where it does not fit.
  double communication(isize stage, const shape& split) const {
    const std::size_t first = stage == 0 ? 0 : ends_[as_size(stage) - 1], last = ends_[as_size(stage)];
    const std::vector<sums>& row = sums_[as_size(std::bit_width(as_size(split.tensor)) - 1)];
    const sums &from = row[first], &to = row[last];
    if (to.impossible != from.impossible || split.data > samples_) return -1;
    const double own = std::ceil(samples_ / split.data);
    const isize behind = cell_.stages - stage;
    // Losses of all samples keep all microbatches; others as many as there are stages behind.
    const double held = model_.towers.size() > 1
                            ? microbatches_
                            : std::min<double>(microbatches_, static_cast<double>(behind));
    const double bytes =
        to.standing - from.standing + own * (held * (to.kept - from.kept) + (to.again - from.again));
    if (bytes > rules_.usable_memory * on_.device.memory_bytes) return -1;
    const double ways = split.tensor, replicas = split.data;
    double seconds = 0;
    if (split.tensor > 1)
      seconds +=
          on_.inside.seconds(own * (to.exchanged - from.exchanged) * bytes_.activation * (ways - 1) / ways);
    if (split.data > 1) {
      const double sent = (to.weights - from.weights) * (replicas - 1) / replicas / microbatches_;
      const bool leaves = split.data * split.tensor > on_.devices_per_node;
      seconds += leaves ? on_.between.seconds(sent * ways) : on_.inside.seconds(sent);
    }
    return seconds;
  }
  template <class Visit>
  void each_shape(std::int32_t devices, Visit visit) const {
    for (std::int32_t tensor = 1; tensor <= std::min(devices, on_.devices_per_node); tensor *= 2)
      visit(shape{devices / tensor, tensor});
  }
  double whole(double most, double sum) const { return (microbatches_ - 1) * most + sum; }

  bool split_alike(cell_candidate& of) const {
    double least = std::numeric_limits<double>::infinity();
    each_shape(cell_.devices / cell_.stages, [&](const shape& split) {
      double most = 0, sum = 0;
      for (isize s = 0; s < cell_.stages; ++s) {
        const double one = communication(s, split);
        if (one < 0) return;
        most = std::max(most, one);
        sum += one;
      }
      if (whole(most, sum) >= least) return;
      least = whole(most, sum);
      of.tensor.fill(static_cast<std::uint16_t>(split.tensor));
    });
    return finish(of, least);
  }
  bool split_each(cell_candidate& of) const {
    double most = 0, sum = 0;
    shape before;
    for (isize s = 0; s < cell_.stages; ++s) {
      double least = std::numeric_limits<double>::infinity();
      shape best;
      each_shape(of.devices[as_size(s)], [&](shape split) {
        const double sent = communication(s, split);
        const bool other = s > 0 && (split.data != before.data || split.tensor != before.tensor);
        split.communication = sent * (other ? rules_.other_shape : 1);
        if (sent < 0 || split.communication >= least) return;
        least = split.communication;
        best = split;
      });
      if (best.data == 0) return false;
      of.tensor[as_size(s)] = static_cast<std::uint16_t>(best.tensor);
      before = best;
      most = std::max(most, best.communication);
      sum += best.communication;
    }
    return finish(of, whole(most, sum));
  }
  bool finish(cell_candidate& of, double communication) const {
    of.communication = communication;
    double most = 0, sum = 0;
    for (std::size_t s = 0; s < as_size(cell_.stages); ++s) {
      const double one = wanted_[s] / cell_.devices * load_ / of.devices[s];
      most = std::max(most, one);
      sum += one;
    }
    of.computation = whole(most, sum);
    return communication < std::numeric_limits<double>::infinity();
  }
  void keep_balanced() {
    double best = std::numeric_limits<double>::infinity();
    for (const cell_candidate& each : found_) best = std::min(best, each.imbalance);
    constexpr double even = 1e-9;  // devices: as good as none
    std::erase_if(found_, [&](const cell_candidate& each) {
      return each.imbalance > even && best < (1 - rules_.most_imbalance) * each.imbalance;
    });
  }
  cell_plan told(const cell_candidate& of) const {
    cell_plan out;
    out.microbatches = microbatches_;
    out.remade = remade_;
    out.imbalance = of.imbalance;
    out.communication = of.communication;
    std::int32_t first = 0;
    for (std::size_t s = 0; s < as_size(cell_.stages); ++s) {
      const std::int32_t tensor = of.tensor[s];
      out.stages.push({first, of.ends[s], of.devices[s] / tensor, tensor});
      first = of.ends[s];
    }
    return out;
  }

  const model_shape& model_;
  cluster_facts on_;
  training_bytes bytes_;
  job_cell cell_;
  cell_rules rules_;
  int microbatches_;
  double samples_;  // of a microbatch, of all replicas
  double least_ = 0, load_ = 0;
  bool remade_ = false;
  isize considered_ = 0;
  std::vector<double> shares_, distance_, next_;
  std::vector<std::uint16_t> chosen_;
  std::vector<std::vector<sums>> sums_;
  std::array<std::uint8_t, most_cell_stages> ends_{};
  std::array<double, most_cell_stages> wanted_{};
  std::vector<cell_candidate> found_;
};

}  // namespace detail

// Plans a cell by comparing its plans with each other, without running or simulating one: how even the
// stages' loads are, and how much is sent. `kind` has the devices that the cell takes its own from.
inline cell_answer plan_cell(const model_shape& model, const cluster_facts& kind, const training_bytes& bytes,
                             isize batch, const job_cell& cell, const cell_rules& rules = {}) {
  return detail::cell_search(model, kind, bytes, batch, cell, rules).run();
}

}  // namespace motet
