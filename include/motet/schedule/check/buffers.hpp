// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/check/check.hpp>
#include <motet/schedule/core/rules.hpp>

namespace motet {

// The counts say how many boundary buffers each stage of a program needs: for rows that came in and are still
// read, and for rows that wait to be taken by another rank. With so many the program runs to its end whatever
// the speed of its ranks: that is played, not guessed.
struct buffer_counts {
  // Each place has counts by kind of message: 0 first forwards, 1 replays, 2 backward.
  list<std::int32_t> in[3];
  list<std::int32_t> out[3];
  // Its microbatches in the order in which they take buffers: rows that come from several ranks may overtake
  // each other.
  list<list<std::int32_t>> turns[3];
};

namespace detail {

class buffer_counter {
 public:
  constexpr explicit buffer_counter(const program& of, bool in_turn)
      : of_(of), in_turn_(in_turn), links_(of.voices, of.feeds) {}

  constexpr finding count(buffer_counts& found) {
    if (const finding wrong = build_graph(of_, delivery::buffered, graph_); !wrong.ok()) return wrong;
    for (int kind = 0; kind < 3; ++kind) {
      found.in[kind].resize(of_.places.size(), 0);
      found.out[kind].resize(of_.places.size(), 0);
      found.turns[kind].resize(of_.places.size(), {});
      taken_[kind].resize(links_.messages(of_.cells()), -1);
    }
    for (isize i = 0; i < of_.instructions.size(); ++i) {
      const instruction& it = of_.instructions[i];
      if (!is_receive(it.what)) continue;
      const int kind = message_kind(it.what);
      taken_[kind][links_.message(of_.cells(), kind, it.voice, it.stage, it.microbatch, it.part)] =
          static_cast<std::int32_t>(i);
    }
    pools(found);
    wait_for_groups();
    if (in_turn_) wait_for_turns();
    for (std::int32_t ring = 2;; ring *= 2) {
      list<wait> all = pool_waits_;
      const bool whole = rings(found, all, ring);
      const program_graph bounded = with(all);
      no_clock clock;
      program_player<no_clock> plays(of_, bounded, clock);
      if (plays.run()) return {};
      if (whole) return {reason::deadlock, 0, -1, -1, ring, 0};
    }
  }

 private:
  // Rows of the turn-th microbatch to come to a place, or the first of them.
  struct event {
    std::int32_t at, turn;
    bool crosses;  // whoever makes them is another rank, or computes beside whoever reads them
  };
  struct wait {
    std::int32_t who, other;
  };

