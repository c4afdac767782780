// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/tensor/arena.hpp>

#include <algorithm>
#include <vector>

namespace motet {

// Bytes of one buffer. One that never has rows has an address all the same, as none means that it is taken.
template <class T>
isize boundary_bytes(isize rows, isize width) {
  return round_up(std::max(rows * width, isize{1}) * static_cast<isize>(sizeof(T)), arena::alignment);
}

// A microbatch has this buffer in each step; it is its own once so many were given back.
struct buffer_seat {
  int buffer = -1;  // -1: no rows come for it
  isize gives = 0;
};

// Buffers for rows that come into a stage. A microbatch has one from the moment that its rows may come until
// nobody reads them any more. Of those that are free it gets the one that was longest: then all depends on
// the order of the microbatches alone, and is the same in each step.
template <class T, class Buffer = buffer<T>>
class boundary_pool {
 public:
  // turns: the order in which microbatches take buffers, where their rows may come in another; none: they
  // come in that order.
  void prepare(isize count, isize rows, isize width, isize microbatches,
               const list<std::int32_t>& turns = {}) {
    stride_ = boundary_bytes<T>(rows, width) / static_cast<isize>(sizeof(T));
    memory_ = Buffer(count * stride_);
    empty(count, microbatches);
    for (std::size_t i = 0; i < at_.size(); ++i) at_[i] = memory_.data() + static_cast<isize>(i) * stride_;
    add(turns);
  }
  // Without memory of its own: each step lays them out anew.
  void prepare(isize count, const std::vector<buffer_seat>& seats) {
    memory_ = Buffer();
    empty(count, static_cast<isize>(seats.size()));
    add(seats);
  }
  // The same of another score, which may take turns with those before.
  void add(const list<std::int32_t>& turns) {
    auto& made = orders_.emplace_back();
    if (turns.empty()) return;
    made.turn_of.assign(buffer_of_.size(), 0);
    for (isize k = 0; k < turns.size(); ++k) made.turn_of[as_size(turns[k])] = k;
  }
  void add(const std::vector<buffer_seat>& seats) { orders_.emplace_back().seats = seats; }
  // The next step plays this score.
  void play(std::int32_t score) { now_ = as_size(score); }
  // Each is as long as the longest of those that have it: numbers(m) are those of a microbatch's rows.
  template <class Numbers>
  void lay_out(arena& room, Numbers&& numbers) {
    longest_.assign(at_.size(), 1);
    const std::vector<buffer_seat>& seats = seats_now();
    for (std::size_t m = 0; m < seats.size(); ++m)
      if (seats[m].buffer >= 0) {
        isize& most = longest_[as_size(seats[m].buffer)];
        most = std::max(most, numbers(static_cast<std::int32_t>(m)));
      }
    for (std::size_t i = 0; i < at_.size(); ++i) at_[i] = room.take<T>(longest_[i]);
  }
  // All are free between steps.
  void begin_step() {
    std::fill(freed_.begin(), freed_.end(), 0);
    gives_ = 0;
  }
  // All of it.
  const Buffer& memory() const { return memory_; }
  // The buffer of microbatch m; null when none is free.
  T* take(std::int32_t m) {
    int& own = buffer_of_[as_size(m)];
    if (own >= 0) return of(m);
    if (!seats_now().empty()) {
      const buffer_seat& seat = seats_now()[as_size(m)];
      if (seat.buffer < 0 || gives_ < seat.gives || holder_[as_size(seat.buffer)] >= 0) return nullptr;
      own = seat.buffer;
      holder_[as_size(own)] = m;
      return of(m);
    }
    // One that came early leaves the buffers to those before it.
    if (const std::vector<isize>& turn_of = turns_now();
        !turn_of.empty() && turn_of[as_size(m)] >= gives_ + static_cast<isize>(holder_.size()))
      return nullptr;
    for (std::size_t i = 0; i < holder_.size(); ++i)
      if (holder_[i] < 0 && (own < 0 || freed_[i] < freed_[as_size(own)])) own = static_cast<int>(i);
    if (own < 0) return nullptr;
    holder_[as_size(own)] = m;
    return of(m);
  }
  T* of(std::int32_t m) const { return at_[as_size(buffer_of_[as_size(m)])]; }
  void give(std::int32_t m) {
    int& own = buffer_of_[as_size(m)];
    holder_[as_size(own)] = -1;
    freed_[as_size(own)] = ++gives_;
    own = -1;
  }

