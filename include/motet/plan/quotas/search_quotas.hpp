// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/quotas/pack_wave.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace motet {

// The ways to put modules in waves.
enum class quota_waves : std::uint8_t {
  chosen,  // all partitions of few modules, merging of many
  exact,   // all partitions
  merged   // from a wave for each module on, the two that gain most become one
};

struct quota_options {
  quota_waves by = quota_waves::chosen;
  isize exact_up_to = 7;   // modules, where waves are chosen
  isize most_in_wave = 4;  // modules
};

// A plan with what a step of it takes and the bytes of its fullest device.
struct quota_found {
  quota_plan how;
  double seconds = std::numeric_limits<double>::infinity();
  double bytes = 0;
  bool fits = false;
};
struct quota_answer {
  quota_found best;
  quota_found walled;   // the best of those with shares whose waves end together
  quota_found in_turn;  // each module on all devices, one after the other, as Megatron-LM runs them
  quota_found
      disjoint;       // modules that do not wait for each other on devices of their own, as DistMM has them
  quota_found waves;  // waves of such sets, as Spindle has them: the best without shares
};

namespace detail {

class quota_searcher {
 public:
  quota_searcher(const quota_times& times, std::int32_t devices, const quota_options& options)
      : times_(times),
        options_(options),
        devices_(devices),
        shared_(times, devices, true),
        whole_(times, devices, false) {
    const std::vector<quota_module>& modules = times.asked().modules;
    for (std::size_t m = 0; m < modules.size(); ++m) {
      std::uint64_t before = 0;
      for (const isize each : modules[m].after) before |= bit(each) | before_[as_size(each)];
      before_.push_back(before);
    }
  }

  quota_answer answer() {
    quota_answer out;
    quota_plan turn, levels;
    for (std::size_t m = 0; m < count(); ++m) turn.waves.push_back({alone(static_cast<isize>(m))});
    out.in_turn = judged(turn, false);
    out.disjoint = out.waves = out.in_turn;
    if (std::optional<quota_plan> made = by_levels()) out.disjoint = judged(*made, false);
    take(out.waves, judged(partition(whole_), false));
    take(out.waves, out.disjoint);
    const quota_plan found = partition(shared_);
    out.walled = walled(found);
    out.best = judged(found, true);
    for (const quota_found* each : {&out.in_turn, &out.disjoint, &out.waves}) {
      take(out.best, *each);
      if (each->how.barriers) take(out.walled, *each);
    }
    return out;
  }

 private:
  std::size_t count() const { return before_.size(); }
  static constexpr std::uint64_t bit(isize m) { return std::uint64_t{1} << m; }
  std::uint64_t all() const {
    return count() == 64 ? ~std::uint64_t{0} : bit(static_cast<isize>(count())) - 1;
  }
  quota_place alone(isize m) const {
    std::int32_t devices = 1;
    for (const std::int32_t d : quota_degrees)
      if (d <= devices_ && d <= times_.asked().samples) devices = d;
    return {m, devices == 64 ? ~std::uint64_t{0} : bit(devices) - 1, times_.asked().chip.rungs()};
  }
  // None of a set comes after another of it.
  bool independent(std::uint64_t set) const {
    for (std::uint64_t rest = set; rest != 0; rest &= rest - 1)
      if ((before_[as_size(std::countr_zero(rest))] & set) != 0) return false;
    return true;
  }

  // What is packed with shares is at least as good as without.
  const wave_packer::packed& packed(wave_packer& by, std::uint64_t set) {
    const wave_packer::packed& found = by.pack(set);
    if (&by != &shared_) return found;
    const wave_packer::packed& without = whole_.pack(set);
    return without.seconds < found.seconds ? without : found;
  }

  quota_plan partition(wave_packer& by) {
    const bool few = static_cast<isize>(count()) <= options_.exact_up_to;
    if (options_.by == quota_waves::exact || (options_.by == quota_waves::chosen && few))
      return all_partitions(by);
    // Merging may end where no single change helps; so may levels cut into waves, and the better one counts.
    std::vector<std::uint64_t> best;
    for (const std::vector<std::uint64_t>& start : {merged(by), cut_levels()}) {
      std::vector<std::uint64_t> own = locally_better(start, by);
      if (best.empty() || seconds_of(own, by) < seconds_of(best, by)) best = std::move(own);
    }
    return plan_of(best, by);
  }

