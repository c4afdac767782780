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
  static constexpr isize most_devices = 16, most_towers = 3;

  every_plan(isize towers, const cluster_facts& on, isize joins, const search_options& options,
             tower_library& library, plan_contest& contest, search_limit& limit)
      : towers_(towers),
        on_(on),
        joins_(joins),
        options_(options),
        library_(library),
        contest_(contest),
        limit_(limit) {}

  void run() {
    for (isize k = 0; k < towers_; ++k) {
      std::vector<const tower_point*> own;
      for (isize n = 1; n <= on_.devices(); ++n)
        for (isize place = 0; place < std::ssize(library_.places()); ++place)
          for (const tower_point& each : library_.points(k, n, place)) own.push_back(&each);
      std::stable_sort(own.begin(), own.end(), [&](const tower_point* a, const tower_point* b) {
        return least_of(*a) < least_of(*b);
      });
      all_.push_back(own);
    }
    for (const list<isize>& groups : groupings(towers_, options_.apart, options_.together))
      each_host(groups, 0, list<isize>(towers_, -1));
    std::stable_sort(leaves_.begin(), leaves_.end(),
                     [](const leaf& a, const leaf& b) { return a.guess < b.guess; });
    const isize so_far = contest_.played(), all = static_cast<isize>(leaves_.size());
    for (const leaf& each : leaves_) {
      const isize number = static_cast<isize>(&each - leaves_.data());
      if (limit_.over("playing all combinations", number, all)) {
        limit_.leave(all - number, all, "combinations one by one");
        break;
      }
      plan_sketch made{{}, hosts_[each.hosts], {}};
      for (isize k = 0; k < towers_; ++k) made.points.push(*each.points[as_size(k)]);
      if (contest_.hopeless(each.seconds, made.ranks())) continue;
      if (contest_.played() - so_far > most_played) break;
      made.seconds = each.phases;
      contest_.offer(made, 1 << 20, true);
    }
  }
  isize considered() const { return considered_; }

 private:
  static constexpr isize most_combinations = 4'000'000, most_played = 300'000;
  using chosen = std::array<const tower_point*, most_towers>;
  struct leaf {
    double seconds = 0, guess = 0;  // never less, and what is likely
    phase_seconds phases;
    chosen points;
    isize hosts = 0;  // a number in the list of those
  };

  double least_of(const tower_point& of) const {
    return std::max(step_seconds({of.seconds.lead, of.last_steady, of.seconds.drain}, joins_), of.busy);
  }
  // Each group of several has one host.
  void each_host(const list<isize>& groups, isize g, list<isize> hosts) {
    list<isize> members;
    for (isize k = 0; k < groups.size(); ++k)
      if (groups[k] == g) members.push(k);
    if (members.empty()) {
      hosts_.push(hosts);
      return combine(hosts, 0, {});
    }
    for (const isize host : members) {
      for (const isize each : members) hosts[each] = each == host ? -1 : host;
      each_host(groups, g + 1, hosts);
    }
  }
  static const tower_point& at(const chosen& of, isize k) { return *of[as_size(k)]; }

  void combine(const list<isize>& hosts, isize k, chosen made) {
    if (k >= hosts.size() || k >= static_cast<isize>(made.size())) return close(hosts, made);
    for (const tower_point* const each : all_[as_size(k)]) {
      if (contest_.hopeless(least_of(*each), 0) || ++combinations_ > most_combinations) return;
      made[as_size(k)] = each;
      if (possible(hosts, k, made)) combine(hosts, k + 1, made);
    }
  }
  // Says whether there are ranks for the first towers: of each kind, and of all.
  bool possible(const list<isize>& hosts, isize k, const chosen& made) const {
    for (isize i = 0; i <= k; ++i) {
      if (hosts[i] < 0 || hosts[i] > k) continue;
      const isize mine = at(made, i).ranks(), host = at(made, hosts[i]).ranks();
      if (mine > host || (mine == host && i < hosts[i])) return false;
      if (at(made, i).kinds != at(made, hosts[i]).kinds) return false;
    }
    for (const device_place& place : library_.places()) {
      isize own = 0;
      for (isize i = 0; i <= k; ++i)
        if (hosts[i] < 0 && (at(made, i).kinds & ~place.kinds) == 0) own += at(made, i).ranks();
      if (own > place.devices()) return false;
    }
    return true;
  }
  double room(std::uint32_t kinds) const {
    double most = 0;
    for (const device_place& place : library_.places())
      if (place.kinds == kinds) most = std::max(most, place.as_one.device.memory_bytes);
    return most;
  }
  void close(const list<isize>& hosts, const chosen& made) {
    leaf out{0, 0, {}, made, hosts_.size() - 1};
    phase_seconds usual;
    double busy = 0;
    isize ranks = 0;
    chosen group;
    for (isize h = 0; h < hosts.size(); ++h) {
      if (hosts[h] >= 0) continue;
      std::size_t count = 0;
      double bytes = 0;
      for (isize k = 0; k < hosts.size(); ++k) {
        if (k != h && hosts[k] != h) continue;
        group[count++] = &at(made, k);
        bytes += at(made, k).least_bytes;
        busy = std::max(busy, at(made, k).busy);
      }
      if (bytes > room(at(made, h).kinds)) return;
      ranks += at(made, h).ranks();
      out.phases = slower(out.phases, least_together({group.data(), count}));
      usual = slower(usual, together({group.data(), count}));
    }
    ++considered_;
    out.seconds = std::max(step_seconds(out.phases, joins_), busy);
    out.guess = step_seconds(usual, joins_);
    if (!contest_.hopeless(out.seconds, ranks)) leaves_.push_back(out);
  }

  isize towers_;
  const cluster_facts& on_;
  isize joins_;
  const search_options& options_;
  tower_library& library_;
  plan_contest& contest_;
  search_limit& limit_;
  std::vector<std::vector<const tower_point*>> all_;  // of each tower, the fastest first
  list<list<isize>> hosts_;
  std::vector<leaf> leaves_;
  isize considered_ = 0, combinations_ = 0;
};

}  // namespace motet
