// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/quotas/play_quotas.hpp>

#include <array>
#include <map>
#include <optional>
#include <vector>

namespace motet {

// Numbers of devices that a module may have. Every larger cluster has those of a smaller one, too.
inline constexpr std::int32_t quota_degrees[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64};

namespace detail {

// Places some modules side by side so that the slowest ends as early as may be.
class wave_packer {
 public:
  // shared: modules may have part of a device; else each has devices of its own.
  wave_packer(const quota_times& times, std::int32_t devices, bool shared)
      : times_(times), devices_(devices), shared_(shared) {}

  struct packed {
    quota_wave places;
    double seconds = std::numeric_limits<double>::infinity();
  };

  // Empty where they cannot be at once.
  const packed& pack(std::uint64_t set) {
    if (const auto known = memo_.find(set); known != memo_.end()) return known->second;
    return memo_.emplace(set, find(set)).first->second;
  }

  // Seconds by which `places` are compared; others than those that were packed, too.
  double seconds(const quota_wave& places) const { return seconds_of_wave(times_, places); }

  // Rungs change one by one, also from one module to another, while that helps.
  packed climbed(quota_wave places) const {
    packed best{places, seconds(places)};
    for (bool better = shared_; better;) {
      better = false;
      const quota_wave from = best.places;
      const auto offer = [&](const quota_wave& trial) {
        if (!fits(trial)) return;
        if (const double own = seconds(trial); own < best.seconds * (1 - 1e-9))
          best = {trial, own}, better = true;
      };
      for (std::size_t i = 0; i < from.size(); ++i) {
        for (const int move : {-4, -1, 1, 4}) {
          quota_wave trial = from;
          trial[i].rung += move;
          offer(trial);
          for (std::size_t j = 0; j < from.size(); ++j) {
            if (j == i || (from[i].on & from[j].on) == 0) continue;
            trial = from;
            trial[i].rung += move;
            trial[j].rung -= move;
            offer(trial);
          }
        }
      }
    }
    return best;
  }

 private:
  struct choice {
    std::int32_t devices, rung;
  };

  std::int32_t room() const { return times_.asked().chip.steps; }
  std::int32_t least_rung() const { return shared_ ? 1 : times_.asked().chip.rungs(); }

  bool fits(const quota_wave& of) const {
    const multiprocessors& chip = times_.asked().chip;
    for (const quota_place& each : of)
      if (each.rung < 1 || each.rung > chip.rungs()) return false;
    for (std::int32_t d = 0; d < devices_; ++d) {
      std::int32_t taken = 0, beside = 0;
      for (const quota_place& each : of)
        if ((each.on >> d & 1) != 0) taken += each.rung, ++beside;
      if (beside > chip.most_beside || (beside > 1 && taken > chip.steps)) return false;
    }
    return true;
  }

  packed find(std::uint64_t set) const {
    std::vector<isize> members;
    for (std::uint64_t rest = set; rest != 0; rest &= rest - 1) members.push_back(std::countr_zero(rest));
    std::vector<double> ends;  // times that a choice takes
    for (const isize m : members)
      for (const std::int32_t d : quota_degrees)
        for (std::int32_t rung = least_rung(); d <= most_of_module() && rung <= times_.asked().chip.rungs();
             ++rung)
          ends.push_back(times_.both(m, d, rung));
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    std::size_t low = 0, high = ends.size();  // the first that is long enough, if any is
    packed best;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (const std::optional<quota_wave> made = within(members, ends[middle])) {
        high = middle;
        best = better_of(std::move(best), climbed(*made));
      } else {
        low = middle + 1;
      }
    }
    // What is packed a little later may disturb itself less.
    for (std::size_t i = low; i < ends.size() && members.size() > 1 && shared_; i += 1 + ends.size() / 16)
      if (const std::optional<quota_wave> made = within(members, ends[i]))
        best = better_of(std::move(best), climbed(*made));
    return best;
  }
  static packed better_of(packed one, packed other) { return other.seconds < one.seconds ? other : one; }
  std::int32_t most_of_module() const {
    return static_cast<std::int32_t>(std::min<isize>(devices_, times_.asked().samples));
  }

  // Some choice of devices for each module, with the least quota that ends in time, which fits.
  std::optional<quota_wave> within(const std::vector<isize>& members, double end) const {
    std::vector<std::vector<choice>> choices;
    for (const isize m : members) {
      std::vector<choice> own;
      std::int32_t before = times_.asked().chip.rungs() + 1;
      for (const std::int32_t d : quota_degrees) {
        if (d > most_of_module()) break;
        std::int32_t rung = least_rung();
        while (rung <= times_.asked().chip.rungs() && times_.both(m, d, rung) > end) ++rung;
        // More devices with no smaller quota are worse.
        if (rung >= before) continue;
        own.push_back({d, rung});
        before = rung;
      }
      if (own.empty()) return {};
      choices.push_back(std::move(own));
    }
    std::vector<choice> chosen(members.size(), choice{0, 0});
    std::int64_t left = budget;
    return spread(members, choices, chosen, 0, left);
  }
  // At most so many choices are looked at, so that a wave of many modules takes no longer than one of four.
  static constexpr std::int64_t budget = 4096;
  std::optional<quota_wave> spread(const std::vector<isize>& members,
                                   const std::vector<std::vector<choice>>& choices,
                                   std::vector<choice>& chosen, std::size_t at, std::int64_t& left) const {
    if (--left < 0) return {};
    if (at == members.size()) return placed(members, chosen);
    for (const choice& each : choices[at]) {
      chosen[at] = each;
      std::int64_t area = 0;
      for (std::size_t i = 0; i <= at; ++i)
        area += std::int64_t{chosen[i].devices} * std::min(chosen[i].rung, room());
      if (area > std::int64_t{devices_} * room()) continue;
      if (std::optional<quota_wave> made = spread(members, choices, chosen, at + 1, left)) return made;
    }
    return {};
  }
  // The largest shares first, each on the fullest devices that have room.
  std::optional<quota_wave> placed(const std::vector<isize>& members,
                                   const std::vector<choice>& chosen) const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < members.size(); ++i) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return chosen[a].rung != chosen[b].rung ? chosen[a].rung > chosen[b].rung
                                              : chosen[a].devices > chosen[b].devices;
    });
    std::vector<std::int32_t> taken(as_size(devices_), 0), beside(as_size(devices_), 0);
    quota_wave out;
    for (const std::size_t i : order) {
      std::vector<std::size_t> free;
      for (std::size_t d = 0; d < taken.size(); ++d)
        if (beside[d] == 0 ||
            (taken[d] + chosen[i].rung <= room() && beside[d] < times_.asked().chip.most_beside))
          free.push_back(d);
      if (free.size() < as_size(chosen[i].devices)) return {};
      std::stable_sort(free.begin(), free.end(),
                       [&](std::size_t a, std::size_t b) { return taken[a] > taken[b]; });
      quota_place place{members[i], 0, chosen[i].rung};
      for (std::size_t k = 0; k < as_size(chosen[i].devices); ++k) {
        place.on |= std::uint64_t{1} << free[k];
        taken[free[k]] += chosen[i].rung, ++beside[free[k]];
      }
      out.push_back(place);
    }
    return out;
  }

  const quota_times& times_;
  std::int32_t devices_;
  bool shared_;
  std::map<std::uint64_t, packed> memo_;
};

}  // namespace detail
}  // namespace motet
