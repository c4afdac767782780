// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/world/occupancy.hpp>
#include <motet/jobs/world/world.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace motet {

// An answer says how a job was placed among the free devices of a kind.
struct bubble_answer {
  bool fits = false;
  bool relaxed = false;         // spread over more nodes than would be best
  allotment as;                 // the layout that it got
  std::int32_t moves_left = 0;  // of the rounds of moving that were allowed
};

// Places jobs as Crius does: in the best layout on free nodes or in the gap of one node; else after jobs were
// moved together, the node with the most gaps with the one with the fewest, in rounds; else spread over more
// nodes. Changes stay in the history of `places`, where the caller takes them back.
class bubble_placer {
 public:
  static constexpr std::int32_t most_moves = 256;  // rounds of moving for one job

  explicit bubble_placer(job_world& world) : world_(world), places_(world.places) {}

  // `runs(layout)` says whether the job runs so. The job has no devices of this kind.
  template <class Runs>
  bubble_answer place(std::int32_t job, std::int32_t kind, std::int32_t devices, std::int32_t moves,
                      Runs runs) {
    const allotment best = world_.speeds.packed(kind, devices);
    if (!runs(best)) return {false, false, best, moves};
    find_gaps(kind, devices);
    if (put_best(job, best)) return {true, false, best, moves};
    const std::int32_t bound = std::min(moves, most_moves);
    const std::int32_t done = move_together(kind, devices, bound, [&] { return put_best(job, best); });
    if (done >= 0) return {true, false, best, moves - done};
    for (allotment spread = {kind, devices, devices / 2}; spread.per_node > 0; spread.per_node /= 2) {
      if (spread.per_node > places_.per_node(kind)) continue;
      if (!runs(spread)) break;
      if (put_spread(job, spread)) return {true, true, spread, moves - bound};
    }
    return {false, false, best, moves};
  }

  // An outlook is what place() would find for any job of so many devices; nothing is changed.
  struct outlook {
    bool known = false;
    std::int32_t moves = -1;   // after which the best layout is there; -1: never
    std::uint32_t spread = 0;  // a bit for each power of two of devices of a node that could be had
  };
  outlook look(std::int32_t kind, std::int32_t devices, std::int32_t moves) {
    const allotment best = world_.speeds.packed(kind, devices);
    outlook out{true, 0, 0};
    find_gaps(kind, devices);
    if (fits_best(best)) return out;
    const std::size_t mark = places_.mark();
    out.moves = move_together(kind, devices, std::min(moves, most_moves), [&] { return fits_best(best); });
    for (std::int32_t each = devices / 2; out.moves < 0 && each > 0; each /= 2)
      if (each <= places_.per_node(kind) && nodes_with(kind, each) >= devices / each)
        out.spread |= static_cast<std::uint32_t>(each);
    places_.undo(mark);
    return out;
  }
  // The answer that place() would give a job, from what look() found.
  template <class Runs>
  bubble_answer answer(const outlook& seen, std::int32_t kind, std::int32_t devices, std::int32_t moves,
                       Runs runs) const {
    const allotment best = world_.speeds.packed(kind, devices);
    if (!runs(best)) return {false, false, best, moves};
    if (seen.moves >= 0) return {true, false, best, moves - seen.moves};
    for (allotment spread = {kind, devices, devices / 2}; spread.per_node > 0; spread.per_node /= 2) {
      if (spread.per_node > places_.per_node(kind)) continue;
      if (!runs(spread)) break;
      if ((seen.spread & static_cast<std::uint32_t>(spread.per_node)) != 0)
        return {true, true, spread, moves - std::min(moves, most_moves)};
    }
    return {false, false, best, moves};
  }

 private:
  struct gap {
    std::int32_t node, free;
  };
  struct moved {
    occupancy::owner job;
    std::int32_t devices, nodes, first;  // of which nodes it was taken
  };

  // Nodes that are partly free, those with the most first, no more than a job of so many devices needs.
  void find_gaps(std::int32_t kind, std::int32_t devices) {
    gaps_.clear();
    std::int32_t found = 0;
    for (std::int32_t free = places_.per_node(kind) - 1; free > 0 && found < devices; --free)
      places_.each_with(kind, free, [&](std::int32_t node) {
        gaps_.push_back({node, free});
        found += free;
        return found < devices;
      });
  }
  bool fits_best(const allotment& best) const {
    return places_.count_with(best.kind, places_.per_node(best.kind)) >= best.nodes() ||
           (!gaps_.empty() && gaps_[0].free >= best.devices);
  }
  bool put_best(std::int32_t job, const allotment& best) {
    const std::int32_t size = places_.per_node(best.kind);
    if (places_.count_with(best.kind, size) >= best.nodes()) {
      nodes_.clear();
      places_.each_with(best.kind, size, [&](std::int32_t node) {
        nodes_.push_back(node);
        return static_cast<std::int32_t>(nodes_.size()) < best.nodes();
      });
      for (const std::int32_t node : nodes_) places_.give(job, node, best.per_node);
      return true;
    }
    return !gaps_.empty() && gaps_[0].free >= best.devices && places_.give(job, gaps_[0].node, best.devices);
  }
  std::int32_t nodes_with(std::int32_t kind, std::int32_t free) const {
    auto all = places_.count_with(kind, places_.per_node(kind));
    for (const gap& each : gaps_) all += each.free >= free ? 1 : 0;
    return all;
  }
  bool put_spread(std::int32_t job, const allotment& spread) {
    if (nodes_with(spread.kind, spread.per_node) < spread.nodes()) return false;
    nodes_.clear();
    places_.each_with(spread.kind, places_.per_node(spread.kind), [&](std::int32_t node) {
      nodes_.push_back(node);
      return static_cast<std::int32_t>(nodes_.size()) < spread.nodes();
    });
    for (const gap& each : gaps_)
      if (static_cast<std::int32_t>(nodes_.size()) < spread.nodes() && each.free >= spread.per_node)
        nodes_.push_back(each.node);
    for (const std::int32_t node : nodes_) places_.give(job, node, spread.per_node);
    return true;
  }

