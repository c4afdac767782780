// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/arena.hpp>

#include <algorithm>
#include <vector>

namespace motet {

// Bytes of one buffer.
template <class T>
index boundary_bytes(index rows, index width) {
  return round_up(rows * width * static_cast<index>(sizeof(T)), arena::alignment);
}

// Buffers for rows that come into a stage. A microbatch has one from the moment that its rows may come until
// nobody reads them any more. Of those that are free it gets the one that was longest: then all depends on
// the order of the microbatches alone, and is the same in each step.
template <class T, class Buffer = buffer<T>>
class boundary_pool {
 public:
  void prepare(index count, index rows, index width, index microbatches) {
    stride_ = boundary_bytes<T>(rows, width) / static_cast<index>(sizeof(T));
    memory_ = Buffer(count * stride_);
    holder_.assign(as_size(count), -1);
    freed_.assign(holder_.size(), 0);
    buffer_of_.assign(as_size(microbatches), -1);
  }
  // Between steps all are free.
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
    for (std::size_t i = 0; i < holder_.size(); ++i)
      if (holder_[i] < 0 && (own < 0 || freed_[i] < freed_[as_size(own)])) own = static_cast<int>(i);
    if (own < 0) return nullptr;
    holder_[as_size(own)] = m;
    return of(m);
  }
  T* of(std::int32_t m) const { return memory_.data() + buffer_of_[as_size(m)] * stride_; }
  void give(std::int32_t m) {
    int& own = buffer_of_[as_size(m)];
    holder_[as_size(own)] = -1;
    freed_[as_size(own)] = ++gives_;
    own = -1;
  }

 private:
  Buffer memory_;
  index stride_ = 0;
  std::vector<std::int32_t> holder_;  // of each buffer
  std::vector<index> freed_;          // likewise, when in this step
  index gives_ = 0;
  std::vector<int> buffer_of_;  // of each microbatch
};

// Buffers for rows that leave a stage, used in turn. One is free again when its message was taken.
template <class T, class Buffer = buffer<T>>
class boundary_ring {
 public:
  void prepare(index count, index rows, index width) {
    stride_ = boundary_bytes<T>(rows, width) / static_cast<index>(sizeof(T));
    memory_ = Buffer(count * stride_);
    entries_.assign(as_size(count), {});
  }
  // All of it.
  const Buffer& memory() const { return memory_; }
  // The next buffer, now microbatch m's; null while the message before is on its way.
  template <class Endpoint>
  T* take(std::int32_t m, Endpoint& end) {
    entry& own = entries_[next_];
    if (own.microbatch >= 0 && (own.tag < 0 || !end.sent(own.tag))) return nullptr;
    own = {m, -1};
    T* const data = memory_.data() + static_cast<index>(next_) * stride_;
    next_ = (next_ + 1) % entries_.size();
    return data;
  }
  template <class Endpoint>
  void send(std::int32_t m, Endpoint& end, std::int32_t tag, std::int32_t peer, index bytes) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].microbatch != m || entries_[i].tag >= 0) continue;
      entries_[i].tag = tag;
      end.send(tag, peer,
               reinterpret_cast<const std::byte*>(memory_.data() + static_cast<index>(i) * stride_), bytes);
      return;
    }
  }
  // Between steps every message was taken, and tags begin again.
  void clear() {
    for (entry& each : entries_) each = {};
    next_ = 0;
  }

 private:
  struct entry {
    std::int32_t microbatch = -1, tag = -1;
  };
  Buffer memory_;
  index stride_ = 0;
  std::vector<entry> entries_;
  std::size_t next_ = 0;
};

}  // namespace motet
