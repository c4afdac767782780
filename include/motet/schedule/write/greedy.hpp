// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/times.hpp>

namespace motet {

// The habits say how a device chooses where there is a choice. Which is best depends on the times, so
// zero-bubble builders try them all.
struct greedy_habits {
  // behind a backward comes a forward: until it is there, weight parts run, and other backwards wait
  bool in_turn = false;
  bool hold = false;   // no forward that would make a backward late that is on its way
  bool blind = false;  // as if transfers took no time
};

namespace detail {

// Plays a row of devices in time, and writes down what they do: whoever is free takes what is there, a
// backward or, in turn or while there is room, a forward; weight parts fill waits and make room. With two
// chunks, the second way through the devices goes back up (a V).
class greedy_player {
 public:
  // `room` is what each device may keep, in microbatches of one chunk.
  constexpr greedy_player(const pipeline_shape& p, int chunks, const list<step_times>& times,
                          const list<int>& room, greedy_habits habits)
      : p_(p),
        chunks_(chunks),
        times_(times),
        room_(room),
        habits_(habits),
        devices_(p.stages),
        row_(p.microbatches + 1),
        own_(chunks * p.microbatches) {
    const isize stages = chunks * devices_;
    forward_comes_.resize(stages * row_, never);
    backward_comes_ = forward_comes_;
    for (int m = 0; m < p.microbatches; ++m) forward_comes_[m] = 0;
    forwards_.resize(stages, 0);
    backwards_ = forwards_;
    free_.resize(devices_, 0);
    wakes_.resize(devices_, never);
    wakes_[0] = 0;
    kept_ = idle_ = steps_ = inputs_ = weights_ = free_;
    turns_.resize(devices_, 0);
    pending_.resize(devices_ * own_, 0);
    orders_.resize(3 * devices_ * own_, 0);
  }

  constexpr score write() {
    for (isize now = 0; now < never;) {
      for (isize d = 0; d < devices_; ++d)
        if (wakes_[d] == now) choose(d, now);
      now = never;
      for (const isize wakes : wakes_)
        if (wakes < now) now = wakes;
    }
    score out;
    const int tower = add_voice(out, p_, chunks_, placement::vee);
    for (isize d = 0; d < devices_; ++d) {
      out.rank();
      for (isize i = 3 * own_ * d; i < 3 * own_ * (d + 1); ++i) {
        const isize cell = orders_[i] >> 2;
        out.play(parts[orders_[i] & 3], tower, static_cast<int>(cell / row_), static_cast<int>(cell % row_));
      }
    }
    return out;
  }

 private:
  static constexpr isize never = isize{1} << 60;
  static constexpr op parts[] = {op::forward, op::backward_input, op::backward_weight};

  constexpr isize device_of(isize stage) const { return stage < devices_ ? stage : 2 * devices_ - 1 - stage; }
  constexpr isize last_stage(isize d) const { return chunks_ == 1 ? d : 2 * devices_ - 1 - d; }

  constexpr void choose(isize d, isize now) {
    // These say what is there for each chunk, and when the next comes. The chunk nearer to the end goes first
    // forward, last backward.
    isize next_forward = never, next_backward = never, forward = -1, backward = -1;
    bool full = false;
    for (isize s = last_stage(d);; s = d) {
      if (const isize comes = backward_comes_[s * row_ + backwards_[s]]; comes < never) {
        if (comes <= now) backward = s;
        if (comes < next_backward) next_backward = comes;
      }
      // Not so far ahead of the second chunk that all room is taken by microbatches that still have to come
      // back.
      const isize ahead = forwards_[s] - forwards_[last_stage(d)];
      const isize most_ahead = least(static_cast<int>(2 * (devices_ - d) - 1), room_[d] - 1);
      if (const isize comes = forward_comes_[s * row_ + forwards_[s]];
          comes < never && (s == last_stage(d) || ahead < most_ahead)) {
        if (kept_[d] == room_[d]) {
          full = full || comes <= now;
        } else {
          if (comes <= now && forward < 0) forward = s;
          if (comes < next_forward) next_forward = comes;
        }
      }
      if (s == d) break;
    }
    const bool pending = weights_[d] < inputs_[d];
    if (turns_[d] != 0) {
      if (forward >= 0) return play_forward(d, forward, now);
      if (pending && (full || (habits_.in_turn && forwards_[last_stage(d)] < p_.microbatches)))
        return play_weight(d, now);
    }
    if (backward >= 0) return play_backward(d, backward, now);
    if (habits_.hold && next_backward < now + times_[d].forward) next_forward = never;
    else if (forward >= 0) return play_forward(d, forward, now);
    wakes_[d] = next_backward < next_forward ? next_backward : next_forward;
    const isize wait = wakes_[d] - now;
    if (pending && (full || wait >= times_[d].backward_weight || idle_[d] + wait > most_idle_))
      play_weight(d, now);
  }

