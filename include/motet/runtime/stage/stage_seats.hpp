// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/stage/stage_needs.hpp>
#include <motet/schedule/check/buffers.hpp>
#include <motet/schedule/core/live.hpp>

namespace motet {

// The seats of the microbatches of a voice's stage. A rank runs its list in order, so that list alone decides
// who can sit where somebody else sat before.
inline stage_seats seats_of_stage(const program& of, std::int32_t v, std::int32_t s,
                                  const buffer_counts& counts) {
  const voice& sings = of.voices[v];
  const isize place = sings.first_place + s;
  const std::int32_t begin = of.starts[of.places[place]], end = of.starts[of.places[place] + 1];
  const auto is_here = [&](const instruction& it) { return it.voice == v && it.stage == s; };
  stage_seats found;
  found.slots.assign(as_size(sings.microbatches), -1);
  found.back = found.slots;
  std::vector<std::uint8_t> taken(as_size(of.slots[place]), 0);
  each_live_change(of, begin, end, [&](const instruction& it, int change) {
    if (!is_here(it)) return;
    const auto m = as_size(it.microbatch);
    std::int32_t& own = (it.what == op::fetch || found.back[m] >= 0 ? found.back : found.slots)[m];
    if (change > 0) own = static_cast<std::int32_t>(std::find(taken.begin(), taken.end(), 0) - taken.begin());
    taken[as_size(own)] = change > 0 ? 1 : 0;
  });

  std::vector<std::int32_t> gives[3];  // as held_stage gives buffers back
  std::vector<std::uint8_t> replayed(found.slots.size(), 0);
  for (std::int32_t i = begin; i < end; ++i) {
    const instruction& it = of.instructions[i];
    if (!is_here(it)) continue;
    if (it.what == op::re_forward) replayed[as_size(it.microbatch)] = 1;
    if (it.what == op::forward_only || (it.what == op::forward && !sings.learns))
      gives[0].push_back(it.microbatch);
    if (it.what != op::backward && it.what != op::backward_weight) continue;
    gives[replayed[as_size(it.microbatch)]].push_back(it.microbatch);
    gives[2].push_back(it.microbatch);
  }
  for (int kind = 0; kind < 3; ++kind) {
    const list<std::int32_t>& turns = counts.turns[kind][place];
    const isize size = counts.in[kind][place];
    auto& seats = found.in[kind];
    seats.assign(found.slots.size(), {});
    for (isize k = 0; k < turns.size(); ++k) {
      const isize before = k - size;  // this give leaves a buffer to the microbatch
      const int buffer =
          before < 0 ? static_cast<int>(k) : seats[as_size(gives[kind][as_size(before)])].buffer;
      seats[as_size(turns[k])] = {buffer, std::max<isize>(0, before + 1)};
    }
  }
  return found;
}

}  // namespace motet
