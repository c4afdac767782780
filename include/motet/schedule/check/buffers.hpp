// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/check/check.hpp>

namespace motet {

// How many boundary buffers each stage of a program needs: rows that came in and are still read, and rows
// that wait to be taken by another rank. With so many the program runs to its end whatever the speed of its
// ranks: that is played, not guessed.
struct buffer_counts {
  // Of each place; by kind of message: 0 first forwards, 1 replays, 2 backward.
  list<std::int32_t> in[3];
  list<std::int32_t> out[3];
};

namespace detail {

class buffer_counter {
 public:
  constexpr explicit buffer_counter(const program& of) : of_(of), links_(of.voices, of.feeds) {}

  constexpr finding count(buffer_counts& found) {
    if (const finding wrong = build_graph(of_, delivery::buffered, graph_); !wrong.ok()) return wrong;
    for (int kind = 0; kind < 3; ++kind) {
      found.in[kind].resize(of_.places.size(), 0);
      found.out[kind].resize(of_.places.size(), 0);
      taken_[kind].resize(of_.cells(), -1);
    }
    for (index i = 0; i < of_.instructions.size(); ++i) {
      const instruction& it = of_.instructions[i];
      if (is_receive(it.what))
        taken_[message_kind(it.what)][of_.voices[it.voice].cell(it.stage, it.microbatch)] =
            static_cast<std::int32_t>(i);
    }
    pools(found);
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
  struct event {
    std::int32_t at;
    bool received;
  };
  struct wait {
    std::int32_t who, other;
  };

  // Buffers for what comes in, by the order of each list. One more where it comes from another rank, so that
  // it may come early. A receive then waits until a buffer is free, which is when as many were given back as
  // that order says.
  constexpr void pools(buffer_counts& found) {
    list<list<event>> takes[3], gives[3];
    for (int kind = 0; kind < 3; ++kind) {
      takes[kind].resize(of_.places.size(), {});
      gives[kind].resize(of_.places.size(), {});
    }
    list<std::int32_t> live[3];
    for (auto& each : live) each.resize(of_.places.size(), 0);
    const auto take = [&](int kind, index place, std::int32_t at, bool received) {
      takes[kind][place].push({at, received});
      if (++live[kind][place] > found.in[kind][place]) found.in[kind][place] = live[kind][place];
    };
    const auto give = [&](int kind, index place, std::int32_t at) {
      gives[kind][place].push({at, false});
      --live[kind][place];
    };
    list<std::uint8_t> replayed(of_.cells(), 0);
    for (std::int32_t i = 0; i < of_.instructions.size(); ++i) {
      const instruction& it = of_.instructions[i];
      if (!is_compute(it.what) && !is_receive(it.what)) continue;
      if (it.what == op::join) continue;
      const voice& sings = of_.voices[it.voice];
      const index place = sings.first_place + it.stage;
      if (is_receive(it.what)) {
        take(message_kind(it.what), place, i, true);
        continue;
      }
      const std::int32_t own = of_.places[place];
      const auto here = [&](const cell_seat& at) { return at.there() && of_.places[place_of(at)] == own; };
      if (it.what == op::re_forward) replayed[sings.cell(it.stage, it.microbatch)] = 1;
      if (const cell_seat to = links_.next(it.voice, it.stage, it.microbatch);
          is_forward(it.what) && here(to))
        take(it.what == op::re_forward ? 1 : 0, place_of(to), i, false);
      if (const cell_seat to = links_.gradient_to(it.voice, it.stage, it.microbatch);
          (it.what == op::backward || it.what == op::backward_input) && here(to))
        take(2, place_of(to), i, false);
      const bool comes = links_.previous(it.voice, it.stage, it.microbatch).there();
      if (comes && (it.what == op::forward_only || (it.what == op::forward && !sings.learns)))
        give(0, place, i);
      if (it.what != op::backward && it.what != op::backward_weight) continue;
      if (comes) give(replayed[sings.cell(it.stage, it.microbatch)] != 0 ? 1 : 0, place, i);
      if (links_.gradient_from(it.voice, it.stage, it.microbatch).there()) give(2, place, i);
    }
    for (int kind = 0; kind < 3; ++kind) {
      for (index place = 0; place < of_.places.size(); ++place) {
        const list<event>& all = takes[kind][place];
        if (all.empty()) continue;
        if (all[0].received && found.in[kind][place] < all.size()) ++found.in[kind][place];
        const std::int32_t size = found.in[kind][place];
        for (index k = size; k < all.size(); ++k)
          if (all[k].received) pool_waits_.push({all[k].at, gives[kind][place][k - size].at});
      }
    }
  }
  // What leaves is written to one of `size` buffers in turn, once the message before it in that buffer was
  // taken.
  constexpr bool rings(buffer_counts& found, list<wait>& waits, std::int32_t size) const {
    bool whole = true;
    list<list<std::int32_t>> sent[3];
    for (auto& each : sent) each.resize(of_.places.size(), {});
    for (std::int32_t i = 0; i < of_.instructions.size(); ++i) {
      const instruction& it = of_.instructions[i];
      const int kind = is_compute(it.what) ? message_kind(it.what) : -1;
      if (kind < 0) continue;
      const voice& sings = of_.voices[it.voice];
      const cell_seat target = links_.target(kind, it.voice, it.stage, it.microbatch);
      if (!target.there()) continue;
      const std::int32_t taken = taken_[kind][links_.cell(target)];
      if (taken < 0) continue;
      const index place = sings.first_place + it.stage;
      list<std::int32_t>& before = sent[kind][place];
      if (before.size() >= size) {
        waits.push({i, before[before.size() - size]});
        whole = false;
      }
      before.push(taken);
      found.out[kind][place] = before.size() < size ? static_cast<std::int32_t>(before.size()) : size;
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

  constexpr index place_of(const cell_seat& at) const { return of_.voices[at.voice].first_place + at.stage; }

  const program& of_;
  cell_links links_;
  program_graph graph_;
  list<wait> pool_waits_;
  list<std::int32_t> taken_[3];  // of each cell the receive that takes what was sent to it
};

}  // namespace detail

constexpr finding count_buffers(const program& of, buffer_counts& found) {
  return detail::buffer_counter(of).count(found);
}

}  // namespace motet
