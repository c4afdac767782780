// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/world/world.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace motet {

// Lays jobs of one kind out anew, each in the best layout, moving few. It always succeeds where the devices
// suffice: numbers are powers of two and so are nodes, and the largest come first, so that what is free on a
// node is always a multiple of what is asked for next.
class kind_layout {
 public:
  struct wish {
    std::int32_t job, devices;
  };

  explicit kind_layout(job_world& world) : world_(world), places_(world.places) {}

  // Puts a job where it fits as things are: on free nodes, or into the smallest gap of a node. False, and
  // nothing changed, where nothing fits.
  bool put(std::int32_t job, const allotment& as) {
    const std::int32_t size = places_.per_node(as.kind);
    std::vector<std::int32_t> nodes;
    for (std::int32_t free = as.per_node;
         free <= size && static_cast<std::int32_t>(nodes.size()) < as.nodes(); ++free)
      places_.each_with(as.kind, free, [&](std::int32_t node) {
        nodes.push_back(node);
        return static_cast<std::int32_t>(nodes.size()) < as.nodes();
      });
    if (static_cast<std::int32_t>(nodes.size()) < as.nodes()) return false;
    for (const std::int32_t node : nodes) places_.give(job, node, as.per_node);
    return true;
  }

  // All jobs of the kind, with what each shall have: nobody else has devices of it afterwards.
  void lay_out(std::int32_t kind, std::vector<wish> all) {
    first_ = places_.first_node(kind);
    stays_.assign(as_size(places_.last_node(kind) - first_), 0);
    homes_.clear();
    for (const wish& each : all) {
      homes_.push_back({each, places_.pieces(each.job)});
      if (!homes_.back().had.empty() && places_.kind_of(homes_.back().had[0].node) != kind)
        homes_.back().had.clear();
      count(homes_.back(), 1);
    }
    for (const home& each : homes_) places_.release(each.is.job);
    std::stable_sort(homes_.begin(), homes_.end(),
                     [](const home& a, const home& b) { return a.is.devices > b.is.devices; });
    for (std::size_t from = 0, to = 0; from < homes_.size(); from = to) {
      while (to < homes_.size() && homes_[to].is.devices == homes_[from].is.devices) ++to;
      const allotment as = world_.speeds.packed(kind, homes_[from].is.devices);
      for (std::size_t i = from; i < to; ++i) count(homes_[i], -1);
      for (std::size_t i = from; i < to; ++i) homes_[i].placed = stay(homes_[i], as);
      for (std::size_t i = from; i < to; ++i)
        if (!homes_[i].placed) settle(homes_[i].is.job, as);
    }
  }

 private:
  struct home {
    wish is;
    std::vector<occupancy::piece> had;
    bool placed = false;
  };
  void count(const home& of, std::int32_t sign) {
    for (const occupancy::piece& each : of.had) stays_[as_size(each.node - first_)] += sign * each.devices;
  }
  bool stay(const home& of, const allotment& as) {
    if (of.had.empty() || static_cast<std::int32_t>(of.had.size()) < as.nodes()) return false;
    for (std::int32_t n = 0; n < as.nodes(); ++n)
      if (places_.free_in(of.had[as_size(n)].node) < as.per_node) return false;
    for (std::int32_t n = 0; n < as.nodes(); ++n)
      places_.give(of.is.job, of.had[as_size(n)].node, as.per_node);
    return true;
  }
  // A job settles where the fewest smaller ones have to leave.
  void settle(std::int32_t job, const allotment& as) {
    for (std::int32_t n = 0; n < as.nodes(); ++n) {
      std::int32_t best = -1, least = 0;
      for (std::int32_t node = first_; node < places_.last_node(as.kind); ++node) {
        const std::int32_t free = places_.free_in(node);
        if (free < as.per_node || has(job, node)) continue;
        const std::int32_t pushed =
            std::max(0, stays_[as_size(node - first_)] - (free - as.per_node)) * 128 + free;
        if (best < 0 || pushed < least) best = node, least = pushed;
      }
      places_.give(job, best, as.per_node);
    }
  }
  bool has(std::int32_t job, std::int32_t node) const {
    const std::vector<occupancy::piece>& on = places_.pieces(job);
    return std::any_of(on.begin(), on.end(), [&](const occupancy::piece& each) { return each.node == node; });
  }

  job_world& world_;
  occupancy& places_;
  std::int32_t first_ = 0;
  std::vector<std::int32_t> stays_;  // devices of each node whose smaller jobs would stay
  std::vector<home> homes_;
};

}  // namespace motet
