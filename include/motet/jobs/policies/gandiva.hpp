// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/world/placing.hpp>
#include <motet/jobs/world/world.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace motet {

// Gandiva, by introspection: jobs get the kind and the number of devices that they asked for, spread over
// more nodes where that is all there is; later they are moved together, and those on a part of a node grow
// into its free devices until somebody else needs these.
class gandiva_policy {
 public:
  void on_events(job_world& world, const job_events& events) {
    world_ = &world;
    init_.resize(world.jobs.size());
    for (const auto* gone : {&events.ended, &events.lost})
      for (const std::int32_t job : *gone) init_[as_size(job)].clear();
    if (events.frees()) {
      move_together();
      restart();
      grow();
    }
    for (const std::int32_t job : events.arrived) {
      const job_state& state = world.of(job);
      const bool first = std::none_of(world.waiting.begin(), world.waiting.end(), [&](std::int32_t each) {
        return world.of(each).asked.kind == state.asked.kind;
      });
      if (!world.speeds.best(state.shape, state.asked).runs) world.drop(job);
      else if (first && fit(job)) start(job);
      else world.wait(job);
    }
  }
  template <class With>
  void remembers(With& with) {
    with("before_they_grew", init_);
  }

 private:
  // A job that grew gives back what it grew by where somebody was put onto it.
  bool fit(std::int32_t job) {
    occupancy& places = world_->places;
    const std::size_t mark = places.mark();
    const job_state& state = world_->of(job);
    std::vector<std::int32_t> grown;
    for (const std::int32_t each : world_->running)
      if (!init_[as_size(each)].empty()) grown.push_back(each);
    std::vector<std::int32_t> before;
    for (const std::int32_t each : grown) {
      before.push_back(places.devices_of(each));
      for_grown(each, [&](std::int32_t device) { places.set(device, each, true); });
    }
    const bool found = place_spread_or_relaxed(places, job, state.asked, [&](const allotment& as) {
      return world_->speeds.best(state.shape, as).runs;
    });
    if (!found) {
      places.undo(mark);
      return false;
    }
    for (std::size_t i = 0; i < grown.size(); ++i) {
      const bool pushed = places.devices_of(grown[i]) != before[i];
      for_grown(grown[i], [&](std::int32_t device) {
        if (pushed) places.set(device, occupancy::nobody, true);
        else places.set(device, grown[i], false);
      });
      if (pushed) init_[as_size(grown[i])].clear();
    }
    return true;
  }
  template <class What>
  void for_grown(std::int32_t job, What what) {
    occupancy& places = world_->places;
    const std::vector<std::int32_t>& own = init_[as_size(job)];
    const std::int32_t node = places.node_of(own[0]), first = places.first_device(node);
    for (std::int32_t d = first; d < first + places.per_node(places.kind_of(node)); ++d)
      if (places.owner_of(d) == job && std::find(own.begin(), own.end(), d) == own.end()) what(d);
  }
  void start(std::int32_t job) {
    world_->start(job);
    world_->read_places();
  }
  void restart() {
    std::vector<std::uint8_t> blocked(as_size(world_->places.kinds()));
    const std::vector<std::int32_t> queue = world_->waiting;
    for (const std::int32_t job : queue) {
      std::uint8_t& stop = blocked[as_size(world_->of(job).asked.kind)];
      if (stop != 0) continue;
      if (fit(job)) start(job);
      else stop = 1;
    }
  }

  // The first job that can be on fewer nodes is moved, until none can.
  void move_together() {
    std::vector<std::int32_t> spread;
    for (const std::int32_t job : world_->running) {
      const allotment& has = world_->of(job).has;
      if (has.nodes() > 1 && has.per_node < world_->places.per_node(has.kind)) spread.push_back(job);
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t i = 0; i < spread.size() && !moved; ++i) {
        if (!has_large_gap(world_->of(spread[i]).has.kind)) continue;
        moved = move_within(spread[i]) || move_away(spread[i]);
        if (!moved) continue;
        world_->read_places();
        const allotment& has = world_->of(spread[i]).has;
        if (has == world_->speeds.packed(has.kind, has.devices))
          spread.erase(spread.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }
  bool has_large_gap(std::int32_t kind) const {
    const std::int32_t size = world_->places.per_node(kind);
    for (std::int32_t free = size / 2; free < size; ++free)
      if (world_->places.count_with(kind, free) > 0) return true;
    return false;
  }
  bool move_within(std::int32_t job) {
    occupancy& places = world_->places;
    const allotment has = world_->of(job).has;
    allotment to = world_->speeds.packed(has.kind, has.devices);
    for (; to.nodes() < has.nodes(); to.per_node /= 2) {
      std::vector<std::int32_t> nodes;
      for (const occupancy::piece& each : places.pieces(job))
        if (places.free_in(each.node) >= to.per_node - has.per_node) nodes.push_back(each.node);
      if (put_tightly(job, std::move(nodes), to)) return true;
    }
    return false;
  }
  bool move_away(std::int32_t job) {
    occupancy& places = world_->places;
    const allotment has = world_->of(job).has;
    for (allotment to = world_->speeds.packed(has.kind, has.devices); to.per_node > has.per_node;
         to.per_node /= 2) {
      std::vector<std::int32_t> nodes;
      for (std::int32_t node = places.first_node(has.kind); node < places.last_node(has.kind); ++node) {
        const bool own = std::any_of(places.pieces(job).begin(), places.pieces(job).end(),
                                     [&](const occupancy::piece& each) { return each.node == node; });
        if (!own && places.free_in(node) >= to.per_node) nodes.push_back(node);
      }
      if (put_tightly(job, std::move(nodes), to)) return true;
    }
    return false;
  }
  bool put_tightly(std::int32_t job, std::vector<std::int32_t> nodes, const allotment& to) {
    occupancy& places = world_->places;
    if (static_cast<std::int32_t>(nodes.size()) < to.nodes()) return false;
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](std::int32_t a, std::int32_t b) { return places.free_in(a) < places.free_in(b); });
    places.release(job);
    for (std::int32_t n = 0; n < to.nodes(); ++n) places.give(job, nodes[as_size(n)], to.per_node);
    return true;
  }

  void grow() {
    occupancy& places = world_->places;
    for (const std::int32_t job : world_->running) {
      const job_state& state = world_->of(job);
      const allotment has = state.has;
      if (has.nodes() > 1 || has.devices >= places.per_node(has.kind) || !init_[as_size(job)].empty())
        continue;
      const std::int32_t node = places.pieces(job)[0].node, room = places.free_in(node) + has.devices;
      allotment to = has;
      for (allotment more = to; more.devices * 2 <= room; to = more) {
        more = world_->speeds.packed(has.kind, to.devices * 2);
        const job_speed &then = world_->speeds.best(state.shape, more),
                        &now = world_->speeds.best(state.shape, to);
        if (!then.runs || then.samples <= now.samples) break;
      }
      if (to.devices == has.devices) continue;
      places.release(job);
      places.give(job, node, to.devices);
      std::vector<std::int32_t>& own = init_[as_size(job)];
      const std::int32_t first = places.first_device(node);
      for (std::int32_t d = first; static_cast<std::int32_t>(own.size()) < has.devices; ++d)
        if (places.owner_of(d) == job) own.push_back(d);
    }
    world_->read_places();
  }

  job_world* world_ = nullptr;
  std::vector<std::vector<std::int32_t>> init_;  // what a job had before it grew
};

}  // namespace motet