  // The least time of modules that are done, over all sets to which none is missing that must be before.
  quota_plan all_partitions(wave_packer& by) {
    struct state {
      double seconds = std::numeric_limits<double>::infinity();
      std::uint64_t last = 0;
    };
    std::map<std::uint64_t, state> done{{0, {0, 0}}};
    // A set is a larger number than each of its parts, so this goes through them in order.
    for (auto at = done.begin(); at != done.end(); ++at) {
      const auto [set, own] = *at;
      std::vector<isize> ready;
      for (std::size_t m = 0; m < count(); ++m)
        if ((set >> m & 1) == 0 && (before_[m] & ~set) == 0) ready.push_back(static_cast<isize>(m));
      each_choice(ready, 0, 0, 0, [&](std::uint64_t wave) {
        const double seconds = own.seconds + packed(by, wave).seconds;
        state& to = done[set | wave];
        if (seconds < to.seconds) to = {seconds, wave};
      });
    }
    std::vector<std::uint64_t> waves;
    for (std::uint64_t set = all(); set != 0; set &= ~waves.back()) waves.push_back(done[set].last);
    return plan_of({waves.rbegin(), waves.rend()}, by);
  }
  template <class Visit>
  void each_choice(const std::vector<isize>& of, std::size_t at, std::uint64_t set, isize size,
                   Visit&& visit) {
    for (std::size_t i = at; i < of.size(); ++i) {
      visit(set | bit(of[i]));
      if (size + 1 < options_.most_in_wave) each_choice(of, i + 1, set | bit(of[i]), size + 1, visit);
    }
  }

