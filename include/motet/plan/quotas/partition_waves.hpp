// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/quotas/quota_question.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
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

namespace detail {

// Puts modules in waves, each behind the one before it, so that the sum of what waves take is least. A wave
// is a set of bits; what it takes, seconds(wave), is the caller's, for waves of modules that do not wait for
// each other.
class wave_partitioner {
 public:
  using waves = std::vector<std::uint64_t>;

  // Modules stand behind those that they come after, 64 at most.
  wave_partitioner(const std::vector<quota_module>& modules, const quota_options& options)
      : options_(options) {
    std::vector<std::size_t> depth;
    for (const quota_module& own : modules) {
      std::uint64_t before = 0;
      std::size_t at = 0;
      for (const isize each : own.after) {
        before |= bit(each) | before_[as_size(each)];
        at = std::max(at, depth[as_size(each)] + 1);
      }
      levels_.resize(std::max(levels_.size(), at + 1), 0);
      levels_[at] |= bit(static_cast<isize>(before_.size()));
      before_.push_back(before);
      depth.push_back(at);
    }
  }

  // All modules that are as far from the first ones, however many.
  const waves& levels() const { return levels_; }
  template <class Seconds>
  waves shortest(Seconds&& seconds) const {
    const bool few = static_cast<isize>(count()) <= options_.exact_up_to;
    if (options_.by == quota_waves::exact || (options_.by == quota_waves::chosen && few))
      return all_partitions(seconds);
    // Merging may end where no single change helps; so may levels cut into waves, and the better one counts.
    waves best;
    for (const waves& start : {merged(seconds), cut_levels()}) {
      waves own = locally_better(start, seconds);
      if (best.empty() || sum(own, seconds) < sum(best, seconds)) best = std::move(own);
    }
    return best;
  }

 private:
  std::size_t count() const { return before_.size(); }
  static constexpr std::uint64_t bit(isize m) { return std::uint64_t{1} << m; }
  std::uint64_t all() const {
    return count() == 64 ? ~std::uint64_t{0} : bit(static_cast<isize>(count())) - 1;
  }
  // None of a set comes after another of it.
  bool independent(std::uint64_t set) const {
    for (std::uint64_t rest = set; rest != 0; rest &= rest - 1)
      if ((before_[as_size(std::countr_zero(rest))] & set) != 0) return false;
    return true;
  }

  // The least time of modules that are done, over all sets to which none is missing that must be before.
  template <class Seconds>
  waves all_partitions(Seconds& seconds) const {
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
        const double together = own.seconds + seconds(wave);
        state& to = done[set | wave];
        if (together < to.seconds) to = {together, wave};
      });
    }
    waves found;
    for (std::uint64_t set = all(); set != 0; set &= ~found.back()) found.push_back(done[set].last);
    return {found.rbegin(), found.rend()};
  }
  template <class Visit>
  void each_choice(const std::vector<isize>& of, std::size_t at, std::uint64_t set, isize size,
                   Visit&& visit) const {
    for (std::size_t i = at; i < of.size(); ++i) {
      visit(set | bit(of[i]));
      if (size + 1 < options_.most_in_wave) each_choice(of, i + 1, set | bit(of[i]), size + 1, visit);
    }
  }

  template <class Seconds>
  static double sum(const waves& all, Seconds& seconds) {
    double found = 0;
    for (const std::uint64_t each : all) found += seconds(each);
    return found;
  }
  // Puts waves in an order in which none waits for a later one; nothing where there is none.
  std::optional<waves> ordered(waves from) const {
    waves out;
    std::uint64_t done = 0;
    while (!from.empty()) {
      std::size_t i = 0;
      const auto waits = [&](std::uint64_t wave) {
        for (std::uint64_t rest = wave; rest != 0; rest &= rest - 1)
          if ((before_[as_size(std::countr_zero(rest))] & ~done) != 0) return true;
        return false;
      };
      while (i < from.size() && waits(from[i])) ++i;
      if (i == from.size()) return {};
      out.push_back(from[i]);
      done |= from[i];
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return out;
  }
  bool may_be(std::uint64_t wave) const {
    return std::popcount(wave) <= options_.most_in_wave && independent(wave);
  }

  template <class Seconds>
  waves merged(Seconds& seconds) const {
    waves now;
    for (std::size_t m = 0; m < count(); ++m) now.push_back(bit(static_cast<isize>(m)));
    for (bool gained = true; gained;) {
      gained = false;
      double most = 1e-12;
      waves best;
      for (std::size_t i = 0; i < now.size(); ++i) {
        for (std::size_t j = i + 1; j < now.size(); ++j) {
          if (!may_be(now[i] | now[j])) continue;
          const double gain = seconds(now[i]) + seconds(now[j]) - seconds(now[i] | now[j]);
          if (gain <= most) continue;
          waves trial = now;
          trial[i] |= trial[j];
          trial.erase(trial.begin() + static_cast<std::ptrdiff_t>(j));
          if (std::optional<waves> made = ordered(std::move(trial))) most = gain, best = std::move(*made);
        }
      }
      if (best.empty()) continue;
      now = std::move(best);
      gained = true;
    }
    return now;
  }
  // A module goes to another wave or to one of its own, two change places, or two waves become one, while
  // that helps.
  template <class Seconds>
  waves locally_better(waves now, Seconds& seconds) const {
    double least = sum(now, seconds);
    for (bool gained = true; gained;) {
      gained = false;
      const waves from = now;
      const auto offer = [&](waves trial) {
        for (const std::uint64_t each : trial)
          if (!may_be(each)) return;
        std::erase(trial, 0u);
        const std::optional<waves> made = ordered(std::move(trial));
        if (!made) return;
        const double own = sum(*made, seconds);
        if (own < least * (1 - 1e-9)) least = own, now = *made, gained = true;
      };
      for (std::size_t i = 0; i < from.size(); ++i) {
        for (std::size_t j = i + 1; j < from.size(); ++j) {
          waves trial = from;
          trial[i] |= trial[j];
          trial[j] = 0;
          offer(trial);
        }
        for (std::uint64_t rest = from[i]; rest != 0; rest &= rest - 1) {
          const std::uint64_t moved = rest & (~rest + 1);
          waves trial = from;
          trial[i] &= ~moved;
          trial.push_back(moved);
          offer(trial);
          trial.pop_back();
          for (std::size_t j = 0; j < from.size(); ++j) {
            if (j == i) continue;
            waves to = trial;
            to[j] |= moved;
            offer(to);
            for (std::uint64_t theirs = j > i ? from[j] : 0; theirs != 0; theirs &= theirs - 1) {
              const std::uint64_t back = theirs & (~theirs + 1);
              waves swapped = to;
              swapped[j] &= ~back;
              swapped[i] |= back;
              offer(swapped);
            }
          }
        }
      }
    }
    return now;
  }

  // Each level in waves of as many modules as one may have.
  waves cut_levels() const {
    waves out;
    for (std::uint64_t level : levels_) {
      while (level != 0) {
        std::uint64_t wave = 0;
        for (; level != 0 && std::popcount(wave) < options_.most_in_wave; level &= level - 1)
          wave |= level & (~level + 1);
        out.push_back(wave);
      }
    }
    return out;
  }

  quota_options options_;
  std::vector<std::uint64_t> before_;  // of each module, all that it waits for
  waves levels_;
};

}  // namespace detail

}  // namespace motet