  static constexpr std::int32_t made_here(std::int32_t lane) { return -1 - lane; }
  // Buffers for what comes in, by the order of each list. One more where it comes from another rank or lane,
  // so that it may come early. Whoever brings it then waits until a buffer is free, which is when as many
  // were given back as that order says.
  constexpr void pools(buffer_counts& found) {
    list<list<event>> comes[3];
    list<list<std::int32_t>> gives[3];
    list<std::int32_t> live[3], turns[3], turn_of[3];  // of places, of places, and of cells
    for (int kind = 0; kind < 3; ++kind) {
      comes[kind].resize(of_.places.size(), {});
      gives[kind].resize(of_.places.size(), {});
      live[kind].resize(of_.places.size(), 0);
      turns[kind].resize(of_.places.size(), 0);
      turn_of[kind].resize(of_.cells(), -1);
    }
    // A buffer is taken when the first part of the rows comes.
    const auto take = [&](int kind, const cell_seat& to, std::int32_t at, std::int32_t from) {
      const std::int32_t reads = of_.voices[to.voice].lane;
      const isize place = place_of(to);
      std::int32_t& turn = turn_of[kind][links_.cell(to)];
      if (turn < 0) {
        turn = turns[kind][place]++;
        found.turns[kind][place].push(to.microbatch);
        if (++live[kind][place] > found.in[kind][place]) found.in[kind][place] = live[kind][place];
      }
      comes[kind][place].push({at, turn, from >= 0 || from != made_here(reads)});
    };
    const auto give = [&](int kind, isize place, std::int32_t at) {
      gives[kind][place].push(at);
      --live[kind][place];
    };
    list<std::uint8_t> replayed(of_.cells(), 0);
    for (std::int32_t i = 0; i < of_.instructions.size(); ++i) {
      const instruction& it = of_.instructions[i];
      if (!is_compute(it.what) && !is_receive(it.what)) continue;
      if (it.what == op::join) continue;
      const voice& sings = of_.voices[it.voice];
      const isize place = sings.first_place + it.stage;
      if (is_receive(it.what)) {
        take(message_kind(it.what), {it.voice, it.stage, it.microbatch}, i, it.peer);
        continue;
      }
      const std::int32_t own = of_.places[place];
      if (it.what == op::re_forward) replayed[sings.cell(it.stage, it.microbatch)] = 1;
      if (const int kind = message_kind(it.what); kind >= 0)
        links_.each_target(kind, it.voice, it.stage, it.microbatch, [&](const cell_seat& to, int, int) {
          if (of_.places[place_of(to)] == own) take(kind, to, i, made_here(sings.lane));
        });
      const bool comes_in = links_.has_source(0, it.voice, it.stage, it.microbatch);
      if (comes_in && (it.what == op::forward_only || (it.what == op::forward && !sings.learns)))
        give(0, place, i);
      if (it.what != op::backward && it.what != op::backward_weight) continue;
      if (comes_in) give(replayed[sings.cell(it.stage, it.microbatch)] != 0 ? 1 : 0, place, i);
      if (links_.has_source(2, it.voice, it.stage, it.microbatch)) give(2, place, i);
    }
    for (int kind = 0; kind < 3; ++kind) {
      for (isize place = 0; place < of_.places.size(); ++place) {
        const list<event>& all = comes[kind][place];
        if (all.empty()) continue;
        bool message = false;
        for (const event& each : all) message = message || (each.turn == 0 && each.crosses);
        if (message && found.in[kind][place] < turns[kind][place]) ++found.in[kind][place];
        const std::int32_t size = found.in[kind][place];
        for (const event& each : all)
          if (each.crosses && each.turn >= size)
            pool_waits_.push({each.at, gives[kind][place][each.turn - size]});
      }
    }
  }
  // A rank that computes together with others waits for them within the computation and takes no message
  // meanwhile. What its list has behind that computation may come no sooner.
  constexpr void wait_for_groups() {
    for (std::int32_t r = 0; r < of_.ranks(); ++r) {
      std::int32_t together = -1;
      for (std::int32_t i = of_.starts[r]; i < of_.starts[r + 1]; ++i) {
        const instruction& it = of_.instructions[i];
        if (is_receive(it.what) && together >= 0) pool_waits_.push({i, together});
        if (!is_compute(it.what) || it.what == op::join) continue;
        const voice& sings = of_.voices[it.voice];
        if (sings.shards > 1 || (sings.sums_each && is_backward(it.what)) || sings.meets_each) together = i;
      }
    }
  }
  // One thread begins what the lanes of a rank compute, in the order of its list.
  constexpr void wait_for_turns() {
    for (std::int32_t r = 0; r < of_.ranks(); ++r) {
      std::int32_t before = -1;
      for (std::int32_t i = of_.starts[r]; i < of_.starts[r + 1]; ++i) {
        if (!lane::computes(of_.instructions[i].lane)) continue;
        if (before >= 0 && of_.instructions[before].lane != of_.instructions[i].lane)
          pool_waits_.push({i, before});
        before = i;
      }
    }
  }
  // Rows that leave are written to one of `size` buffers in turn, once the message before them in that buffer
  // was taken.
  constexpr bool rings(buffer_counts& found, list<wait>& waits, std::int32_t size) const {
    bool whole = true;
    // Each place has, for each buffer in turn, the receives that take what lies there: from the begin of one
    // to that of the next.
    struct uses {
      list<std::int32_t> begins, receives;
    };
    list<uses> sent[3];
    for (auto& each : sent) each.resize(of_.places.size(), {});
    for (std::int32_t i = 0; i < of_.instructions.size(); ++i) {
      const instruction& it = of_.instructions[i];
      const int kind = is_compute(it.what) ? message_kind(it.what) : -1;
      if (kind < 0) continue;
      const voice& sings = of_.voices[it.voice];
      const isize place = sings.first_place + it.stage;
      uses& before = sent[kind][place];
      const isize begin = before.receives.size();
      std::int32_t targets = 0;
      links_.each_target(kind, it.voice, it.stage, it.microbatch, [&](const cell_seat& to, int, int part) {
        ++targets;
        const std::int32_t taken =
            taken_[kind][links_.message(of_.cells(), kind, to.voice, to.stage, to.microbatch, part)];
        if (taken >= 0) before.receives.push(taken);
      });
      // Rows for one neighbour on this rank are written where that reads them.
      if (before.receives.size() == begin && targets < 2) continue;
      if (const isize k = before.begins.size(); k >= size) {
        const isize first = before.begins[k - size], last = size == 1 ? begin : before.begins[k - size + 1];
        for (isize r = first; r < last; ++r) waits.push({i, before.receives[r]});
        whole = false;
      }
      before.begins.push(static_cast<std::int32_t>(begin));
      found.out[kind][place] =
          before.begins.size() < size ? static_cast<std::int32_t>(before.begins.size()) : size;
    }
    return whole;
  }
  // The graph with further waits.
  constexpr program_graph with(const list<wait>& further) const {
    program_graph made = graph_;
    list<std::int32_t> counts(of_.instructions.size(), 0);
    for (const wait& each : further) ++counts[each.who];
    list<std::int32_t> next(of_.instructions.size(), 0);
    std::int32_t at = 0;
    for (std::int32_t i = 0; i < of_.instructions.size(); ++i) {
      made.wait_starts[i] = at;
      next[i] = at;
      at += counts[i] + graph_.wait_starts[i + 1] - graph_.wait_starts[i];
    }
    made.wait_starts[of_.instructions.size()] = at;
    made.waits.resize(at, -1);
    for (std::int32_t i = 0; i < of_.instructions.size(); ++i)
      for (const std::int32_t each : graph_.waits_of(i)) made.waits[next[i]++] = each;
    for (const wait& each : further) made.waits[next[each.who]++] = each.other;
    return made;
  }

  constexpr isize place_of(const cell_seat& at) const { return of_.voices[at.voice].first_place + at.stage; }

  const program& of_;
  bool in_turn_;
  cell_links links_;
  program_graph graph_;
  list<wait> pool_waits_;        // of those who bring rows, whatever the rings
  list<std::int32_t> taken_[3];  // of each message the receive that takes it
};

}  // namespace detail

// in_turn: lanes of a rank compute beside each other, but what they compute is begun in the order of its
// list.
constexpr finding count_buffers(const program& of, buffer_counts& found, bool in_turn = false) {
  return detail::buffer_counter(of, in_turn).count(found);
}

}  // namespace motet
