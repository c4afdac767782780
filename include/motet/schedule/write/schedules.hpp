// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/live.hpp>
#include <motet/schedule/core/messages.hpp>
#include <motet/schedule/core/rules.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/dualpipe_v.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/v_pattern.hpp>
#include <motet/schedule/write/zb_auto.hpp>
#include <motet/schedule/write/zb_v.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include <string>
#include <string_view>
#include <type_traits>

// Schedules by name: what command lines and files choose from.

namespace motet {

// The numbers of any schedule. A number that one does not have stays as it is here.
struct schedule_options {
  int stages = 4;  // devices
  int microbatches = 8;
  int chunks = 0;  // on each device; 0: what the schedule is made for
  // most microbatches that a device may keep; 0: as many as the schedule likes
  int memory = 0;
  int group = 0;                  // batch_sync: microbatches for each loss; 0: all
  int stash = -1;                 // of them kept from their first forward; -1: all
  int ahead = 0;                  // forwards more than needed before each backward
  list<tower_shape> towers = {};  // batch_sync: if there are any, they stand for all numbers above
  step_times times = {};          // for schedules that are tuned to them

  constexpr pipeline_shape pipeline() const {
    return {.stages = stages, .microbatches = microbatches, .chunks = chunks, .memory = memory};
  }
  constexpr tower_shape tower() const {
    return {.stages = stages, .microbatches = microbatches, .group = group, .stash = stash, .ahead = ahead};
  }
};

template <class... Schedules>
struct schedule_list {
  // Calls visit(schedule) for the one with this name; false if there is none.
  template <class Visit>
  static constexpr bool visit(std::string_view name, Visit visit) {
    return ((name == Schedules::name && (visit(Schedules{}), true)) || ...);
  }
  template <class Visit>
  static constexpr void each(Visit visit) {
    (visit(Schedules{}), ...);
  }
};
using all_schedules = schedule_list<gpipe, one_f_one_b, interleaved, zb_h1, zb_h2, zb_v, v_half, v_min,
                                    zb_auto, dualpipe_v, batch_sync>;

namespace detail {

constexpr batch_sync::shape towers_of(const schedule_options& from) {
  batch_sync::shape out;
  out.count = from.towers.empty() ? 1 : static_cast<int>(from.towers.size());
  for (int k = 0; k < least(out.count, batch_sync::most_towers); ++k)
    out.towers[k] = from.towers.empty() ? from.tower() : from.towers[k];
  return out;
}
template <class Schedule>
constexpr verdict check_numbers(const schedule_options& from) {
  if constexpr (std::is_same_v<Schedule, batch_sync>) return batch_sync::check(towers_of(from));
  else return Schedule::check(from.pipeline());
}
template <class Schedule>
constexpr score write_numbers(const schedule_options& from) {
  if constexpr (std::is_same_v<Schedule, batch_sync>) return batch_sync::write(towers_of(from));
  else if constexpr (requires { Schedule::write(from.pipeline(), from.times); })
    return Schedule::write(from.pipeline(), from.times);
  else return Schedule::write(from.pipeline());
}

// Microbatches that the fullest device keeps, in whole devices.
constexpr int most_kept(const score& of) {
  double most = 0;
  for (std::int32_t r = 0; r < of.ranks(); ++r) {
    double live = 0;
    for (std::int32_t i = of.begin_of(r); i < of.end_of(r); ++i) {
      const cue each = of[i];
      if (each.what == op::join) continue;
      live += static_cast<double>(live_change(each.what)) / of.voices()[each.voice].chunks;
      most = live > most ? live : most;
    }
  }
  return static_cast<int>(most + 0.999);
}

}  // namespace detail

// "gpipe, 1f1b, ...".
inline std::string schedule_names() {
  std::string out;
  all_schedules::each([&](auto each) { out += (out.empty() ? "" : ", ") + std::string(each.name); });
  return out;
}

constexpr bool is_schedule(std::string_view name) {
  return all_schedules::visit(name, [](auto) {});
}

// A number that was given and that the schedule does not have; empty if there is none.
constexpr std::string_view option_without_use(std::string_view name, const schedule_options& from) {
  if (name == batch_sync::name) return from.chunks > 1 ? "chunks" : "";
  return from.group != 0        ? "group"
         : from.stash != -1     ? "stash"
         : from.ahead != 0      ? "ahead"
         : !from.towers.empty() ? "towers"
                                : "";
}

// Writes the order of a schedule, or returns the verdict on numbers that do not fit it. A memory limit holds
// for every schedule: one that cannot keep to it is refused.
inline verdict write_schedule(std::string_view name, const schedule_options& from, score& out) {
  verdict found;
  const bool known = all_schedules::visit(name, [&]<class Schedule>(Schedule) {
    found = detail::check_numbers<Schedule>(from);
    if (found.ok()) out = detail::write_numbers<Schedule>(from);
  });
  if (!known) fail(no_such_schedule, "\"" + std::string(name) + "\"; there are " + schedule_names());
  if (const std::string_view unused = option_without_use(name, from); !unused.empty())
    fail(schedule_lacks_option, std::string(name) + " has no " + std::string(unused));
  if (found.ok() && from.memory > 0) {
    const int needed = detail::most_kept(out);
    if (needed > from.memory) found = {reason::too_little_memory, 3, from.memory, needed};
  }
  return found;
}
// Writes the order of the schedule that is called so; numbers that do not fit it are an error.
// Asks for: a name that schedule_names() tells, and no option that this schedule lacks.
// Memory: the score: a number for each computation.
// Errors: MT-P01, MT-P02, MT-P03, MT-P04, MT-P05, MT-P06, MT-P07, MT-P10, MT-P11, MT-P60, MT-P61
// Example:
//   const score order = write_schedule("zb_v", {.stages = 4, .microbatches = 8});
inline score write_schedule(std::string_view name, const schedule_options& from) {
  score out;
  enforce(write_schedule(name, from, out), std::string(name));
  return out;
}

// Times as whole numbers with the same ratios, as good as three digits allow.
constexpr step_times whole_times(double forward, double backward_input, double backward_weight,
                                 double transfer) {
  const double times[] = {forward, backward_input, backward_weight, transfer};
  double unit = 0, longest = 0;
  for (const double each : times) {
    if (each > 0 && (unit == 0 || each < unit)) unit = each;
    if (each > longest) longest = each;
  }
  if (unit == 0) return {};
  if (longest > 1000000 * unit) unit = longest / 1000000;
  const auto whole = [&](double time, int parts) { return static_cast<isize>(time / unit * parts + 0.5); };
  const double most_parts = 1000000 * unit / longest < 1000 ? 1000000 * unit / longest : 1000;
  int parts = 1;
  for (bool fits = false; parts < most_parts && !fits; parts += fits ? 0 : 1) {
    fits = true;
    for (const double each : times) {
      const double off = each / unit * parts - static_cast<double>(whole(each, parts));
      fits = fits && off < 1e-6 && off > -1e-6;
    }
  }
  const auto part = [&](double time) { return static_cast<int>(whole(time, parts)); };
  return {part(forward), part(backward_input), part(backward_weight), part(transfer)};
}

}  // namespace motet