 private:
  void empty(isize count, isize microbatches) {
    at_.assign(as_size(count), nullptr);
    longest_.reserve(at_.size());
    holder_.assign(at_.size(), -1);
    freed_.assign(at_.size(), 0);
    buffer_of_.assign(as_size(microbatches), -1);
    orders_.clear();
    now_ = 0;
  }
  const std::vector<buffer_seat>& seats_now() const { return orders_[now_].seats; }
  const std::vector<isize>& turns_now() const { return orders_[now_].turn_of; }

  Buffer memory_;
  isize stride_ = 0;
  std::vector<T*> at_;                // where each buffer lies
  std::vector<std::int32_t> holder_;  // of each buffer
  std::vector<isize> freed_;          // likewise, when in this step
  isize gives_ = 0;
  std::vector<int> buffer_of_;  // of each microbatch
  struct order {
    std::vector<isize> turn_of;      // likewise
    std::vector<buffer_seat> seats;  // likewise, where each step lays buffers out
  };
  std::vector<order> orders_;  // of each score
  std::size_t now_ = 0;
  std::vector<isize> longest_;  // of each buffer, in numbers
};

// Buffers for rows that leave a stage, used in turn. One is free again when all messages with its rows were
// taken.
template <class T, class Buffer = buffer<T>>
class boundary_ring {
 public:
  // most: messages of one microbatch.
  void prepare(isize count, isize rows, isize width, std::size_t most = 1) {
    stride_ = boundary_bytes<T>(rows, width) / static_cast<isize>(sizeof(T));
    memory_ = Buffer(count * stride_);
    empty(count, most);
    for (std::size_t i = 0; i < entries_.size(); ++i)
      entries_[i].at = memory_.data() + static_cast<isize>(i) * stride_;
  }
  // Without memory of its own: each step lays them out anew, as long as the longest rows of the step.
  void prepare(isize count, std::size_t most) {
    memory_ = Buffer();
    empty(count, most);
  }
  void lay_out(arena& room, isize numbers) {
    for (entry& each : entries_) each.at = room.take<T>(std::max(numbers, isize{1}));
  }
  // All of it.
  const Buffer& memory() const { return memory_; }
  // The next buffer, now microbatch m's, whose rows leave in so many messages; null while those before are on
  // their way.
  template <class Endpoint>
  T* take(std::int32_t m, Endpoint& end, std::size_t messages = 1) {
    entry& own = entries_[next_];
    if (own.microbatch >= 0) {
      if (own.tags.size() < own.messages) return nullptr;
      for (const std::int32_t tag : own.tags)
        if (!end.sent(tag)) return nullptr;
    }
    own.microbatch = m;
    own.messages = messages;
    own.tags.clear();
    next_ = (next_ + 1) % entries_.size();
    return own.at;
  }
  // Its rows from byte `first` on.
  template <class Endpoint>
  void send(std::int32_t m, Endpoint& end, std::int32_t tag, std::int32_t peer, isize bytes,
            isize first = 0) {
    for (entry& own : entries_) {
      if (own.microbatch != m || own.tags.size() == own.messages) continue;
      own.tags.push_back(tag);
      end.send(tag, peer, reinterpret_cast<const std::byte*>(own.at) + first, bytes);
      return;
    }
  }
  // Every message was taken between steps, and tags begin again.
  void clear() {
    for (entry& each : entries_) {
      each.microbatch = -1;
      each.tags.clear();
    }
    next_ = 0;
  }

 private:
  struct entry {
    T* at = nullptr;
    std::int32_t microbatch = -1;
    std::size_t messages = 0;
    std::vector<std::int32_t> tags;  // of those that were sent
  };
  void empty(isize count, std::size_t most) {
    entries_.assign(as_size(count), {});
    for (entry& each : entries_) each.tags.reserve(most);
    next_ = 0;
  }

  Buffer memory_;
  isize stride_ = 0;
  std::vector<entry> entries_;
  std::size_t next_ = 0;
};

}  // namespace motet
