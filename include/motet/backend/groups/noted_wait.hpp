// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/wait_for.hpp>

#include <chrono>
#include <utility>
#include <vector>

namespace motet {

// A thread waited for others of its groups from then to then.
struct wait_span {
  wait_for what;
  std::chrono::steady_clock::time_point start, finish;
};
using wait_notes = std::vector<wait_span>;

namespace detail {
// The notes that this thread takes; null: nobody asks for them.
inline thread_local wait_notes* waits_noted = nullptr;
}  // namespace detail

// Notes this thread's waits as long as it lives.
class notes_waits {
 public:
  explicit notes_waits(wait_notes& into) : before_(std::exchange(detail::waits_noted, &into)) {}
  notes_waits(const notes_waits&) = delete;
  notes_waits& operator=(const notes_waits&) = delete;
  ~notes_waits() { detail::waits_noted = before_; }

 private:
  wait_notes* before_;
};

// A wait, as long as it lives: two looks at the clock where somebody asks, and one at a pointer otherwise.
// One inside another counts as the outer one.
class noted_wait {
 public:
  explicit noted_wait(wait_for what) : into_(std::exchange(detail::waits_noted, nullptr)), what_(what) {
    if (into_ != nullptr) start_ = std::chrono::steady_clock::now();
  }
  noted_wait(const noted_wait&) = delete;
  noted_wait& operator=(const noted_wait&) = delete;
  // A note that finds no memory is left out: a wait has no way to fail.
  ~noted_wait() {
    if (into_ == nullptr) return;
    detail::waits_noted = into_;
    try {
      into_->push_back({what_, start_, std::chrono::steady_clock::now()});
    } catch (...) {
    }
  }

 private:
  wait_notes* into_;
  wait_for what_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace motet
