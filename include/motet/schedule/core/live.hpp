// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/program.hpp>

namespace motet {

// The change is what an instruction does to the count of microbatches that its stage keeps for backward.
constexpr int live_change(op what) {
  switch (what) {
    case op::forward:
    case op::re_forward:
    case op::fetch: return 1;
    case op::backward:
    case op::backward_weight:
    case op::offload: return -1;
    default: return 0;
  }
}

// Calls change(instruction, +1 or -1) for a range of a rank's list, in order. What overlaps takes its slots
// before it leaves any.
template <class Change>
constexpr void each_live_change(const program& of, isize first, isize end, Change change) {
  const instruction* const all = of.instructions.data();
  for (isize i = first, next = i; i < end; i = next) {
    for (next = i + 1; next < end && all[next - 1].paired;) ++next;
    for (const int sign : {1, -1})
      for (isize k = i; k < next; ++k)
        if (live_change(all[k].what) == sign && of.voices[all[k].voice].learns) change(all[k], sign);
  }
}

// Each stage keeps at most so many microbatches at once. A rank runs its list in order, so the list alone
// decides.
constexpr list<std::int32_t> live_of_stages(const program& of) {
  list<std::int32_t> live(of.places.size(), 0), peak(of.places.size(), 0);
  each_live_change(of, 0, of.instructions.size(), [&](const instruction& each, int change) {
    const std::int32_t place = of.voices[each.voice].first_place + each.stage;
    live[place] += change;
    if (live[place] > peak[place]) peak[place] = live[place];
  });
  return peak;
}

// Of each stage, so many microbatches wait outside of the device's memory at once.
constexpr list<std::int32_t> offloaded_of_stages(const program& of) {
  list<std::int32_t> out(of.places.size(), 0), most(of.places.size(), 0);
  for (const instruction& each : of.instructions) {
    if (each.what != op::offload && each.what != op::fetch) continue;
    const std::int32_t place = of.voices[each.voice].first_place + each.stage;
    out[place] += each.what == op::offload ? 1 : -1;
    if (out[place] > most[place]) most[place] = out[place];
  }
  return most;
}

}  // namespace motet
