// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/place/score_turns.hpp>

#include <numeric>

namespace motet::detail {

constexpr bool fills(const score& of, const filling& how, std::int32_t v) {
  return of.voices()[v].module < how.modules.size() && how.modules[of.voices()[v].module] != 0;
}
constexpr bool fills(const score& of, const filling& how, const cue& it) {
  if (it.what != op::join) return fills(of, how, it.voice);
  for (std::int32_t v = 0; v < of.voices().size(); ++v)
    if (of.voices()[v].join == it.voice) return fills(of, how, v);
  return false;
}
// Some of what fills waits for rows that the others make.
constexpr bool stands_behind(const score& of, const filling& how) {
  for (const fed_cell& each : of.feeds())
    if (fills(of, how, each.to) && !fills(of, how, each.from)) return true;
  return false;
}
// Losses go with the forwards that they stand behind.
constexpr bool goes_forward(const cue& it) { return is_forward(it.what) || it.what == op::join; }

// The parts in which forwards may go ahead: of each rank's as many, so that what ranks are to each other
// stays.
constexpr std::int32_t most_ahead(const score& of, const filling& how) {
  std::int32_t parts = 0;
  for (std::int32_t r = 0; r < of.ranks(); ++r) {
    std::int32_t own = 0;
    for (std::int32_t i = of.begin_of(r); i < of.end_of(r); ++i) {
      const cue each = of[i];
      own += is_forward(each.what) && !fills(of, how, each) ? 1 : 0;
    }
    parts = std::gcd(parts, own);
  }
  return parts;
}

// The same score in which every backward of the others has more forwards before it, by so many of
// most_ahead() parts of its rank's; with all of them, all forwards come first. Forwards keep their order, and
// so do backwards; none of them overlap. What fills is left out.
constexpr score forwards_ahead(const score& of, const filling& how, std::int32_t parts) {
  const std::int32_t most = most_ahead(of, how);
  score out;
  for (const voice& each : of.voices()) out.add(each, [&](int s) { return of.place(each, s); });
  out.feed_as(of.feeds());
  const auto play = [&](const cue& each) {
    if (each.what == op::join) out.join(each.voice, each.microbatch, each.aside);
    else out.play(each.what, each.voice, each.stage, each.microbatch);
  };
  for (std::int32_t r = 0; r < of.ranks(); ++r) {
    out.rank();
    list<cue> forwards, others;
    list<std::int32_t> before;  // forwards in front of each backward
    std::int32_t ran = 0;
    for (std::int32_t i = of.begin_of(r); i < of.end_of(r); ++i) {
      const cue each = of[i];
      if (fills(of, how, each)) continue;
      ran += is_forward(each.what) ? 1 : 0;
      if (goes_forward(each)) {
        forwards.push(each);
      } else {
        others.push(each);
        before.push(ran);
      }
    }
    const std::int32_t ahead = most > 0 ? ran / most * parts : 0;
    isize next = 0;
    std::int32_t played = 0;
    const auto forward_to = [&](std::int32_t wanted) {
      for (; next < forwards.size() && (played < wanted || forwards[next].what == op::join); ++next) {
        play(forwards[next]);
        played += forwards[next].what == op::join ? 0 : 1;
      }
    };
    for (isize k = 0; k < others.size(); ++k) {
      forward_to(before[k] + ahead);
      play(others[k]);
    }
    forward_to(ran);
  }
  return out;
}

}  // namespace motet::detail
