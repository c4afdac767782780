// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/world/world.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace motet {

// ElasticFlow: within the kind that a job asked for, each gets the least number of devices with which it ends
// in time, as far as data parallelism fits into
// them; a job is admitted where all who run have that, too. What is left goes, doubling by doubling, to whom
// it helps most. All who share a kind are laid out anew whenever one is admitted.
class elasticflow_policy {
 public:
  struct rules {
    bool deadlines = true;                // false: none is ever late, and all is given by throughput
    double per_device = 150, most = 600;  // seconds that a change is thought to cost
    std::int32_t largest = 16;            // devices of a job
  };

  explicit elasticflow_policy(const rules& by) : rules_(by) {}

  void on_events(job_world& world, const job_events& events) {
    late_.resize(world.jobs.size());
    for (const std::int32_t job : world.waiting)
      if (world.of(job).deadline <= world.now) late_[as_size(job)] = 1;
    if (events.frees()) restart(world);
    for (const std::int32_t job : events.arrived) {
      if (fit(world, job)) admit(world, job);
      else world.wait(job);
    }
  }

 private:
  static void admit(job_world& world, std::int32_t job) {
    world.start(job);
    world.read_places();
  }
  void restart(job_world& world) {
    std::vector<std::uint8_t> blocked(as_size(world.places.kinds()));
    const std::vector<std::int32_t> queue = world.waiting;
    for (const std::int32_t job : queue) {
      const std::int32_t kind = world.of(job).has.kind;
      if (late_[as_size(job)] != 0 || blocked[as_size(kind)] != 0) continue;
      if (fit(world, job)) admit(world, job);
      else blocked[as_size(kind)] = 1;
    }
  }

  bool in_time(const job_world& world, const job_state& job, std::int32_t devices) const {
    const double seconds = world.speeds.seconds(
        job.shape, world.speeds.data_parallel(job.shape, world.speeds.packed(job.has.kind, devices)));
    const double change = std::min(rules_.per_device * job.has.devices, rules_.most);
    return seconds < 1e9 && world.now + change + world.round + std::trunc(job.left * seconds) <= job.deadline;
  }
  // The least number of devices with which it ends in time; 0 where none suffices.
  std::int32_t least(const job_world& world, const job_state& job) const {
    for (std::int32_t devices = 1; devices <= rules_.largest; devices *= 2)
      if (in_time(world, job, devices)) return devices;
    return 0;
  }
  // Samples a second that twice the devices add. With deadlines, what ends too late is worth nothing.
  double gain(const job_world& world, const job_state& job, std::int32_t devices) const {
    const auto speed = [&](std::int32_t of) {
      return world.speeds.best(job.shape, world.speeds.packed(job.has.kind, of));
    };
    const job_speed more = speed(2 * devices), now = speed(devices);
    if (rules_.deadlines && !world.ends_in_time(job, world.speeds.packed(job.has.kind, 2 * devices)))
      return none;
    if (!more.runs) return none;
    return now.runs ? more.samples - now.samples : more.samples - none;
  }

  bool fit(job_world& world, std::int32_t target) {
    const std::int32_t kind = world.of(target).has.kind;
    sharing_.clear();
    sharing_.push_back({target, 0});
    for (const std::int32_t job : world.running)
      if (world.of(job).has.kind == kind) sharing_.push_back({job, 0});
    std::int32_t left = world.places.usable_of(kind);
    for (share& each : sharing_) {
      each.devices = least(world, world.of(each.job));
      if (each.devices == 0 || each.devices > left) return false;
      left -= each.devices;
    }
    give_rest(world, left);
    std::stable_sort(sharing_.begin(), sharing_.end(),
                     [](const share& a, const share& b) { return a.devices > b.devices; });
    lay_out(world, kind);
    return true;
  }
  void give_rest(const job_world& world, std::int32_t left) {
    for (share& each : sharing_) each.gain = gain(world, world.of(each.job), each.devices);
    while (left > 0) {
      share* best = nullptr;
      for (share& each : sharing_)
        if (each.devices <= left && each.devices < rules_.largest && each.gain > (best ? best->gain : none))
          best = &each;
      if (best == nullptr) return;
      left -= best->devices;
      best->devices *= 2;
      best->gain = gain(world, world.of(best->job), best->devices);
    }
  }
  // The largest first: whole nodes, then node by node whoever fits into it.
  void lay_out(job_world& world, std::int32_t kind) {
    for (const share& each : sharing_) world.places.release(each.job);
    const std::int32_t size = world.places.per_node(kind);
    std::int32_t node = world.places.first_node(kind);
    std::size_t first = 0;
    for (; first < sharing_.size() && sharing_[first].devices > size; ++first)
      for (std::int32_t n = 0; n < sharing_[first].devices / size; ++node)
        n += world.places.give(sharing_[first].job, node, size) ? 1 : 0;
    for (; node < world.places.last_node(kind); ++node)
      for (std::size_t i = first; i < sharing_.size() && world.places.free_in(node) > 0; ++i) {
        share& each = sharing_[i];
        if (each.devices == 0 || each.devices > world.places.free_in(node)) continue;
        world.places.give(each.job, node, each.devices);
        each.devices = 0;
      }
  }

  static constexpr double none = -1e9;
  struct share {
    std::int32_t job = 0, devices = 0;
    double gain = 0;
  };
  rules rules_;
  std::vector<share> sharing_;
  std::vector<std::uint8_t> late_;
};

}  // namespace motet
