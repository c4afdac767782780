// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/plan.hpp>
#include <motet/plan/quotas/search_quotas.hpp>

#include <bit>
#include <vector>

namespace motet {

// A plan that ranks play, as near to one by quotas as plans go.
struct plan_by_quotas {
  plan how;
  // Multiprocessors of each rank, where all ranks share one device and each has its own; empty: ranks are
  // devices, whose lanes share.
  std::vector<std::int32_t> quotas;
  bool exact = true;  // false: modules of unlike quotas are in one lane, which has the larger one
};

// Where every module is on one device in one wave, each is a rank with multiprocessors of its own. Else ranks
// are devices: modules that share one compute in lanes beside each other, those that follow each other in
// one. How waves follow is then the order of the plan's schedule, which lets nobody wait for a wave.
inline plan_by_quotas plan_of_quotas(const quota_question& asked, const quota_plan& of) {
  plan_by_quotas out;
  const std::size_t count = asked.modules.size();
  std::vector<module_plan> made(count);
  const bool one_device = asked.devices == 1 && of.waves.size() == 1 && count > 1;
  std::vector<std::int32_t> lanes(count, 0);
  std::vector<std::int32_t> most(as_size(asked.chip.most_beside) + 1, 0);
  std::int32_t last = 0;
  for (const quota_wave& wave : of.waves) {
    for (const quota_place& each : wave) {
      module_plan& own = made[as_size(each.module)];
      own.name = asked.modules[as_size(each.module)].name;
      if (of.remade) own.remade = {1};
      if (one_device) {
        last = static_cast<std::int32_t>(count) - 1;
        own.on = mesh::from(static_cast<std::int32_t>(each.module), {});
        out.quotas.resize(count);
        out.quotas[as_size(each.module)] = asked.chip.quota(each.rung);
        continue;
      }
      list<std::int32_t> ranks;
      for (std::int32_t d = 0; d < asked.devices; ++d)
        if ((each.on >> d & 1) != 0) ranks.push(d), last = std::max(last, d);
      const std::int32_t replicas = static_cast<std::int32_t>(ranks.size());
      own.on = mesh({.data = replicas}, ranks);
      bool shares = false;
      std::uint32_t taken = 0;  // lanes of those beside it
      for (const quota_place& other : wave) {
        if (other.module == each.module || (other.on & each.on) == 0) continue;
        shares = true;
        if (&other < &each) taken |= 1u << lanes[as_size(other.module)];
      }
      if (!shares) continue;
      const std::int32_t lane = std::countr_one(taken);
      lanes[as_size(each.module)] = own.lane = lane;
      if (as_size(lane) >= most.size()) most.resize(as_size(lane) + 1, 0);
      out.exact = out.exact && (most[as_size(lane)] == 0 || most[as_size(lane)] == each.rung);
      most[as_size(lane)] = std::max(most[as_size(lane)], each.rung);
    }
  }
  // Shares are parts of what all lanes have together, so that they are a whole device.
  double all = 0;
  for (const std::int32_t each : most) all += each;
  for (std::size_t m = 0; m < count; ++m) {
    if (const std::int32_t rungs = most[as_size(made[m].lane)]; all > rungs) made[m].share = rungs / all;
    out.how.modules.push(made[m]);
  }
  out.how.cluster.ranks = last + 1;
  return out;
}

}  // namespace motet
