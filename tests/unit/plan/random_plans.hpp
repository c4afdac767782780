// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/prove/check_plan.hpp>

#include "schedule_laws.hpp"

#include <algorithm>

// Plans drawn at random: any degrees, ranks apart, shared in part, wholly, or idle, any schedule.

inline motet::list<motet::module_facts> tower_facts() {
  return {{.name = "picture", .layers = 4, .key_heads = 4},
          {.name = "caption", .layers = 2, .key_heads = 4},
          {.name = "sound", .layers = 3, .key_heads = 4}};
}

inline motet::plan random_plan(motet::laws::dice& roll, const motet::list<motet::module_facts>& facts,
                               int most_ranks = 16) {
  using namespace motet;
  plan out;
  out.cluster.ranks = roll.between(1, most_ranks);
  constexpr const char* names[] = {"gpipe", "1f1b", "interleaved", "zb_h1",
                                   "zb_h2", "zb_v", "dualpipe_v",  "zb_auto"};
  if (roll.below(2) == 0) out.schedule = names[roll.below(8)];
  const bool syncs = out.schedule.view() == "batch_sync", at_once = !syncs && out.schedule.view() != "gpipe";
  const bool vee = out.schedule.view() == "zb_v" || out.schedule.view() == "dualpipe_v";
  // Most schedules begin backward before the last forward, so their losses are of one microbatch each.
  const int ranks = out.cluster.ranks, groups = at_once ? 2 * roll.between(1, 4) : roll.between(1, 3);
  for (const module_facts& each : facts) {
    module_plan own;
    own.name = each.name;
    degrees split;
    const auto draw = [&](std::int32_t& way, int most) {
      if (const int ways = roll.between(1, most); split.size() * ways <= ranks) way = ways;
    };
    draw(split.stages, 3);
    draw(split.data, 3);
    draw(split.tensor, 3);
    draw(split.context, 2);
    std::vector<std::int32_t> all;
    for (int r = 0; r < ranks; ++r) all.push_back(r);
    for (std::size_t i = all.size(); i > 1; --i)
      std::swap(all[i - 1], all[static_cast<std::size_t>(roll.below(static_cast<motet::isize>(i)))]);
    list<std::int32_t> own_ranks;
    for (int i = 0; i < split.size(); ++i) own_ranks.push(all[static_cast<std::size_t>(i)]);
    own.on = mesh(split, own_ranks);
    own.group = at_once ? 1 : roll.between(1, 3);
    own.microbatches = own.group * groups;
    if (syncs) own.stash = roll.between(-1, own.group);
    if (syncs) own.ahead = roll.between(0, 1);
    if (vee || out.schedule.view() == "interleaved") own.chunks = vee ? 2 : roll.between(1, 2);
    if (roll.below(3) == 0) own.remade.resize(own.stages(), 1);
    own.zero = each.frozen ? 0 : roll.below(4);
    out.modules.push(own);
  }
  return out;
}
