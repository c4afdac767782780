// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <motet/format/json_write.hpp>
#include <motet/schedule/place/fill.hpp>

// A schedule with an encoder in its gaps.
namespace motet::explorer {

// Adds an encoder to a score, whose copies lie behind one another on the devices and feed its microbatches in
// turn.
inline score with_encoder(const score& from, const settings& given) {
  score out;
  for (voice made : from.voices()) {
    const voice old = made;
    made.name = "model";
    out.add(made, [&](int s) { return from.place(old, s); });
  }
  const int copies = given.numbers.stages / given.fill.stages;
  const auto first = static_cast<std::int32_t>(out.voices().size());
  for (int copy = 0; copy < copies; ++copy) {
    voice made;
    made.name = "encoder";
    made.module = 1;
    made.replica = copy;
    made.stages = given.fill.stages;
    made.microbatches = given.numbers.microbatches / copies;
    out.add(made, [&](int s) { return copy * given.fill.stages + s; });
  }
  for (std::int32_t m = 0; m < given.numbers.microbatches; ++m)
    out.feed({first + m % copies, m / copies, 0, m});
  for (std::int32_t r = 0; r < from.ranks(); ++r) {
    out.rank();
    for (std::int32_t i = from.begin_of(r); i < from.end_of(r); ++i) {
      const cue each = from[i];
      out.play(each.what, each.voice, each.stage, each.microbatch);
      if (each.paired) out.pair_with_next();
    }
  }
  return out;
}

inline void put_encoder_costs(cost_table& to, const program& of, const settings& given) {
  const double stages = given.fill.stages;
  for (const voice& each : of.voices)
    for (std::int32_t s = 0; each.module == 1 && s < each.stages; ++s)
      to.stages[each.first_place + s] = {given.fill.forward / stages, given.fill.backward / stages, 0};
}

inline filled_score filled(const score& order, const cost_table& costs, const settings& given) {
  filling how;
  how.modules = {0, 1};
  how.costs = costs;
  how.room = given.fill.room;
  filled_score found;
  if (const verdict broken = fill_gaps(order, how, found); !broken.ok()) refuse_numbers(given, broken);
  return found;
}

inline json told(const filled_score& found) {
  const double longer = found.seconds - found.alone_seconds;
  return json{{"alone", found.alone_seconds},
              {"filled", found.seconds},
              {"encoder", found.filler_seconds},
              {"in_gaps", std::max(0.0, 1 - longer / found.filler_seconds)}};
}

}  // namespace motet::explorer