  constexpr void play_forward(isize d, isize s, isize now) {
    const isize cell = s * row_ + forwards_[s]++;
    ++kept_[d];
    turns_[d] = 0;
    const isize end = play(d, 0, cell, now, times_[d].forward);
    if (s + 1 < chunks_ * devices_) send(forward_comes_[cell + row_], d, device_of(s + 1), end);
    else backward_comes_[cell] = end;
  }
  constexpr void play_backward(isize d, isize s, isize now) {
    const isize cell = s * row_ + backwards_[s]++;
    pending_[own_ * d + inputs_[d]++] = cell;
    turns_[d] = 1;
    const isize end = play(d, 1, cell, now, times_[d].backward_input);
    if (s > 0) send(backward_comes_[cell - row_], d, device_of(s - 1), end);
  }
  constexpr void play_weight(isize d, isize now) {
    --kept_[d];
    play(d, 2, pending_[own_ * d + weights_[d]++], now, times_[d].backward_weight);
  }
  constexpr isize play(isize d, isize part, isize cell, isize now, isize takes) {
    if (steps_[d] > 0) idle_[d] += now - free_[d];
    if (idle_[d] > most_idle_) most_idle_ = idle_[d];
    orders_[3 * own_ * d + steps_[d]++] = cell << 2 | part;
    return free_[d] = wakes_[d] = now + takes;
  }
  constexpr void send(isize& comes, isize from, isize to, isize end) {
    comes = from == to || habits_.blind ? end : end + chunks_ * times_[from].transfer;
    const isize when = comes > free_[to] ? comes : free_[to];
    if (when < wakes_[to]) wakes_[to] = when;
  }

  const pipeline_shape& p_;
  int chunks_;
  const list<step_times>& times_;
  const list<int>& room_;
  greedy_habits habits_;
  isize devices_, row_, own_, most_idle_ = 0;
  // of each stage and microbatch, when its rows are there; a last column never is
  list<isize> forward_comes_, backward_comes_;
  list<isize> forwards_, backwards_;                        // of each stage, how many it ran
  list<isize> free_, wakes_, kept_, idle_, steps_, turns_;  // of each device
  list<isize> inputs_, weights_, pending_, orders_;         // weight parts in the order of their input parts
};

}  // namespace detail

// The order that such devices come to. `times` and `room` are those of each device; room counts microbatches
// of one chunk.
constexpr score write_greedy(const pipeline_shape& p, int chunks, const list<step_times>& times,
                             const list<int>& room, greedy_habits habits) {
  return detail::greedy_player(p, chunks, times, room, habits).write();
}

constexpr void offer_greedy(shortest_score& best, const pipeline_shape& p, int chunks,
                            const list<step_times>& times, const list<int>& room) {
  bool transfers = false;
  for (const step_times& each : times) transfers = transfers || each.transfer != 0;
  for (const bool in_turn : {false, true})
    for (const bool hold : {false, true})
      for (int blind = 0; blind <= (transfers ? 1 : 0); ++blind)
        best.offer(write_greedy(p, chunks, times, room, {in_turn, hold, blind == 1}), times);
}

}  // namespace motet
