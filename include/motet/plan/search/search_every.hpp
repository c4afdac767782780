// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/search/search_limit.hpp>
#include <motet/plan/search/tower_library.hpp>

#include <array>

namespace motet {

// Offers every combination of points of up to three towers that could be the best plan: whose bound is not
// above the best time so far. What is likely to be good comes first. Where there is no end to them it stops
// after some millions.
class every_plan {
 public:
  static constexpr index most_devices = 16, most_towers = 3;

  every_plan(index towers, const cluster_facts& on, index joins, const search_options& options,
             tower_library& library, plan_contest& contest, search_limit& limit)
      : towers_(towers),
        on_(on),
        joins_(joins),
        options_(options),
        library_(library),
        contest_(contest),
        limit_(limit) {}

  void run() {
    for (index k = 0; k < towers_; ++k) {
      std::vector<const tower_point*> own;
      for (index n = 1; n <= on_.devices(); ++n)
        for (const tower_point& each : library_.points(k, n)) own.push_back(&each);
      std::stable_sort(own.begin(), own.end(), [&](const tower_point* a, const tower_point* b) {
        return least_of(*a) < least_of(*b);
      });
      all_.push_back(own);
    }
    for (const list<index>& groups : groupings(towers_, options_.apart, options_.together))
      each_host(groups, 0, list<index>(towers_, -1));
    std::stable_sort(leaves_.begin(), leaves_.end(),
                     [](const leaf& a, const leaf& b) { return a.guess < b.guess; });
    const index so_far = contest_.played(), all = static_cast<index>(leaves_.size());
    for (const leaf& each : leaves_) {
      const index number = static_cast<index>(&each - leaves_.data());
      if (limit_.over("playing all combinations", number, all)) {
        limit_.leave(all - number, all, "combinations one by one");
        break;
      }
      plan_sketch made{{}, hosts_[each.hosts], {}};
      for (index k = 0; k < towers_; ++k) made.points.push(*each.points[as_size(k)]);
      if (contest_.hopeless(each.seconds, made.ranks())) continue;
      if (contest_.played() - so_far > most_played) break;
      made.seconds = each.phases;
      contest_.offer(made, 1 << 20, true);
    }
  }
  index considered() const { return considered_; }

 private:
  static constexpr index most_combinations = 4'000'000, most_played = 300'000;
  using chosen = std::array<const tower_point*, most_towers>;
  struct leaf {
    double seconds = 0, guess = 0;  // never less, and what is likely
    phase_seconds phases;
    chosen points;
    index hosts = 0;  // a number in the list of those
  };

  double least_of(const tower_point& of) const {
    return std::max(step_seconds({of.seconds.lead, of.last_steady, of.seconds.drain}, joins_), of.busy);
  }
  // Each group of several has one host.
  void each_host(const list<index>& groups, index g, list<index> hosts) {
    list<index> members;
    for (index k = 0; k < groups.size(); ++k)
      if (groups[k] == g) members.push(k);
    if (members.empty()) {
      hosts_.push(hosts);
      return combine(hosts, 0, {});
    }
    for (const index host : members) {
      for (const index each : members) hosts[each] = each == host ? -1 : host;
      each_host(groups, g + 1, hosts);
    }
  }
  static const tower_point& at(const chosen& of, index k) { return *of[as_size(k)]; }

  void combine(const list<index>& hosts, index k, chosen made) {
    if (k >= hosts.size() || k >= static_cast<index>(made.size())) return close(hosts, made);
    for (const tower_point* const each : all_[as_size(k)]) {
      if (contest_.hopeless(least_of(*each), 0) || ++combinations_ > most_combinations) return;
      made[as_size(k)] = each;
      if (possible(hosts, k, made)) combine(hosts, k + 1, made);
    }
  }
  // Says whether there are ranks for the first towers.
  bool possible(const list<index>& hosts, index k, const chosen& made) const {
    index own = 0;
    for (index i = 0; i <= k; ++i) {
      const index mine = at(made, i).ranks();
      if (hosts[i] < 0) {
        own += mine;
      } else if (hosts[i] <= k) {
        const index host = at(made, hosts[i]).ranks();
        if (mine > host || (mine == host && i < hosts[i])) return false;
      }
    }
    return own <= on_.devices();
  }
  void close(const list<index>& hosts, const chosen& made) {
    leaf out{0, 0, {}, made, hosts_.size() - 1};
    phase_seconds usual;
    double busy = 0;
    index ranks = 0;
    chosen group;
    for (index h = 0; h < hosts.size(); ++h) {
      if (hosts[h] >= 0) continue;
      std::size_t count = 0;
      double bytes = 0;
      for (index k = 0; k < hosts.size(); ++k) {
        if (k != h && hosts[k] != h) continue;
        group[count++] = &at(made, k);
        bytes += at(made, k).least_bytes;
        busy = std::max(busy, at(made, k).busy);
      }
      if (bytes > on_.device.memory_bytes) return;
      ranks += at(made, h).ranks();
      out.phases = slower(out.phases, least_together({group.data(), count}));
      usual = slower(usual, together({group.data(), count}));
    }
    ++considered_;
    out.seconds = std::max(step_seconds(out.phases, joins_), busy);
    out.guess = step_seconds(usual, joins_);
    if (!contest_.hopeless(out.seconds, ranks)) leaves_.push_back(out);
  }

  index towers_;
  const cluster_facts& on_;
  index joins_;
  const search_options& options_;
  tower_library& library_;
  plan_contest& contest_;
  search_limit& limit_;
  std::vector<std::vector<const tower_point*>> all_;  // of each tower, the fastest first
  list<list<index>> hosts_;
  std::vector<leaf> leaves_;
  index considered_ = 0, combinations_ = 0;
};

}  // namespace motet
