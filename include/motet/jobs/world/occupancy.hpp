// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/files/cluster.hpp>
#include <motet/meta/config.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace motet {

// An occupancy knows which job has which device, with changes that can be taken back. Each change costs what
// it changes, never the size of the cluster: what a search tries, it undoes. Nodes are found by how many of
// their devices are free, in the order in which the cluster counts them.
//
// A device is free or not, and has an owner or none. Both are kept apart, as one may offer the devices of a
// job that can be pushed out: free, but still known as its own. Owners that are no jobs have numbers below
// zero.
class occupancy {
 public:
  using owner = std::int32_t;
  static constexpr owner nobody = -1;
  static constexpr owner broken = -2;  // has the devices of nodes that failed

  struct piece {
    std::int32_t node, devices;
  };
  struct change {
    std::int32_t device;
    owner had;
    bool was_free;
  };

  // `jobs` counts those who may have devices; others are added later.
  occupancy(const job_cluster& of, isize jobs) : others_(2 + of.kinds.size()) {
    add_jobs(jobs + static_cast<isize>(others_));
    std::int32_t node = 0, device = 0;
    for (const device_group& each : of.kinds) {
      kind_info made{node,
                     node + static_cast<std::int32_t>(each.nodes),
                     static_cast<std::int32_t>(each.per_node),
                     levels_.size(),
                     (as_size(each.nodes) + 63) / 64,
                     static_cast<std::int32_t>(each.devices()),
                     static_cast<std::int32_t>(each.devices())};
      levels_.resize(levels_.size() + made.words * as_size(each.per_node + 1));
      for (isize n = 0; n < each.nodes; ++n, ++node) {
        nodes_.push_back({device, static_cast<std::int32_t>(kinds_.size()), made.per_node, made.per_node});
        for (isize d = 0; d < each.per_node; ++d, ++device) node_of_.push_back(node);
        const std::size_t bit = as_size(n);
        levels_[made.level(each.per_node) + bit / 64] |= std::uint64_t{1} << (bit % 64);
      }
      kinds_.push_back(made);
    }
    owner_.assign(as_size(device), nobody);
    free_.assign(as_size(device), 1);
    seen_.assign(as_size(device), 0);
  }

  void add_jobs(isize count) {
    pieces_.resize(pieces_.size() + as_size(count));
    held_.resize(pieces_.size());
  }
  // An owner who holds the free devices of a kind while a search must not see them.
  static constexpr owner holder_of(isize kind) { return broken - 1 - static_cast<owner>(kind); }

  std::int32_t devices() const { return static_cast<std::int32_t>(owner_.size()); }
  std::int32_t nodes() const { return static_cast<std::int32_t>(nodes_.size()); }
  std::int32_t kinds() const { return static_cast<std::int32_t>(kinds_.size()); }
  std::int32_t first_node(isize kind) const { return kinds_[as_size(kind)].first; }
  std::int32_t last_node(isize kind) const { return kinds_[as_size(kind)].last; }
  std::int32_t per_node(isize kind) const { return kinds_[as_size(kind)].per_node; }
  std::int32_t kind_of(std::int32_t node) const { return nodes_[as_size(node)].kind; }
  std::int32_t first_device(std::int32_t node) const { return nodes_[as_size(node)].first; }
  std::int32_t node_of(std::int32_t device) const { return node_of_[as_size(device)]; }

  owner owner_of(std::int32_t device) const { return owner_[as_size(device)]; }
  bool is_free(std::int32_t device) const { return free_[as_size(device)] != 0; }
  std::int32_t free_in(std::int32_t node) const { return nodes_[as_size(node)].free; }
  std::int32_t free_of(isize kind) const { return kinds_[as_size(kind)].free; }
  // The devices of a kind whose nodes have not failed.
  std::int32_t usable_of(isize kind) const { return kinds_[as_size(kind)].usable; }
  bool is_broken(std::int32_t node) const { return owner_of(first_device(node)) == broken; }

  // The nodes on which somebody has devices, and how many, in order.
  const std::vector<piece>& pieces(owner who) const { return pieces_[place_of(who)]; }
  std::int32_t devices_of(owner who) const { return held_[place_of(who)]; }

  // Calls `what(node)` for the nodes of a kind with exactly so many free devices, until it says false.
  template <class What>
  bool each_with(isize kind, std::int32_t free, What what) const {
    const kind_info& of = kinds_[as_size(kind)];
    const std::uint64_t* const bits = levels_.data() + of.level(free);
    for (std::size_t w = 0; w < of.words; ++w)
      for (std::uint64_t left = bits[w]; left != 0; left &= left - 1)
        if (!what(of.first + static_cast<std::int32_t>(w * 64) + std::countr_zero(left))) return false;
    return true;
  }
  std::int32_t count_with(isize kind, std::int32_t free) const {
    const kind_info& of = kinds_[as_size(kind)];
    std::int32_t all = 0;
    for (std::size_t w = 0; w < of.words; ++w) all += std::popcount(levels_[of.level(free) + w]);
    return all;
  }

