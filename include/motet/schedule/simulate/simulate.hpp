// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/wait_for.hpp>
#include <motet/schedule/check/check.hpp>
#include <motet/schedule/core/costs.hpp>
#include <motet/schedule/simulate/shared_devices.hpp>

namespace motet {

// A timeline says when each instruction of a program runs: the result of a simulation and, in the same form,
// of a real run.
struct timeline {
  // Inside an instruction the rank waited for others of its groups.
  struct gap {
    std::int32_t instruction = 0;
    wait_for what = wait_for::rows;
    double start = 0, finish = 0;
  };
  list<double> start, finish;  // of each instruction
  // of each instruction the one that it began behind, across lanes and ranks; -1: nothing held it up
  list<std::int32_t> after;
  double makespan = 0;
  list<gap> gaps;  // that a real run was seen to have
};

class virtual_clock {
 public:
  constexpr virtual_clock(const program& of, const program_graph& graph, const cost_table& costs,
                          timeline& out)
      : of_(of), graph_(graph), costs_(costs), brings_(of), out_(out), rank_(ranks_of(of)) {
    const isize all = of.instructions.size();
    out.start.resize(all, 0);
    out.finish.resize(all, 0);
    out.after.resize(all, -1);
    previous_ = graph.previous_in_lane();
    const std::int32_t nodes = of.ranks() > 0 ? costs.wires.node(of.ranks() - 1) + 1 : 0;
    leaves_.resize(nodes, {});
    enters_.resize(nodes, {});
  }

  constexpr bool lasts(std::int32_t i) const { return devices_.has(i); }
  constexpr bool shares(std::int32_t i) const {
    if (devices_.has(i)) return true;
    const instruction& it = of_.instructions[i];
    // A rendezvous waits for whichever end comes last.
    const bool moves = is_send(it.what) || (is_receive(it.what) && graph_.meetings[i] >= 0);
    return moves && costs_.wires.node(rank_[i]) != costs_.wires.node(it.peer) &&
           costs_.wires.between.bytes_per_second > 0;
  }
  constexpr double earliest(std::int32_t i) const { return earliest_after(i).when; }

  constexpr void begin(std::int32_t lane, const std::int32_t* all, std::int32_t count) {
    shared_devices::work made;
    made.lane = lane;
    made.all.append(all, count);
    const moment begins = earliest_of(all, count);
    made.start = begins.when;
    made.behind = begins.behind;
    made.left = duration_of(all, count);
    devices_.begin(static_cast<shared_devices::work&&>(made));
  }
  constexpr double first_end() const { return devices_.first_end(); }
  constexpr std::int32_t end_first() {
    const shared_devices::work ended = devices_.end_first();
    note(ended.all.data(), static_cast<std::int32_t>(ended.all.size()), {ended.start, ended.behind},
         ended.end());
    return ended.lane;
  }

  constexpr void perform(const std::int32_t* all, std::int32_t count) {
    moment begins = earliest_of(all, count);
    double takes = duration_of(all, count), latency = 0;
    std::int32_t send = -1;
    for (std::int32_t k = 0; k < count; ++k)
      if (is_send(of_.instructions[all[k]].what)) send = all[k];
    if (send >= 0) {
      const instruction& it = of_.instructions[send];
      const wire way = costs_.between(rank_[send], it.peer);
      takes = way.seconds(costs_.bytes(of_, send, brings_));
      if (shares(send)) {
        link &out = leaves_[costs_.wires.node(rank_[send])], &in = enters_[costs_.wires.node(it.peer)];
        for (const link& each : {out, in})
          if (each.free > begins.when) begins = {each.free, each.last};
        out = in = {begins.when + takes, send};
      }
      // A rendezvous ends for both when the rows are there.
      if (graph_.meetings[send] >= 0) latency = way.latency;
    }
    note(all, count, begins, begins.when + takes + latency);
  }

