// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/event.hpp>
#include <motet/backend/cuda/device/profiler_range.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>

namespace motet::cuda {

// A stretch of the work of a stream.
struct timed_stretch {
  event begin = event::timed(), end = event::timed();
};

// Times of what a rank only begins, by events in its streams, which are read when all is done. One thing is
// open at a time, in a slot of the caller's. It begins behind its last wait for other ranks. A slot that is
// opened again, as it could not go on, begins anew.
class time_marks {
 public:
  // Slots are free again.
  void begin_step() {
    any_ = false;
    open_ = nullptr;
    for (slot& each : slots_) each.elsewhere = false;
    early_.clear();
  }
  void open(std::int32_t number, cudaStream_t stream) {
    any_ = true;
    while (slots_.size() <= static_cast<std::size_t>(number)) slots_.emplace_back();
    open_ = &slots_[static_cast<std::size_t>(number)];
    begin_again(stream);
  }
  // The wait for others before this does not count.
  void begin_again(cudaStream_t stream) {
    if (open_ != nullptr && !open_->elsewhere) open_->when.begin.mark(stream);
  }
  void close(cudaStream_t stream) {
    if (open_ != nullptr && !open_->elsewhere) open_->when.end.mark(stream);
    open_ = nullptr;
  }
  // It did not go on.
  void drop() { open_ = nullptr; }
  // The open work is another stream's, perhaps later in this step: whoever begins it marks both ends. The
  // result is null where nobody wants to know.
  timed_stretch* elsewhere() {
    if (open_ == nullptr) return nullptr;
    open_->elsewhere = true;
    return &open_->when;
  }
  // Work that has its turn later began here; which is told by any address.
  void early(const void* which, cudaStream_t stream) {
    if (open_ == nullptr) return;
    auto& own = early_events_.try_emplace(which, event::timed()).first->second;
    own.mark(stream);
    early_[which] = &own;
  }

  // Says whether anything was opened in this step.
  bool any() const { return any_; }

  // Seconds count from `zero`, and are known once all is done.
  double begin_of(std::int32_t number, const event& zero) const {
    return at(number).begin.seconds_since(zero);
  }
  double end_of(std::int32_t number, const event& zero) const { return at(number).end.seconds_since(zero); }
  double seconds_of(std::int32_t number) const { return at(number).end.seconds_since(at(number).begin); }
  // Work that did not begin early has `otherwise`.
  double early_of(const void* which, const event& zero, double otherwise) const {
    const auto found = early_.find(which);
    return found == early_.end() ? otherwise : std::min(otherwise, found->second->seconds_since(zero));
  }

 private:
  struct slot {
    timed_stretch when;
    bool elsewhere = false;
  };
  const timed_stretch& at(std::int32_t number) const { return slots_[static_cast<std::size_t>(number)].when; }

  std::deque<slot> slots_;  // which stay where they are
  slot* open_ = nullptr;
  bool any_ = false;
  std::map<const void*, event> early_events_;
  std::map<const void*, const event*> early_;  // of this step
};

// An end of a transport offers this to whoever keeps times of it. The end has on(), zero(), and a time_marks
// that it calls at its waits.
template <class End>
class timed_end {
 public:
  // Marks stand around a piece of work; slots are the caller's. Work that could not go on yet is dropped, and
  // marked again.
  void mark_begin(std::int32_t slot) { marks_.open(slot, stream()); }
  void mark_end(std::int32_t) { marks_.close(stream()); }
  void mark_drop() { marks_.drop(); }
  // Within one: something else, that has its turn later, begins.
  void mark_early(const void* which) { marks_.early(which, stream()); }
  // Profilers show a piece of work by its range.
  static bool wants_ranges() { return cuda::wants_ranges(); }
  static profiler_range range(const char* name) { return profiler_range(name); }
  // Times are known after the step, in seconds since the world's mark_zero().
  double begin_of(std::int32_t slot) { return marks_.begin_of(slot, self().zero()); }
  double begin_of(std::int32_t slot, const void* early) {
    return marks_.early_of(early, self().zero(), begin_of(slot));
  }
  double end_of(std::int32_t slot) { return marks_.end_of(slot, self().zero()); }
  double seconds_of(std::int32_t slot) const { return marks_.seconds_of(slot); }

 protected:
  time_marks marks_;

 private:
  End& self() { return static_cast<End&>(*this); }
  cudaStream_t stream() { return self().on().stream(); }
};

}  // namespace motet::cuda
