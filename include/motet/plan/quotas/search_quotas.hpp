// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/quotas/pack_wave.hpp>
#include <motet/plan/quotas/partition_waves.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace motet {

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
quota_answer search_quotas(const quota_question& asked, const quota_options& options = {});

#if !defined(MOTET_COMPILED_PLANNER)
namespace detail {

class quota_searcher {
 public:
  quota_searcher(const quota_times& times, std::int32_t devices, const quota_options& options)
      : times_(times),
        devices_(devices),
        waves_(times.asked().modules, options),
        shared_(times, devices, true),
        whole_(times, devices, false) {}

  quota_answer answer() {
    quota_answer out;
    quota_plan turn, levels;
    for (std::size_t m = 0; m < times_.asked().modules.size(); ++m)
      turn.waves.push_back({alone(static_cast<isize>(m))});
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
  quota_place alone(isize m) const {
    std::int32_t devices = 1;
    for (const std::int32_t d : quota_degrees)
      if (d <= devices_ && d <= times_.asked().samples) devices = d;
    return {m, devices == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << devices) - 1,
            times_.asked().chip.rungs()};
  }
  // What is packed with shares is at least as good as without.
  const wave_packer::packed& packed(wave_packer& by, std::uint64_t set) {
    const wave_packer::packed& found = by.pack(set);
    if (&by != &shared_) return found;
    const wave_packer::packed& without = whole_.pack(set);
    return without.seconds < found.seconds ? without : found;
  }

  quota_plan partition(wave_packer& by) {
    return plan_of(waves_.shortest([&](std::uint64_t wave) { return packed(by, wave).seconds; }), by);
  }
  quota_plan plan_of(const std::vector<std::uint64_t>& waves, wave_packer& by) {
    quota_plan out;
    for (const std::uint64_t each : waves) out.waves.push_back(packed(by, each).places);
    return out;
  }
  // Levels at once; nothing where one has more modules than there are devices.
  std::optional<quota_plan> by_levels() {
    for (const std::uint64_t each : waves_.levels())
      if (std::popcount(each) > devices_ || whole_.pack(each).places.empty()) return {};
    return plan_of(waves_.levels(), whole_);
  }

  static void take(quota_found& best, const quota_found& other) {
    const bool better = other.fits != best.fits ? other.fits : other.seconds < best.seconds * (1 - 1e-9);
    if (better) best = other;
  }
  quota_found walled(quota_plan of) const {
    of.barriers = true, of.elastic = false;
    return played(spread_bytes(std::move(of)));
  }
  // Judges the plan without walls, and where devices are shared also with shares that grow, if that is
  // shorter.
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
  std::int32_t devices_;
  wave_partitioner waves_;
  wave_packer shared_, whole_;
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

MOTET_BODY quota_answer search_quotas(const quota_question& asked, const quota_options& options) {
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
#endif

}  // namespace motet
