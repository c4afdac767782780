// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/quotas/quota_question.hpp>

#include <bit>
#include <limits>
#include <vector>

namespace motet {

// A phase as it was played.
struct quota_span {
  isize module = 0;
  bool back = false;
  double start = 0, finish = -1;
};
struct quota_played {
  double seconds = 0;
  std::vector<quota_span> spans;
};

namespace detail {

// Phases compute at speeds that change whenever one begins or ends, as lanes do in the simulator.
class quota_player {
 public:
  quota_player(const quota_times& times, bool elastic) : times_(times), elastic_(elastic) {}

  struct phase {
    quota_place at;
    bool back;
    int wave;  // waves wait for those before them where there are barriers
    std::vector<std::size_t> after;
  };

  quota_played play(const std::vector<phase>& phases, bool barriers) {
    quota_played out;
    out.spans.resize(phases.size());
    std::vector<double> left(phases.size(), 1);
    std::vector<std::size_t> now;
    std::size_t ended = 0;
    while (ended < phases.size()) {
      begin(phases, barriers, out, now);
      const std::vector<double> rates = rates_of(phases, now);
      double step = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < now.size(); ++i) step = std::min(step, left[now[i]] / rates[i]);
      out.seconds += step;
      std::vector<std::size_t> go_on;
      for (std::size_t i = 0; i < now.size(); ++i) {
        double& rest = left[now[i]];
        rest -= step * rates[i];
        if (rest > 1e-9) {
          go_on.push_back(now[i]);
          continue;
        }
        out.spans[now[i]].finish = out.seconds;
        ++ended;
      }
      now = std::move(go_on);
    }
    return out;
  }

 private:
  const multiprocessors& chip() const { return times_.asked().chip; }

  // Each in its turn: none passes one before it that shares a device with it.
  void begin(const std::vector<phase>& phases, bool barriers, quota_played& out,
             std::vector<std::size_t>& now) const {
    std::uint64_t kept = 0;  // devices whose next phase must wait
    int wave = std::numeric_limits<int>::max();
    for (std::size_t i = 0; i < phases.size(); ++i)
      if (out.spans[i].finish < 0) wave = std::min(wave, phases[i].wave);
    for (std::size_t i = 0; i < phases.size(); ++i) {
      const phase& own = phases[i];
      quota_span& span = out.spans[i];
      if (span.finish >= 0 || std::find(now.begin(), now.end(), i) != now.end()) continue;
      bool can = (own.at.on & kept) == 0 && (!barriers || own.wave == wave) && has_room(phases, now, own.at);
      for (const std::size_t each : own.after) can = can && out.spans[each].finish >= 0;
      if (!can) {
        kept |= own.at.on;
        continue;
      }
      span = {own.at.module, own.back, out.seconds, -1};
      now.push_back(i);
    }
  }
  bool has_room(const std::vector<phase>& phases, const std::vector<std::size_t>& now,
                const quota_place& at) const {
    for (std::uint64_t rest = at.on; rest != 0; rest &= rest - 1) {
      const std::uint64_t device = rest & -rest;
      std::int32_t taken = 0, beside = 0;
      for (const std::size_t each : now)
        if ((phases[each].at.on & device) != 0) taken += phases[each].at.rung, ++beside;
      if (beside > 0 && (taken + at.rung > chip().steps || beside >= chip().most_beside)) return false;
    }
    return true;
  }

  // With elastic tails the first in order grow into what is free on all their devices.
  std::vector<std::int32_t> rungs_of(const std::vector<phase>& phases,
                                     const std::vector<std::size_t>& now) const {
    std::vector<std::int32_t> out(now.size());
    for (std::size_t i = 0; i < now.size(); ++i) out[i] = phases[now[i]].at.rung;
    if (!elastic_) return out;
    for (std::size_t i = 0; i < now.size(); ++i) {
      std::int32_t most = chip().rungs();
      for (std::size_t j = 0; j < now.size(); ++j)
        if (j != i && (phases[now[j]].at.on & phases[now[i]].at.on) != 0) most = std::min(most, chip().steps);
      for (std::uint64_t rest = phases[now[i]].at.on; rest != 0; rest &= rest - 1) {
        std::int32_t others = 0;
        for (std::size_t j = 0; j < now.size(); ++j)
          if (j != i && (phases[now[j]].at.on & rest & -rest) != 0) others += out[j];
        if (others > 0) most = std::min(most, chip().steps - others);
      }
      out[i] = std::max(out[i], most);
    }
    return out;
  }

