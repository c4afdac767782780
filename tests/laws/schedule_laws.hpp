// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/check/explain.hpp>
#include <motet/schedule/check/prove.hpp>
#include <motet/schedule/core/shape.hpp>
#include <motet/schedule/simulate/analyse.hpp>

#include "schedule_oracle.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

// Every schedule must hold to these laws. A test names a schedule and its shapes; check_schedule does the
// rest.
namespace motet::laws {

// The standard fixes this generator's numbers, but not those of its distributions.
class dice {
 public:
  explicit dice(std::uint64_t seed) : draw_(seed) {}
  int below(isize end) { return static_cast<int>(draw_() % static_cast<std::uint64_t>(end)); }
  int between(int first, int last) {
    return static_cast<int>(
        first + static_cast<isize>(draw_() % static_cast<std::uint64_t>(isize{last} - first + 1)));
  }
  double part() { return static_cast<double>(draw_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 draw_;
};

inline double sum(const list<double>& of) {
  double total = 0;
  for (const double each : of) total += each;
  return total;
}

// The order of every rank, counted cue by cue.
inline void check_order(const score& written) {
  // of each voice, stage, microbatch: forwards, kept, input parts, weight parts, replays
  std::map<std::array<int, 3>, std::array<int, 5>> seen;
  for (int r = 0; r < written.ranks(); ++r) {
    for (int i = written.begin_of(r); i < written.end_of(r); ++i) {
      const cue it = written[i];
      if (it.what == op::join) continue;
      REQUIRE(written.place(written.voices()[it.voice], it.stage) == r);
      auto& [forwards, kept, inputs, weights, replays] = seen[{it.voice, it.stage, it.microbatch}];
      if (it.what == op::forward || it.what == op::forward_only) ++forwards;
      if (it.what == op::forward || it.what == op::re_forward) ++kept;
      if (it.what == op::re_forward) ++replays;
      if (it.what == op::backward || it.what == op::backward_input) ++inputs;
      if (it.what == op::backward || it.what == op::backward_weight) ++weights;
      REQUIRE((forwards == 1 && kept <= 1 && inputs <= kept && weights <= inputs));
    }
  }
  isize cells = 0;
  for (const auto& [where, counts] : seen) {
    REQUIRE((counts[0] == 1 && counts[1] == 1 && counts[2] == 1 && counts[3] == 1));
    ++cells;
  }
  REQUIRE(cells == written.cells());
}

// On every channel, what is sent k-th is received k-th.
inline void check_messages(const program& of) {
  std::map<std::array<int, 3>, std::vector<int>> sent, received;  // kind, voice, boundary
  for (int r = 0; r < of.ranks(); ++r) {
    for (const instruction& it : of.role(r)) {
      if (!is_transfer(it.what)) continue;
      const bool replays = it.what == op::send_replay || it.what == op::receive_replay;
      const bool backwards = it.what == op::send_backward || it.what == op::receive_backward;
      const int boundary = it.stage - (is_send(it.what) == backwards ? 1 : 0);
      (is_send(it.what) ? sent : received)[{backwards ? 2
                                            : replays ? 1
                                                      : 0,
                                            it.voice, boundary}]
          .push_back(it.microbatch);
    }
  }
  CHECK(sent == received);
}

// Whoever follows the graph in any order meets every need: ranks run at random here, and the oracle says what
// each instruction needs.
inline void check_waits(const program& of, delivery how, std::uint64_t seed) {
  program_graph graph;
  REQUIRE(build_graph(of, how, graph).ok());
  const oracle meaning(of, how);
  REQUIRE(meaning.legal());
  dice draw(seed);
  const auto lanes = static_cast<int>(graph.lane_ranks.size());
  std::vector<int> at(graph.lane_starts.begin(), graph.lane_starts.end());
  std::vector<bool> done(static_cast<std::size_t>(of.instructions.size()));
  // lanes that have arrived
  std::vector<std::vector<int>> there(static_cast<std::size_t>(graph.meeting_sizes.size()));
  std::vector<bool> arrived(static_cast<std::size_t>(lanes));
  isize left = of.instructions.size();
  const auto run = [&](int i) {
    for (const int each : meaning.needs(i))
      REQUIRE_MESSAGE(done[static_cast<std::size_t>(each)], locate(of, i) << " before " << locate(of, each));
    done[static_cast<std::size_t>(i)] = true;
    --left;
  };
  int idle = 0;
  while (left > 0) {
    const int l = draw.below(lanes);
    const auto own = static_cast<std::size_t>(l);
    REQUIRE(++idle < 1000 * lanes);
    if (at[own] == graph.lane_starts[l + 1] || arrived[own]) continue;
    int last = at[own];
    while (of.instructions[graph.order[last]].paired) ++last;
    bool ready = true;
    for (int p = at[own]; p <= last; ++p)
      for (const int each : graph.waits_of(graph.order[p]))
        ready = ready && (each < 0 || done[static_cast<std::size_t>(each)]);
    if (!ready) continue;
    idle = 0;
    const int meeting = graph.meetings[graph.order[at[own]]];
    if (meeting < 0) {
      // Instructions that overlap begin together.
      for (int p = last; p >= at[own]; --p) run(graph.order[p]);
      at[own] = last + 1;
      continue;
    }
    auto& members = there[static_cast<std::size_t>(meeting)];
    members.push_back(l);
    arrived[own] = true;
    if (static_cast<int>(members.size()) < graph.meeting_sizes[meeting]) continue;
    for (const int each : members) {
      run(graph.order[at[static_cast<std::size_t>(each)]++]);
      arrived[static_cast<std::size_t>(each)] = false;
    }
  }
}

inline list<double*> numbers_of(cost_table& costs) {
  list<double*> all;
  for (stage_cost& each : costs.stages)
    for (double* const one : {&each.forward, &each.backward_input, &each.backward_weight, &each.forward_bytes,
                              &each.backward_bytes})
      all.push(one);
  for (double& each : costs.joins) all.push(&each);
  for (double* const one :
       {&costs.reduction, &costs.update, &costs.wires.inside.latency, &costs.wires.between.latency})
    all.push(one);
  return all;
}
inline cost_table random_costs(const program& of, dice& draw, bool transfers) {
  cost_table made = even_costs(of, {}, draw.part());
  for (stage_cost& each : made.stages)
    each = {.2 + draw.part(),
            .2 + draw.part(),
            .2 + draw.part(),
            draw.part(),
            transfers ? draw.part() : 0,
            transfers ? draw.part() : 0};
  made.update = made.reduction = .1 * draw.part();
  if (transfers) made.wires = {{.1 * draw.part(), 5}, {.3 * draw.part(), 5}, 0};
  return made;
}

// A score, compiled, simulated and analysed.
struct rehearsed {
  program of;
  cost_table costs;
  timeline when;
  analysis found;
  double bubble(int rank) const { return when.makespan - found.ranks[rank].busy; }
  double most_live() const {
    double most = 0;
    for (const double each : found.peak_live) most = each > most ? each : most;
    return most;
  }
};
inline rehearsed rehearse(const program& of, const cost_table& costs, delivery how = delivery::buffered) {
  rehearsed made{of, costs, {}, {}};
  const finding found = simulate(of, costs, made.when, how);
  REQUIRE_MESSAGE(found.ok(), explain(of, found));
  made.found = analyse(of, costs, made.when);
  return made;
}
inline rehearsed rehearse(const score& of, const stage_cost& device, double join = 0,
                          delivery how = delivery::buffered) {
  const program made = compile(of);
  return rehearse(made, even_costs(made, device, join), how);
}

inline double makespan_of(const program& of, const cost_table& costs, delivery how = delivery::buffered) {
  timeline when;
  REQUIRE(simulate(of, costs, when, how).ok());
  return when.makespan;
}

// The parts of every rank add up, the critical path has no hole, and no lower bound is beaten.
inline void check_timeline(const program& of, const cost_table& costs, delivery how) {
  timeline when;
  REQUIRE(simulate(of, costs, when, how).ok());
  const analysis found = analyse(of, costs, when);
  const double close = 1e-9 * (1 + when.makespan);
  for (int r = 0; r < of.ranks(); ++r) {
    const rank_time& own = found.ranks[r];
    double busy = 0;
    for (const instruction& it : of.role(r))
      if (it.lane == lane::compute) busy += costs.seconds(of, it);
    CHECK(own.busy == doctest::Approx(busy));
    CHECK(when.makespan >= own.busy - close);
    CHECK(own.busy + own.idle() == doctest::Approx(when.makespan));
    for (const double part : {own.warm_up, own.cool_down, own.dependency, own.transfer, own.sync})
      CHECK(part >= -close);
  }
  // One microbatch through all stages and back.
  for (const voice& each : of.voices) {
    double through = 0;
    for (int s = 0; s < each.stages; ++s) {
      const stage_cost& own = costs.stages[each.first_place + s];
      through += own.forward + (each.learns ? own.backward_input : 0);
    }
    CHECK(when.makespan >= through - close);
  }
  const list<std::int32_t>& path = found.critical_path;
  REQUIRE(!path.empty());
  CHECK(when.start[path[0]] == 0);
  CHECK(when.finish[path.back()] == when.makespan);
  for (isize i = 1; i < path.size(); ++i) {
    const instruction &before = of.instructions[path[i - 1]], &it = of.instructions[path[i]];
    const bool flies = how == delivery::buffered && is_send(before.what) && is_receive(it.what);
    const double latency = flies ? costs.between(of.rank_of(path[i - 1]), of.rank_of(path[i])).latency : 0;
    // A rendezvous ends when the rows are there; the link that they left is free again before.
    const wire way = is_send(before.what) ? costs.between(of.rank_of(path[i - 1]), before.peer) : wire{};
    const double free = how == delivery::rendezvous && is_transfer(it.what) && costs.wires.ranks_per_node > 0
                            ? way.latency
                            : 0;
    const double gap = when.start[path[i]] - when.finish[path[i - 1]];
    CHECK((std::abs(gap - latency) < close || std::abs(gap + free) < close));
  }
}

inline void check_simulation(const program& of, std::uint64_t seed) {
  dice draw(seed);
  for (const bool transfers : {false, true}) {
    cost_table costs = random_costs(of, draw, transfers);
    for (const delivery how : {delivery::buffered, delivery::rendezvous}) check_timeline(of, costs, how);
    const double buffered = makespan_of(of, costs);
    CHECK(buffered <= makespan_of(of, costs, delivery::rendezvous) * (1 + 1e-12));
    CHECK(buffered == makespan_of(of, costs));
    // No part may cost more and the whole less, as long as nobody shares a link.
    const list<double*> numbers = numbers_of(costs);
    double& one = *numbers[draw.below(numbers.size())];
    const double kept = one;
    one += draw.part();
    CHECK(makespan_of(of, costs) >= buffered * (1 - 1e-12));
    one = kept;
    // Jitter makes each computation up to so much longer, by its seed.
    costs.jitter = .25;
    costs.seed = seed;
    const double stretched = makespan_of(of, costs);
    CHECK(stretched > buffered);
    CHECK(stretched <= 1.25 * buffered * (1 + 1e-12));
    CHECK(stretched == makespan_of(of, costs));
    ++costs.seed;
    CHECK(stretched != makespan_of(of, costs));
    costs.jitter = 0;
    CHECK(buffered == makespan_of(of, costs));
    if (!transfers) continue;
    // Nodes of two ranks, whose one way out and in all share.
    costs.wires.ranks_per_node = 2;
    costs.wires.between.bytes_per_second = 2;
    for (const delivery how : {delivery::buffered, delivery::rendezvous}) check_timeline(of, costs, how);
  }
}

// Everything above. `most_live(place)` is the schedule's bound on the microbatches that a stage keeps at
// once.
template <class Schedule, class Bound>
void check_schedule(const typename Schedule::shape& shape, std::uint64_t seed, Bound most_live) {
  REQUIRE(Schedule::check(shape).ok());
  const score written = Schedule::write(shape);
  const verdict proof = prove(written);
  REQUIRE_MESSAGE(proof.ok(), name_of(op::forward)
                                  << proof.why->sentence << " rank " << proof.where << " at " << proof.got);
  check_order(written);
  const program made = compile(written);
  for (const delivery how : {delivery::buffered, delivery::rendezvous}) {
    const check_result result = check(made, how);
    REQUIRE_MESSAGE(result.ok(), explain(made, result));
    check_waits(made, how, seed);
  }
  check_messages(made);
  CHECK(score_of(made) == written);
  CHECK(made.slots == live_of_stages(made));
  for (isize place = 0; place < made.slots.size(); ++place)
    CHECK(made.slots[place] <= most_live(static_cast<int>(place)));
  check_simulation(made, seed);
  // A rank with a single queue may hang; check() and the oracle must agree on it.
  for (const messages carried : {messages::in_one_lane, messages::in_compute}) {
    const program narrow = compile(written, {carried});
    for (const delivery how : {delivery::buffered, delivery::rendezvous}) {
      const oracle meaning(narrow, how);
      const check_result result = check(narrow, how);
      CHECK_MESSAGE(result.ok() == meaning.legal(), explain(narrow, result));
      if (!result.ok()) CHECK(result.found.why == reason::deadlock);
    }
  }
}

}  // namespace motet::laws