  // Rounds of moving until `there` says so: how many, or -1 after `bound` of them. Rounds that only bring
  // back an arrangement that was there before are counted without being played.
  template <class There>
  std::int32_t move_together(std::int32_t kind, std::int32_t devices, std::int32_t bound, There there) {
    std::vector<std::uint64_t>& seen = seen_;
    seen.clear();
    for (std::int32_t done = 0; done < bound;) {
      if (gaps_.size() < 2) return -1;
      seen.push_back(arrangement(kind));
      const std::size_t pairs = gaps_.size() / 2;
      const std::vector<gap> now = gaps_;
      for (std::size_t i = 0; i < pairs; ++i) merge(now[i], now[now.size() - 1 - i]);
      ++done;
      find_gaps(kind, devices);
      if (there()) return done;
      const std::uint64_t after = arrangement(kind);
      for (std::size_t i = 0; i < seen.size(); ++i)
        if (seen[i] == after) {
          const auto period = static_cast<std::int32_t>(seen.size() - i);
          done += (bound - done) / period * period;
          seen.clear();
          break;
        }
    }
    return -1;
  }
  // A number that tells the devices of a kind and their owners from other arrangements.
  std::uint64_t arrangement(std::int32_t kind) const {
    std::uint64_t out = 1469598103934665603u;
    const std::int32_t last = places_.last_node(kind);
    const std::int32_t end = places_.first_device(last - 1) + places_.per_node(kind);
    for (std::int32_t d = places_.first_device(places_.first_node(kind)); d < end; ++d)
      out = (out ^ (static_cast<std::uint64_t>(places_.is_free(d) ? -1 : places_.owner_of(d)) + 1)) *
            1099511628211u;
    return out;
  }

  // Moves what runs on two nodes together: one of them is empty or full afterwards. Jobs that would not be
  // equally many on each of their nodes stay as they are, and so do all others on both.
  void merge(const gap& a, const gap& b) {
    const std::size_t mark = places_.mark();
    const std::int32_t size = places_.per_node(places_.kind_of(a.node));
    taken_.clear();
    const bool done = a.free + b.free > size ? empty_one(a, b) : fill_one(a, b, size);
    if (!done) places_.undo(mark);
  }
  void take(std::int32_t node) {
    const std::int32_t first = places_.first_device(node), size = places_.per_node(places_.kind_of(node));
    for (std::int32_t d = first; d < first + size; ++d) {
      if (places_.is_free(d)) continue;
      const occupancy::owner job = places_.owner_of(d);
      auto at =
          std::find_if(taken_.begin(), taken_.end(), [&](const moved& each) { return each.job == job; });
      if (at == taken_.end()) at = taken_.insert(at, {job, 0, 1, node});
      else if (at->first != node) at->nodes = 2;
      ++at->devices;
      places_.set(d, occupancy::nobody, true);
    }
  }
  bool has_on(occupancy::owner job, std::int32_t node) const {
    const std::vector<occupancy::piece>& on = places_.pieces(job);
    return std::any_of(on.begin(), on.end(), [&](const occupancy::piece& each) { return each.node == node; });
  }
  bool empty_one(const gap& a, const gap& b) {
    const std::int32_t from = a.free >= b.free ? a.node : b.node, to = a.free >= b.free ? b.node : a.node;
    take(from);
    for (const moved& each : taken_) {
      if (has_on(each.job, to) && job_world::is_job(each.job)) return false;
      if (!places_.give(each.job, to, each.devices)) return false;
    }
    return true;
  }
  bool fill_one(const gap& a, const gap& b, std::int32_t size) {
    take(a.node);
    take(b.node);
    std::stable_sort(taken_.begin(), taken_.end(),
                     [](const moved& x, const moved& y) { return x.devices > y.devices; });
    if (taken_.empty()) return true;
    const std::int32_t first = taken_[0].nodes == 2 ? (a.free <= b.free ? a.node : b.node) : taken_[0].first;
    const std::int32_t second = first == a.node ? b.node : a.node;
    std::int32_t rest = 0;
    for (const moved& each : taken_) rest += each.devices;
    for (const moved& each : taken_) {
      if (each.nodes == 2 && !places_.pieces(each.job).empty() && job_world::is_job(each.job)) return false;
      if (each.devices > size) return false;
      rest -= each.devices;
      const bool fills = rest >= places_.free_in(first);
      if (!places_.give(each.job, fills ? second : first, each.devices) &&
          !places_.give(each.job, fills ? first : second, each.devices))
        return false;
    }
    return true;
  }

  job_world& world_;
  occupancy& places_;
  std::vector<gap> gaps_;
  std::vector<std::int32_t> nodes_;
  std::vector<moved> taken_;
  std::vector<std::uint64_t> seen_;
};

}  // namespace motet