  std::vector<double> rates_of(const std::vector<phase>& phases, const std::vector<std::size_t>& now) const {
    const std::vector<std::int32_t> rungs = rungs_of(phases, now);
    struct demand {
      double seconds, bytes, flops;
    };
    std::vector<demand> each;
    for (std::size_t i = 0; i < now.size(); ++i) {
      const phase& own = phases[now[i]];
      const std::int32_t devices = std::popcount(own.at.on);
      const quota_module& of = times_.asked().modules[as_size(own.at.module)];
      const phase_curve& curve = own.back ? of.backward : of.forward;
      // A phase of no work ends at once.
      const double seconds = std::max(times_.phase(own.at.module, own.back, devices, rungs[i]), 1e-12);
      const double samples = samples_each(times_.asked().samples, devices);
      each.push_back({seconds, curve.bytes_each * samples / seconds, curve.flops_each * samples / seconds});
    }
    std::vector<double> out;
    for (std::size_t i = 0; i < now.size(); ++i) {
      double slow = 1;
      for (std::uint64_t rest = phases[now[i]].at.on; rest != 0; rest &= rest - 1) {
        double bytes = each[i].bytes, flops = each[i].flops, measured = 1;
        bool known = true, beside = false;
        for (std::size_t j = 0; j < now.size(); ++j) {
          if (j == i || (phases[now[j]].at.on & rest & -rest) == 0) continue;
          beside = true;
          bytes += each[j].bytes, flops += each[j].flops;
          const label &mine = name(phases[now[i]]), &other = name(phases[now[j]]);
          known = known && find_pair(times_.asked().pairs, mine, other) != nullptr;
          measured = std::max(measured, slowdown_beside(times_.asked().pairs, mine, other,
                                                        rungs[i] / static_cast<double>(rungs[i] + rungs[j])));
        }
        if (beside) slow = std::max(slow, known ? measured : limited(each[i].bytes, bytes, flops));
      }
      out.push_back(1 / (each[i].seconds * slow));
    }
    return out;
  }
  const label& name(const phase& of) const { return times_.asked().modules[as_size(of.at.module)].name; }
  double limited(double own_bytes, double bytes, double flops) const {
    const common_limits& limits = times_.asked().limits;
    double slow = 1;
    if (const double most = limits.usable * limits.bytes_per_second; most > 0 && bytes > most)
      slow += std::min(1.0, own_bytes / (0.5 * most)) * (bytes / most - 1);
    if (const double most = limits.flops_per_second; most > 0 && flops > most) slow += flops / most - 1;
    return slow;
  }

  const quota_times& times_;
  bool elastic_;
};

}  // namespace detail

// The forwards of a wave and then its backwards, by themselves.
inline double seconds_of_wave(const quota_times& times, const quota_wave& wave) {
  double sum = 0;
  for (const bool back : {false, true}) {
    std::vector<detail::quota_player::phase> phases;
    for (const quota_place& each : wave) phases.push_back({each, back, 0, {}});
    sum += detail::quota_player(times, false).play(phases, true).seconds;
  }
  return sum;
}

// A whole step. Modules that no other comes after meet in the loss: their backwards wait for all forwards.
inline quota_played play_quotas(const quota_times& times, const quota_plan& of) {
  std::vector<detail::quota_player::phase> phases;
  const std::vector<quota_module>& modules = times.asked().modules;
  std::vector<std::size_t> forward(modules.size()), backward(modules.size());
  std::vector<std::vector<isize>> behind(modules.size());
  for (std::size_t m = 0; m < modules.size(); ++m)
    for (const isize each : modules[m].after) behind[as_size(each)].push_back(static_cast<isize>(m));
  int number = 0;
  for (const quota_wave& wave : of.waves) {
    for (const quota_place& each : wave) {
      forward[as_size(each.module)] = phases.size();
      std::vector<std::size_t> after;
      for (const isize before : modules[as_size(each.module)].after)
        after.push_back(forward[as_size(before)]);
      phases.push_back({each, false, number, std::move(after)});
    }
    ++number;
  }
  const std::size_t forwards = phases.size();
  for (std::size_t w = of.waves.size(); w-- > 0; ++number) {
    for (const quota_place& each : of.waves[w]) {
      const std::size_t m = as_size(each.module);
      backward[m] = phases.size();
      std::vector<std::size_t> after{forward[m]};
      for (const isize next : behind[m]) after.push_back(backward[as_size(next)]);
      for (std::size_t i = 0; behind[m].empty() && i < forwards; ++i)
        if (behind[as_size(phases[i].at.module)].empty()) after.push_back(i);
      phases.push_back({each, true, number, std::move(after)});
    }
  }
  return detail::quota_player(times, of.elastic).play(phases, of.barriers);
}

}  // namespace motet