  void set(std::int32_t device, owner who, bool free) {
    if (owner_of(device) == who && is_free(device) == free) return;
    done_.push_back({device, owner_of(device), is_free(device)});
    apply(device, who, free);
  }
  // Gives devices of a node to somebody: the first that are free or already theirs. False, and nothing
  // changed, where there are too few.
  bool give(owner who, std::int32_t node, std::int32_t count) {
    const std::int32_t first = first_device(node), size = per_node(kind_of(node));
    std::int32_t found = 0, last = first;
    for (; last < first + size && found < count; ++last)
      found += is_free(last) || owner_of(last) == who ? 1 : 0;
    if (found < count) return false;
    for (std::int32_t d = first; d < first + size; ++d) {
      const bool own = owner_of(d) == who;
      if (d < last && (own || is_free(d))) set(d, who, false);
      else if (own) set(d, nobody, true);
    }
    return true;
  }
  // Takes all devices from somebody; whether there were any.
  bool release(owner who) {
    if (pieces(who).empty()) return false;
    while (!pieces(who).empty()) release(who, pieces(who).back().node);
    return true;
  }
  void release(owner who, std::int32_t node) {
    const std::int32_t first = first_device(node), size = per_node(kind_of(node));
    for (std::int32_t d = first; d < first + size; ++d)
      if (owner_of(d) == who) set(d, nobody, true);
  }
  // A node fails, and is there again. A whole one, as what is left of it would leave gaps that no layout of
  // powers of two fills. Nobody has a device of it when it fails.
  void take_out(std::int32_t node) { give_all(node, broken); }
  void bring_back(std::int32_t node) { give_all(node, nobody); }

  // A place in the history of changes: those behind it can be taken back, or be told.
  std::size_t mark() const { return done_.size(); }
  void undo(std::size_t to) {
    while (done_.size() > to) {
      const change last = done_.back();
      done_.pop_back();
      apply(last.device, last.had, last.was_free);
    }
  }
  // Forgets the history: what was done stays done.
  void settle() { done_.clear(); }
  // These are other than at the mark: each changed device once, with what it was then, by device.
  std::vector<change> changes(std::size_t since) {
    std::vector<change> out;
    ++round_;
    for (std::size_t i = since; i < done_.size(); ++i) {
      std::uint32_t& seen = seen_[as_size(done_[i].device)];
      if (seen == round_) continue;
      seen = round_;
      const change& old = done_[i];
      if (owner_of(old.device) != old.had || is_free(old.device) != old.was_free) out.push_back(old);
    }
    std::sort(out.begin(), out.end(), [](const change& a, const change& b) { return a.device < b.device; });
    return out;
  }

 private:
  struct node_info {
    std::int32_t first, kind, free, size;
  };
  struct kind_info {
    std::int32_t first, last, per_node;
    std::size_t at, words;
    std::int32_t free, usable;
    std::size_t level(isize free_devices) const { return at + words * as_size(free_devices); }
  };

  // Places of owners who are no jobs come first.
  std::size_t place_of(owner who) const {
    return static_cast<std::size_t>(who + static_cast<owner>(others_));
  }
  void give_all(std::int32_t node, owner who) {
    const std::int32_t first = first_device(node), size = per_node(kind_of(node));
    for (std::int32_t d = first; d < first + size; ++d) set(d, who, who == nobody);
  }

  void apply(std::int32_t device, owner who, bool free) {
    owner& had = owner_[as_size(device)];
    const std::int32_t node = node_of(device);
    if (had != who) {
      if (had != nobody) count(had, node, -1);
      if (who != nobody) count(who, node, 1);
      if (had == broken) ++kinds_[as_size(kind_of(node))].usable;
      if (who == broken) --kinds_[as_size(kind_of(node))].usable;
      had = who;
    }
    if (is_free(device) == free) return;
    free_[as_size(device)] = free ? 1 : 0;
    node_info& in = nodes_[as_size(node)];
    kind_info& of = kinds_[as_size(in.kind)];
    const std::size_t bit = as_size(node - of.first);
    const std::uint64_t flag = std::uint64_t{1} << (bit % 64);
    levels_[of.level(in.free) + bit / 64] ^= flag;
    in.free += free ? 1 : -1;
    of.free += free ? 1 : -1;
    levels_[of.level(in.free) + bit / 64] ^= flag;
  }
  void count(owner who, std::int32_t node, std::int32_t more) {
    held_[place_of(who)] += more;
    std::vector<piece>& all = pieces_[place_of(who)];
    const auto at =
        std::lower_bound(all.begin(), all.end(), node,
                         [](const piece& each, std::int32_t wanted) { return each.node < wanted; });
    if (at == all.end() || at->node != node) {
      all.insert(at, {node, more});
    } else {
      at->devices += more;
      if (at->devices == 0) all.erase(at);
    }
  }

  std::size_t others_;  // owners who are no jobs
  std::vector<kind_info> kinds_;
  std::vector<node_info> nodes_;
  std::vector<std::int32_t> node_of_;
  std::vector<owner> owner_;
  std::vector<std::uint8_t> free_;
  std::vector<std::uint64_t> levels_;  // for each kind and number of free devices, which nodes have it
  std::vector<std::vector<piece>> pieces_;
  std::vector<std::int32_t> held_;
  std::vector<change> done_;
  std::vector<std::uint32_t> seen_;
  std::uint32_t round_ = 0;
};

}  // namespace motet
