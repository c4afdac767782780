// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/ranks/executor.hpp>

#include <string>

namespace motet {

// A lane that is not through: its next instruction, and those that this one waits for.
struct blocked_lane {
  std::int32_t head = -1;
  std::vector<std::int32_t> on;
};

// each_lane(visit) calls visit(begin, at, end) for the lanes that can be seen, as rank_player does; what
// other ranks did is not known.
template <class EachLane>
std::vector<blocked_lane> blocked_lanes(const score_sheet& sheet, EachLane&& each_lane) {
  const program& of = sheet.of;
  std::vector<bool> done(as_size(of.instructions.size()), false), reached = done;
  each_lane([&](std::int32_t begin, std::int32_t at, std::int32_t end) {
    for (std::int32_t p = begin; p < at; ++p) done[as_size(sheet.graph.order[p])] = true;
    if (at < end) reached[as_size(sheet.graph.order[at])] = true;
  });
  std::vector<blocked_lane> found;
  each_lane([&](std::int32_t, std::int32_t at, std::int32_t end) {
    if (at == end) return;
    blocked_lane own{sheet.graph.order[at], {}};
    for (const std::int32_t each : sheet.graph.waits_of(own.head))
      if (each >= 0 && !done[as_size(each)]) own.on.push_back(each);
    const std::int32_t meeting = sheet.graph.meetings[own.head];
    for (std::int32_t i = 0; meeting >= 0 && i < of.instructions.size(); ++i)
      if (sheet.graph.meetings[i] == meeting && !done[as_size(i)] && !reached[as_size(i)])
        own.on.push_back(i);
    found.push_back(std::move(own));
  });
  return found;
}

// "rank 0, instruction 7 (...) waits for rank 1, instruction 12 (...)".
inline std::string describe(const program& of, const blocked_lane& lane) {
  std::string text = locate(of, lane.head);
  for (std::size_t i = 0; i < lane.on.size(); ++i)
    text += (i == 0 ? " waits for " : " and ") + locate(of, lane.on[i]);
  if (!lane.on.empty()) return text;
  return text + (of.instructions[lane.head].what == op::optimizer_step
                     ? " may wait for the others that update"
                     : " waits for nothing");
}
// Says who waits for whom, a line for each lane that is not through.
template <class EachLane>
std::string who_waits(const score_sheet& sheet, EachLane&& each_lane) {
  std::string text;
  for (const blocked_lane& each : blocked_lanes(sheet, each_lane)) text += "\n  " + describe(sheet.of, each);
  return text;
}

}  // namespace motet
