// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/collective_cost.hpp>
#include <motet/plan/cost/module_pair.hpp>
#include <motet/plan/quotas/multiprocessors.hpp>
#include <motet/plan/quotas/quota_curve.hpp>

#include <algorithm>
#include <vector>

namespace motet {

// A module of a graph whose modules may share devices.
struct quota_module {
  label name;
  std::vector<isize> after = {};      // modules whose rows enter it
  phase_curve forward{}, backward{};  // of a frozen module backward has no classes
  double sum_bytes = 0;               // of gradients that replicas sum
  double standing_bytes = 0;          // on each device that has it
  double kept_bytes = 0;              // of each sample, from forward to backward
  double sends_bytes = 0;             // of each sample, where kept samples are made again from what came in
};

// What those who compute on a device at once have in common, and what they lose where that is too little.
struct common_limits {
  double bytes_per_second = 0;  // of memory; 0: unlimited
  double flops_per_second = 0;  // that all multiprocessors reach together; 0: unlimited
  // So much of the memory's rate can be used; a demand above it slows each by as much as it is bound by
  // memory.
  double usable = 0.9;
};

// The question has the graph, the devices and all that they cost. Modules may be in any order that has each
// behind those that it comes after; a model has 64 at most, a cluster 64 devices of one kind.
struct quota_question {
  std::vector<quota_module> modules;
  isize samples = 1;
  std::int32_t devices = 1;
  multiprocessors chip;
  common_limits limits;
  double memory_bytes = 0;       // of a device; 0: unlimited
  double exposed = 0.2;          // of what sums of gradients take, not hidden behind a backward
  cluster_facts wires = {};      // by which sums go
  list<module_pair> pairs = {};  // measured: they say more than the limits do
};

// Where a module is at once with others of its wave: a bit for each device, and a rung of the ladder on all.
struct quota_place {
  isize module = 0;
  std::uint64_t on = 1;
  std::int32_t rung = 1;
  friend constexpr bool operator==(const quota_place&, const quota_place&) = default;
};
using quota_wave = std::vector<quota_place>;

// Forwards go wave by wave, backwards the other way, each module on the devices that have its weights.
struct quota_plan {
  std::vector<quota_wave> waves;
  bool barriers = true;  // a wave begins when the one before has ended; else each phase as soon as it can
  bool elastic = false;  // who is left gets the shares of those who ended
  bool remade = false;   // backward makes again what it reads
};

// Samples of a device where so many have the module, of the fullest one.
constexpr double samples_each(isize samples, std::int32_t devices) {
  return static_cast<double>((samples + devices - 1) / devices);
}

// Times of all phases, by number of devices and rung, so that a search asks once.
class quota_times {
 public:
  explicit quota_times(const quota_question& asked, bool remade = false) : asked_(asked), remade_(remade) {
    const std::size_t rungs = as_size(asked.chip.rungs());
    table_.resize(asked.modules.size() * 2 * as_size(asked.devices) * rungs, -1);
  }
  const quota_question& asked() const { return asked_; }
  bool remade() const { return remade_; }

  // One half of a step, alone on its devices with that quota.
  double phase(isize module, bool back, std::int32_t devices, std::int32_t rung) const {
    const std::size_t at = ((as_size(module) * 2 + back) * as_size(asked_.devices) + as_size(devices - 1)) *
                               as_size(asked_.chip.rungs()) +
                           as_size(rung - 1);
    if (table_[at] < 0) table_[at] = find(asked_.modules[as_size(module)], back, devices, rung);
    return table_[at];
  }
  double both(isize module, std::int32_t devices, std::int32_t rung) const {
    return phase(module, false, devices, rung) + phase(module, true, devices, rung);
  }
  double bytes(isize module, std::int32_t devices) const {
    const quota_module& own = asked_.modules[as_size(module)];
    return own.standing_bytes +
           samples_each(asked_.samples, devices) * (remade_ ? own.sends_bytes : own.kept_bytes);
  }

 private:
  double find(const quota_module& own, bool back, std::int32_t devices, std::int32_t rung) const {
    const double samples = samples_each(asked_.samples, devices), quota = asked_.chip.quota(rung);
    double seconds = (back ? own.backward : own.forward).seconds(samples, quota);
    if (!back || seconds <= 0) return seconds;
    if (remade_) seconds += own.forward.seconds(samples, quota);
    const std::int32_t per_node = std::max<std::int32_t>(1, std::min(devices, asked_.wires.devices_per_node));
    if (devices > 1)
      seconds += asked_.exposed *
                 all_reduce_seconds(own.sum_bytes,
                                    {.nodes = (devices + per_node - 1) / per_node, .per_node = per_node},
                                    asked_.wires);
    return seconds;
  }

  const quota_question& asked_;
  bool remade_;
  mutable std::vector<double> table_;
};

}  // namespace motet
