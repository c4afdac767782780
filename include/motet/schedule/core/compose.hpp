// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/program.hpp>
#include <motet/schedule/core/score.hpp>

namespace motet {

// The voices of two scores as different modules, the second one's ranks behind the first one's.
// Asks for: two scores; prove() says whether what comes out can be played.
// Memory: a new score, as long as both.
// Errors: none of its own.
// Example:
//   #include <motet/schedule/write/gpipe.hpp>
//   const score one = gpipe::write({.stages = 2, .microbatches = 4});
//   const score both = joined(beside(one, one), 1);
constexpr score beside(const score& first, const score& second) {
  score out;
  std::int32_t modules = 0;
  for (const voice& each : first.voices()) modules = each.module >= modules ? each.module + 1 : modules;
  const auto copy = [&out](const score& from, std::int32_t rank, std::int32_t module, std::int32_t join) {
    const auto voices = static_cast<std::int32_t>(out.voices().size());
    for (voice each : from.voices()) {
      const voice& old = from.voices()[out.voices().size() - voices];
      each.module += module;
      if (each.join >= 0) each.join += join;
      out.add(each, [&](int stage) { return rank + from.place(old, stage); });
    }
    return voices;
  };
  const auto play = [&out](const score& from, std::int32_t voices, std::int32_t joins) {
    for (std::int32_t r = 0; r < from.ranks(); ++r) {
      out.rank();
      for (std::int32_t i = from.begin_of(r); i < from.end_of(r); ++i) {
        const cue each = from[i];
        if (each.what == op::join) out.join(joins + each.voice, each.microbatch, each.aside);
        else out.play(each.what, voices + each.voice, each.stage, each.microbatch);
        if (each.paired) out.pair_with_next();
      }
    }
  };
  const auto feed = [&out](const score& from, std::int32_t voices) {
    for (fed_cell each : from.feeds()) {
      each.from += voices;
      each.to += voices;
      out.feed(each);
    }
  };
  const std::int32_t of_first = copy(first, 0, 0, 0),
                     of_second = copy(second, first.ranks(), modules, first.joins());
  feed(first, of_first);
  feed(second, of_second);
  play(first, of_first, 0);
  play(second, of_second, first.joins());
  return out;
}

// All voices meet in one loss for every `groups`-th part of their microbatches, right behind the forward that
// completes it. An order that begins the backward of a group before its last forward does not allow that;
// prove() says so.
constexpr score joined(const score& from, int groups) {
  score out;
  for (voice each : from.voices()) {
    const voice old = each;
    each.join = 0;
    each.group = each.microbatches / groups;
    out.add(each, [&](int stage) { return from.place(old, stage); });
  }
  for (const fed_cell& each : from.feeds()) out.feed(each);
  for (std::int32_t r = 0; r < from.ranks(); ++r) {
    out.rank();
    list<std::int32_t> ran(from.voices().size(), 0);
    std::int32_t met = 0;
    for (std::int32_t i = from.begin_of(r); i < from.end_of(r); ++i) {
      const cue each = from[i];
      out.play(each.what, each.voice, each.stage, each.microbatch);
      if (each.paired) out.pair_with_next();
      if ((each.what == op::forward || each.what == op::forward_only) &&
          each.stage + 1 == out.voices()[each.voice].stages)
        ++ran[each.voice];
      if (each.paired) continue;
      // A rank with several last stages meets the others when all of its own are there.
      bool member = false, complete = true;
      for (isize v = 0; v < ran.size(); ++v) {
        const voice& other = out.voices()[v];
        if (from.place(other, other.stages - 1) != r) continue;
        member = true;
        complete = complete && ran[v] >= (met + 1) * other.group;
      }
      if (member && complete && met < groups) out.join(0, met++);
    }
  }
  return out;
}

// A module does not learn: its microbatches go forward once, and nothing comes back.
constexpr score without_backward(const score& from, int module) {
  score out;
  for (voice each : from.voices()) {
    const voice old = each;
    each.learns = each.learns && each.module != module;
    out.add(each, [&](int stage) { return from.place(old, stage); });
  }
  for (const fed_cell& each : from.feeds()) out.feed(each);
  const auto stays = [&](const cue& each) {
    return each.what == op::join || out.voices()[each.voice].learns || each.what == op::forward ||
           each.what == op::forward_only;
  };
  for (std::int32_t r = 0; r < from.ranks(); ++r) {
    out.rank();
    bool open = false;  // the cue before is paired with what comes
    for (std::int32_t i = from.begin_of(r); i < from.end_of(r); ++i) {
      const cue each = from[i];
      const bool pairs = each.paired;
      if (stays(each)) {
        if (open) out.pair_with_next();
        if (each.what == op::join) out.join(each.voice, each.microbatch, each.aside);
        else out.play(each.what, each.voice, each.stage, each.microbatch);
        open = pairs;
      } else {
        open = open && pairs;
      }
    }
  }
  return out;
}

// Names the voices, for messages and pictures.
constexpr program named_voices(program of, const list<label>& names) {
  for (voice& each : of.voices)
    if (each.module < names.size()) each.name = names[each.module];
  return of;
}

}  // namespace motet
