// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/check/list_player.hpp>
#include <motet/schedule/check/lists.hpp>
#include <motet/schedule/check/play.hpp>
#include <motet/schedule/core/rules.hpp>

namespace motet {

// One step of a cycle: this instruction cannot begin before that one is done.
struct blocked {
  std::int32_t at = -1;
  std::int32_t waits_for = -1;
};

struct check_result {
  finding found;
  list<blocked> cycle;  // for a deadlock: each waits for the next one's rank, the last for the first's
  constexpr bool ok() const { return found.ok(); }
  constexpr verdict brief() const { return {found.why, found.rank, found.at, found.other}; }
};

constexpr finding deadlock_of(const program& of, const list<stuck_lane>& stuck) {
  return {reason::deadlock, of.rank_of(stuck[0].at), stuck[0].at, stuck[0].waits_for, stuck.size(), 0};
}

namespace detail {

// Each stuck lane waits for an instruction of another, whose head waits in turn: following this from anywhere
// ends in a cycle.
constexpr list<blocked> find_cycle(const program& of, const program_graph& graph,
                                   const list<stuck_lane>& stuck) {
  const auto lane_of = [&](std::int32_t i) { return isize{of.rank_of(i)} * 256 + of.instructions[i].lane; };
  list<std::int32_t> heads(isize{of.ranks()} * 256, -1), absent(graph.meeting_sizes.size(), -1);
  list<std::uint8_t> there(of.instructions.size(), 0);
  for (isize k = 0; k < stuck.size(); ++k) {
    heads[lane_of(stuck[k].at)] = static_cast<std::int32_t>(k);
    there[stuck[k].at] = stuck[k].waits_for < 0 ? 1 : 0;
  }
  // A member of a meeting waits for one that is not there yet.
  for (isize i = 0; i < of.instructions.size(); ++i)
    if (graph.meetings[i] >= 0 && there[i] == 0) absent[graph.meetings[i]] = static_cast<std::int32_t>(i);
  list<blocked> path;
  list<std::int32_t> seen(stuck.size(), -1);
  for (std::int32_t now = 0; now >= 0 && seen[now] < 0;) {
    const std::int32_t wanted =
        stuck[now].waits_for >= 0 ? stuck[now].waits_for : absent[graph.meetings[stuck[now].at]];
    seen[now] = static_cast<std::int32_t>(path.size());
    path.push({stuck[now].at, wanted});
    now = wanted < 0 ? -1 : heads[lane_of(wanted)];
    if (now < 0) return path;
    if (seen[now] < 0) continue;
    list<blocked> cycle;
    cycle.append(path.data() + seen[now], path.size() - seen[now]);
    return cycle;
  }
  return {};
}

// Whether all ranks come to their ends, and if not, who waits for whom. The graph is that of buffered
// messages, without lanes.
constexpr check_result play_program(const program& of, delivery how, const program_graph& read) {
  if (list_player(of, read).run()) return {};
  program_graph graph = read;
  if (how == delivery::rendezvous) meet_in_messages(of, graph);
  put_lanes(of, graph);
  no_clock clock;
  program_player<no_clock> player(of, graph, clock);
  if (player.run()) return {};
  const list<stuck_lane> stuck = player.stuck();
  return {deadlock_of(of, stuck), find_cycle(of, graph, stuck)};
}

}  // namespace detail

// Proves a program: every list complete and in a possible order, messages matched, meetings in one order,
// slots kept, updates last, and no rank ever waiting for itself by way of others. Rendezvous is the stricter
// delivery: what passes it hangs on no transport.
// Asks for: a program, from compile(), a file or by hand.
// Memory: some numbers for each instruction, given back at the end.
// Errors: MT-P01, MT-P04, MT-P06, MT-P11, MT-P20, MT-P21, MT-P22, MT-P23, MT-P24, MT-P25, MT-P26, MT-P28,
// MT-P29, MT-P30, MT-P31, MT-P32, MT-P33, MT-P34, MT-P35, MT-P36, MT-P37, MT-P38
// Example:
//   #include <motet/schedule/core/compile.hpp>
//   bool hangs_with_one_queue(const score& order) {
//     return !check(compile(order, {.carried = messages::in_compute})).ok();
//   }
constexpr check_result check(const program& of, delivery how = delivery::rendezvous) {
  program_graph graph;
  check_result result{detail::read_program(of, graph), {}};
  if (result.ok()) result = detail::play_program(of, how, graph);
  return result;
}
// It also says who waits for whom, as build_graph() does for buffered messages.
constexpr check_result check(const program& of, delivery how, program_graph& buffered) {
  check_result result{detail::read_program(of, buffered), {}};
  if (!result.ok()) return result;
  result = detail::play_program(of, how, buffered);
  detail::put_lanes(of, buffered);
  return result;
}

}  // namespace motet
