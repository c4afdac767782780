// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/search/search_result.hpp>

#include <algorithm>

namespace motet {

inline isize ranks_used(const plan& of) {
  list<std::uint8_t> used(of.cluster.ranks, 0);
  isize count = 0;
  for (const module_plan& each : of.modules)
    for (const std::int32_t rank : each.on.ranks()) count += used[rank] == 0 ? used[rank] = 1 : 0;
  return count;
}

// The time of a step in parts that add up to it: that of the average rank that holds something, and what the
// busiest one has more.
struct step_parts {
  double work = 0;
  double again = 0;    // forwards that run twice
  double uneven = 0;   // that the busiest rank works longer than the average
  double bubbles = 0;  // waiting inside towers
  double reductions = 0, exchange = 0;
};

inline step_parts parts_of(const plan& of, const run_forecast& gives) {
  step_parts out;
  list<double> loads(of.cluster.ranks, 0);
  double held = 0, all = 0, again = 0, most = 0;
  for (isize k = 0; k < of.modules.size() && k < gives.modules.size(); ++k) {
    const module_plan& own = of.modules[k];
    const module_forecast& times = gives.modules[k];
    const double twice =
        own.stash < 0 ? 0 : own.groups() * (own.whole_group() - own.stash) * times.forward_seconds;
    double remade = 0;
    for (const std::uint8_t each : own.remade)
      remade += each != 0 ? own.microbatches * times.forward_seconds / own.stages() : 0;
    for (const std::int32_t rank : own.on.ranks()) {
      held += loads[rank] == 0 ? 1 : 0;
      loads[rank] += own.microbatches * (times.forward_seconds + times.backward_seconds) + twice;
      again += twice + remade;
    }
  }
  for (const double each : loads) {
    all += each;
    most = std::max(most, each);
  }
  if (held == 0) return out;
  out.again = again / held;
  out.work = all / held - out.again;
  out.uneven = most - all / held;
  const double communication = gives.communication_share * gives.step_seconds;
  out.exchange = std::min(communication, gives.join_seconds);
  out.reductions = communication - out.exchange;
  out.bubbles = std::max(0.0, gives.step_seconds - most - communication);
  return out;
}

// A plan loses most of its time beside the best one to one cause, which is told.
inline lost_by setback_of(const ranked_plan& it, const ranked_plan& best) {
  const step_parts own = parts_of(it.how, it.gives), wins = parts_of(best.how, best.gives);
  lost_by out{setback::none, it.gives.step_seconds - best.gives.step_seconds};
  if (out.seconds <= 1e-9 * best.gives.step_seconds) {
    const auto ranks = static_cast<double>(ranks_used(it.how)),
               fewer = static_cast<double>(ranks_used(best.how));
    if (ranks > fewer) out = {setback::more_ranks, out.seconds, ranks, fewer};
    return out;
  }
  const auto offer = [&](setback cause, double more, double less) {
    if (out.cause != setback::none && more - less <= out.own - out.winners) return;
    out.cause = cause;
    out.own = more;
    out.winners = less;
  };
  offer(setback::work, own.work, wins.work);
  offer(setback::memory, own.again, wins.again);
  offer(setback::uneven_towers, own.uneven, wins.uneven);
  offer(setback::bubbles, own.bubbles, wins.bubbles);
  offer(setback::reductions, own.reductions, wins.reductions);
  offer(setback::exchange, own.exchange, wins.exchange);
  return out;
}

}  // namespace motet