  double seconds_of(const std::vector<std::uint64_t>& waves, wave_packer& by) {
    double sum = 0;
    for (const std::uint64_t each : waves) sum += packed(by, each).seconds;
    return sum;
  }
  // In an order in which none waits for a later wave; nothing where there is none.
  std::optional<std::vector<std::uint64_t>> ordered(std::vector<std::uint64_t> waves) const {
    std::vector<std::uint64_t> out;
    std::uint64_t done = 0;
    while (!waves.empty()) {
      std::size_t i = 0;
      const auto waits = [&](std::uint64_t wave) {
        for (std::uint64_t rest = wave; rest != 0; rest &= rest - 1)
          if ((before_[as_size(std::countr_zero(rest))] & ~done) != 0) return true;
        return false;
      };
      while (i < waves.size() && waits(waves[i])) ++i;
      if (i == waves.size()) return {};
      out.push_back(waves[i]);
      done |= waves[i];
      waves.erase(waves.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return out;
  }
  bool may_be(std::uint64_t wave) const {
    return std::popcount(wave) <= options_.most_in_wave && independent(wave);
  }

  std::vector<std::uint64_t> merged(wave_packer& by) {
    std::vector<std::uint64_t> waves;
    for (std::size_t m = 0; m < count(); ++m) waves.push_back(bit(static_cast<isize>(m)));
    for (bool gained = true; gained;) {
      gained = false;
      double most = 1e-12;
      std::vector<std::uint64_t> best;
      for (std::size_t i = 0; i < waves.size(); ++i) {
        for (std::size_t j = i + 1; j < waves.size(); ++j) {
          if (!may_be(waves[i] | waves[j])) continue;
          const double gain = packed(by, waves[i]).seconds + packed(by, waves[j]).seconds -
                              packed(by, waves[i] | waves[j]).seconds;
          if (gain <= most) continue;
          std::vector<std::uint64_t> trial = waves;
          trial[i] |= trial[j];
          trial.erase(trial.begin() + static_cast<std::ptrdiff_t>(j));
          if (std::optional<std::vector<std::uint64_t>> made = ordered(std::move(trial)))
            most = gain, best = std::move(*made);
        }
      }
      if (best.empty()) continue;
      waves = std::move(best);
      gained = true;
    }
    return waves;
  }
  // A module goes to another wave or to one of its own, two change places, or two waves become one, while that
  // helps.
  std::vector<std::uint64_t> locally_better(std::vector<std::uint64_t> waves, wave_packer& by) {
    double least = seconds_of(waves, by);
    for (bool gained = true; gained;) {
      gained = false;
      const std::vector<std::uint64_t> from = waves;
      const auto offer = [&](std::vector<std::uint64_t> trial) {
        for (const std::uint64_t each : trial)
          if (!may_be(each)) return;
        std::erase(trial, 0u);
        const std::optional<std::vector<std::uint64_t>> made = ordered(std::move(trial));
        if (!made) return;
        const double own = seconds_of(*made, by);
        if (own < least * (1 - 1e-9)) least = own, waves = *made, gained = true;
      };
      for (std::size_t i = 0; i < from.size(); ++i) {
        for (std::size_t j = i + 1; j < from.size(); ++j) {
          std::vector<std::uint64_t> trial = from;
          trial[i] |= trial[j];
          trial[j] = 0;
          offer(trial);
        }
        for (std::uint64_t rest = from[i]; rest != 0; rest &= rest - 1) {
          const std::uint64_t moved = rest & (~rest + 1);
          std::vector<std::uint64_t> trial = from;
          trial[i] &= ~moved;
          trial.push_back(moved);
          offer(trial);
          trial.pop_back();
          for (std::size_t j = 0; j < from.size(); ++j) {
            if (j == i) continue;
            std::vector<std::uint64_t> to = trial;
            to[j] |= moved;
            offer(to);
            for (std::uint64_t theirs = j > i ? from[j] : 0; theirs != 0; theirs &= theirs - 1) {
              const std::uint64_t back = theirs & (~theirs + 1);
              std::vector<std::uint64_t> swapped = to;
              swapped[j] &= ~back;
              swapped[i] |= back;
              offer(swapped);
            }
          }
        }
      }
    }
    return waves;
  }

  quota_plan plan_of(const std::vector<std::uint64_t>& waves, wave_packer& by) {
    quota_plan out;
    for (const std::uint64_t each : waves) out.waves.push_back(packed(by, each).places);
    return out;
  }
  // All modules that are as far from the first ones.
  std::vector<std::uint64_t> all_levels() const {
    std::vector<std::size_t> depth(count(), 0);
    std::vector<std::uint64_t> levels;
    for (std::size_t m = 0; m < count(); ++m) {
      for (const isize each : times_.asked().modules[m].after)
        depth[m] = std::max(depth[m], depth[as_size(each)] + 1);
      levels.resize(std::max(levels.size(), depth[m] + 1), 0);
      levels[depth[m]] |= bit(static_cast<isize>(m));
    }
    return levels;
  }
  // Each level in waves of as many modules as one may have.
  std::vector<std::uint64_t> cut_levels() const {
    std::vector<std::uint64_t> out;
    for (std::uint64_t level : all_levels()) {
      while (level != 0) {
        std::uint64_t wave = 0;
        for (; level != 0 && std::popcount(wave) < options_.most_in_wave; level &= level - 1)
          wave |= level & (~level + 1);
        out.push_back(wave);
      }
    }
    return out;
  }
  // Levels at once; nothing where one has more modules than there are devices.
  std::optional<quota_plan> by_levels() {
    const std::vector<std::uint64_t> levels = all_levels();
    for (const std::uint64_t each : levels)
      if (std::popcount(each) > devices_ || whole_.pack(each).places.empty()) return {};
    return plan_of(levels, whole_);
  }

  static void take(quota_found& best, const quota_found& other) {
    const bool better = other.fits != best.fits ? other.fits : other.seconds < best.seconds * (1 - 1e-9);
    if (better) best = other;
  }
  quota_found walled(quota_plan of) const {
    of.barriers = true, of.elastic = false;
    return played(spread_bytes(std::move(of)));
  }
  // Without walls, and where devices are shared also with shares that grow, if that is shorter.
  quota_found judged(const quota_plan& of, bool grows) const {
    quota_found out = walled(of);
    for (const bool barriers : {true, false}) {
      for (const bool elastic : {false, true}) {
        if (elastic && !grows) continue;
        quota_plan trial = out.how;
        trial.barriers = barriers, trial.elastic = elastic;
        take(out, played(std::move(trial)));
      }
    }
    return out;
  }
  quota_found played(quota_plan of) const {
    quota_found out;
    of.remade = times_.remade();
    std::vector<double> bytes(as_size(devices_), 0);
    for (const quota_wave& wave : of.waves)
      for (const quota_place& each : wave)
        for (std::int32_t d = 0; d < devices_; ++d)
          if ((each.on >> d & 1) != 0) bytes[as_size(d)] += times_.bytes(each.module, std::popcount(each.on));
    out.bytes = *std::max_element(bytes.begin(), bytes.end());
    out.fits = times_.asked().memory_bytes <= 0 || out.bytes <= times_.asked().memory_bytes;
    out.seconds = play_quotas(times_, of).seconds;
    out.how = std::move(of);
    return out;
  }
  // Devices are alike, so each wave puts what is heaviest where least is.
  quota_plan spread_bytes(quota_plan of) const {
    std::vector<double> held(as_size(devices_), 0);
    for (quota_wave& wave : of.waves) {
      std::vector<double> own(held.size(), 0);
      std::vector<std::size_t> from, to;
      for (std::size_t d = 0; d < held.size(); ++d) {
        for (const quota_place& each : wave)
          if ((each.on >> d & 1) != 0) own[d] += times_.bytes(each.module, std::popcount(each.on));
        from.push_back(d), to.push_back(d);
      }
      std::stable_sort(from.begin(), from.end(),
                       [&](std::size_t a, std::size_t b) { return own[a] > own[b]; });
      std::stable_sort(to.begin(), to.end(), [&](std::size_t a, std::size_t b) { return held[a] < held[b]; });
      for (quota_place& each : wave) {
        std::uint64_t moved = 0;
        for (std::size_t i = 0; i < from.size(); ++i)
          if ((each.on >> from[i] & 1) != 0) moved |= std::uint64_t{1} << to[i];
        each.on = moved;
      }
      for (std::size_t i = 0; i < from.size(); ++i) held[to[i]] += own[from[i]];
    }
    return of;
  }

  const quota_times& times_;
  quota_options options_;
  std::int32_t devices_;
  wave_packer shared_, whole_;
  std::vector<std::uint64_t> before_;
};

inline void require_quotas(const quota_question& asked) {
  const auto refuse = [](const std::string& what) { fail(quotas_not_for_this, what); };
  const isize count = static_cast<isize>(asked.modules.size());
  if (count < 1 || count > 64) refuse(std::to_string(count) + " modules, wanted 1 to 64");
  if (asked.devices < 1 || asked.devices > 64)
    refuse(std::to_string(asked.devices) + " devices, wanted 1 to 64");
  if (asked.samples < 1) refuse(std::to_string(asked.samples) + " samples, wanted 1 at least");
  for (std::size_t m = 0; m < asked.modules.size(); ++m)
    for (const isize each : asked.modules[m].after)
      if (each < 0 || as_size(each) >= m)
        refuse(std::string(asked.modules[m].name.view()) + " comes after module " + std::to_string(each) +
               ", wanted one that stands before it");
}

}  // namespace detail

// The shortest step with and without shares of devices. On fewer devices a step may be shorter, as sums are:
// those are tried, too, so more devices never make it longer. Where nothing fits as it is, backward makes
// again what it reads; where nothing fits then, best.fits is false.
// Asks for: modules behind those that they come after, 64 at most, and 64 devices at most.
// Memory: a table of times, and a wave for each set of modules that was looked at.
// Errors: MT-P101
// Example:
//   #include <motet/plan/quotas/quotas_of_towers.hpp>
//   double gain_of_shares(const model_shape& model, const cluster_facts& on) {
//     const quota_answer found = search_quotas(quotas_of_towers(model, on, 64));
//     return found.waves.seconds / found.best.seconds;
//   }
inline quota_answer search_quotas(const quota_question& asked, const quota_options& options = {}) {
  detail::require_quotas(asked);
  quota_answer out;
  for (const bool remade : {false, true}) {
    const quota_times times(asked, remade);
    for (const std::int32_t devices : quota_degrees) {
      if (devices > asked.devices) break;
      const quota_answer found = detail::quota_searcher(times, devices, options).answer();
      for (quota_found quota_answer::*const each :
           {&quota_answer::best, &quota_answer::walled, &quota_answer::in_turn, &quota_answer::disjoint,
            &quota_answer::waves}) {
        quota_found& known = out.*each;
        const quota_found& own = found.*each;
        if (own.fits != known.fits ? own.fits : own.seconds < known.seconds * (1 - 1e-9)) known = own;
      }
    }
    if (out.best.fits) break;
  }
  return out;
}

}  // namespace motet
