// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/simulate/simulate.hpp>

namespace motet {

// Finds how late every forward of a program may start, and the messages with it, so that no backward is later
// than it is: the end is the same, and whoever feeds it has time until then. All other instructions have
// their start. `times` are those that simulate() found with these costs.
constexpr list<double> defer_forwards(const program& of, const cost_table& costs, const timeline& times,
                                      delivery how = delivery::buffered) {
  list<double> latest = times.start;
  program_graph graph;
  if (!build_graph(of, how, graph).ok()) return latest;
  const list<std::int32_t> previous = graph.previous_in_lane();
  // Instructions that overlap start together, mostly with a backward.
  list<std::uint8_t> overlaps(of.instructions.size(), 0);
  for (isize i = 0; i < of.instructions.size(); ++i)
    if (of.instructions[i].paired) overlaps[i] = overlaps[i + 1] = 1;
  const auto moves = [&](isize i) {
    const op what = of.instructions[i].what;
    if (overlaps[i] != 0) return false;
    return is_forward(what) || message_kind(what) == 0 || message_kind(what) == 1;
  };
  // The instructions that come directly behind each.
  list<std::int32_t> followers(of.instructions.size(), 0), ready;
  const auto each_before = [&](std::int32_t i, auto&& visit) {
    if (previous[i] >= 0) visit(previous[i]);
    for (const std::int32_t each : graph.waits_of(i))
      if (each >= 0 && each != previous[i]) visit(each);
  };
  for (std::int32_t i = 0; i < of.instructions.size(); ++i)
    each_before(i, [&](std::int32_t k) { ++followers[k]; });
  constexpr double any = 1e300;
  for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
    if (moves(i)) latest[i] = any;
    if (followers[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const std::int32_t i = ready.back();
    ready.pop();
    if (moves(i) && latest[i] == any) latest[i] = times.start[i];  // nothing comes behind
    each_before(i, [&](std::int32_t k) {
      if (moves(k)) {
        const instruction& it = of.instructions[i];
        const double way = is_receive(it.what) && is_send(of.instructions[k].what)
                               ? costs.between(of.rank_of(k), it.peer).latency
                               : 0;
        const double start = latest[i] - way - (times.finish[k] - times.start[k]);
        if (start < latest[k]) latest[k] = start;
      }
      if (--followers[k] == 0) ready.push(k);
    });
  }
  return latest;
}

}  // namespace motet
