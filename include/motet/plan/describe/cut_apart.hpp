// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/plan.hpp>

namespace motet {

namespace detail {

// A replica of one module has samples of several of another.
constexpr bool meets_several(const sample_parts& one, const sample_parts& other) {
  for (std::int32_t r = 0; r < one.replicas; ++r) {
    std::int32_t first = -1;
    bool several = false;
    for (std::int32_t m = 0; m < one.microbatches; ++m)
      other.each_with(one.of(m, r), [&](std::int32_t, std::int32_t replica, std::int32_t) {
        several = several || (first >= 0 && replica != first);
        first = replica;
      });
    if (several) return true;
  }
  return false;
}

}  // namespace detail

// Says whether rows cross between replicas of modules that feed each other, so that who has a sample in one
// does not follow from who has it in the other.
constexpr bool rows_cross(const plan& of, const list<module_facts>& facts, isize samples) {
  for (isize k = 0; k < facts.size(); ++k)
    for (const std::int32_t source : facts[k].from) {
      const sample_parts giver = of.modules[source].parts(samples), taker = of.modules[k].parts(samples);
      if (detail::meets_several(giver, taker) || detail::meets_several(taker, giver)) return true;
    }
  return false;
}

// The same plan with modules cut apart: where replicas feed those of a module on other ranks that is cut
// alike, their microbatches become shorter, one for each microbatch of a replica there, so that each replica
// has a part of every sample list behind it. Then an order of samples chooses who has a sample in each module
// by itself. A plan that is cut apart stays as it is, and so does a module whose microbatches would be empty.
// Asks for: modules in the model's order, and a loss of each sample by itself.
// Memory: a copy of the plan.
// Errors: none of its own.
// Example:
//   bool gains_room(const plan& of, const list<module_facts>& facts) {
//     return !rows_cross(of, facts, 64) && rows_cross(cut_apart(of, facts, 64), facts, 64);
//   }
constexpr plan cut_apart(const plan& of, const list<module_facts>& facts, isize samples) {
  plan out = of;
  list<std::uint8_t> settled(facts.size(), 0);
  const auto feeds = [&](isize from, isize to) {
    for (const std::int32_t source : facts[to].from)
      if (source == from) return true;
    return false;
  };
  const auto settle = [&](isize k) {
    const module_plan& was = of.modules[k];
    const isize replicas = was.on.split().data;
    for (isize to = 0; to < facts.size(); ++to) {
      const module_plan& taker = of.modules[to];
      if (!feeds(k, to) || was.fills || taker.fills || was.multiplexed ||
          was.microbatches != taker.microbatches)
        continue;
      const std::int32_t others = taker.on.split().data;
      const bool apart = replicas > 1 && others > 1 && !(was.on.ranks() == taker.on.ranks());
      for (std::int32_t times = apart ? others : 1; times > 0; --times) {
        const int wanted = out.modules[to].microbatches * times;
        if (others % times != 0 || wanted * replicas > samples) continue;
        if (wanted > out.modules[k].microbatches) out.modules[k].microbatches = wanted;
        break;
      }
    }
  };
  // A module is settled behind all that it feeds.
  for (bool more = true; more;) {
    more = false;
    for (isize k = 0; k < facts.size(); ++k) {
      bool ready = settled[k] == 0;
      for (isize to = 0; to < facts.size(); ++to) ready = ready && (!feeds(k, to) || settled[to] != 0);
      if (!ready) continue;
      settle(k);
      settled[k] = 1;
      more = true;
    }
  }
  // Microbatches of modules that are cut unlike have a loss each.
  if (!(out == of))
    for (module_plan& each : out.modules) each.group = 1;
  return out;
}

}  // namespace motet