 private:
  struct moment {
    double when = 0;
    std::int32_t behind = -1;
  };
  // A node's way out or in: when it is free, and which send has it until then.
  struct link {
    double free = 0;
    std::int32_t last = -1;
  };
  static constexpr list<std::int32_t> ranks_of(const program& of) {
    list<std::int32_t> ranks(of.instructions.size(), 0);
    for (std::int32_t r = 0; r < of.ranks(); ++r)
      for (std::int32_t i = of.starts[r]; i < of.starts[r + 1]; ++i) ranks[i] = r;
    return ranks;
  }
  constexpr void note(const std::int32_t* all, std::int32_t count, const moment& begins, double end) {
    for (std::int32_t k = 0; k < count; ++k) {
      const std::int32_t i = all[k];
      out_.start[i] = begins.when;
      out_.finish[i] = end;
      out_.after[i] = begins.behind == i ? -1 : begins.behind;
    }
    if (end > out_.makespan) out_.makespan = end;
  }
  constexpr moment earliest_of(const std::int32_t* all, std::int32_t count) const {
    moment begins;
    for (std::int32_t k = 0; k < count; ++k) begins = later(begins, earliest_after(all[k]));
    return begins;
  }
  // Members of a meeting work side by side, a pair adds up or takes the time that is known for it.
  constexpr double duration_of(const std::int32_t* all, std::int32_t count) const {
    double takes = 0;
    bool computes = false;
    for (std::int32_t k = 0; k < count; ++k) {
      const instruction& it = of_.instructions[all[k]];
      const double own = duration(all[k], it);
      takes = graph_.meetings[all[k]] >= 0 ? (own > takes ? own : takes) : takes + own;
      computes = computes || is_compute(it.what);
    }
    if (count > 1 && computes && costs_.overlapped > 0 && graph_.meetings[all[0]] < 0)
      return costs_.overlapped / of_.voices[of_.instructions[all[0]].voice].chunks * costs_.stretch(all[0]);
    return takes;
  }
  static constexpr moment later(const moment& a, const moment& b) {
    return b.when > a.when || a.behind < 0 ? b : a;
  }

  constexpr moment earliest_after(std::int32_t i) const {
    moment found;
    if (previous_[i] >= 0) found = {out_.finish[previous_[i]], previous_[i]};
    for (const std::int32_t each : graph_.waits_of(i)) {
      if (each < 0) continue;
      double there = out_.finish[each];
      const instruction& other = of_.instructions[each];
      if (is_receive(of_.instructions[i].what) && is_send(other.what))
        there += costs_.between(rank_[each], rank_[i]).latency;
      if (there > found.when || found.behind < 0) found = {there, each};
    }
    return found;
  }
  constexpr double duration(std::int32_t i, const instruction& it) const {
    return costs_.seconds(of_, it) * costs_.stretch(i);
  }

  const program& of_;
  const program_graph& graph_;
  const cost_table& costs_;
  message_shares brings_;
  timeline& out_;
  list<std::int32_t> previous_;
  list<std::int32_t> rank_;  // of each instruction
  shared_devices devices_{of_, graph_, costs_, rank_};
  list<link> leaves_, enters_;  // of each node
};

// Plays a program in virtual time. A program that check() refuses is refused here too, and the timeline is
// then empty.
// Asks for: a program that check() passes, and the costs of its stages.
// Memory: start, end and cause of each instruction.
// Errors: MT-P01, MT-P04, MT-P06, MT-P11, MT-P20, MT-P21, MT-P22, MT-P23, MT-P24, MT-P25, MT-P26, MT-P28,
// MT-P29, MT-P30, MT-P31, MT-P32, MT-P33, MT-P34, MT-P35, MT-P36, MT-P37, MT-P38
// Example:
//   #include <motet/schedule/core/compile.hpp>
//   #include <motet/schedule/write/one_f_one_b.hpp>
//   double seconds() {
//     const program steps = compile(one_f_one_b::write({.stages = 4, .microbatches = 8}));
//     timeline when;
//     simulate(steps, even_costs(steps, {.forward = 2, .backward_input = 2, .backward_weight = 1}), when);
//     return when.makespan;
//   }
constexpr finding simulate(const program& of, const cost_table& costs, timeline& out,
                           delivery how = delivery::buffered) {
  out = {};
  program_graph graph;
  if (const finding found = build_graph(of, how, graph); !found.ok()) return found;
  virtual_clock clock(of, graph, costs, out);
  program_player<virtual_clock> player(of, graph, clock);
  if (player.run()) return {};
  out = {};
  return deadlock_of(of, player.stuck());
}

}  // namespace motet
