// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace motet::meet {

// Wakes a thread that waits for sockets by poll(): any thread rings, that one listens.
class bell {
 public:
  bell() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (event_ < 0) fail(meeting_refused, std::string("no bell for a thread: ") + std::strerror(errno));
  }
  bell(const bell&) = delete;
  bell& operator=(const bell&) = delete;
  ~bell() { ::close(event_); }

  void ring() const {
    const std::uint64_t one = 1;
    // It rings already where this fails.
    [[maybe_unused]] const ssize_t written = ::write(event_, &one, sizeof one);
  }
  void quiet() const {
    std::uint64_t rung = 0;
    [[maybe_unused]] const ssize_t taken = ::read(event_, &rung, sizeof rung);
  }
  pollfd watched() const { return {event_, POLLIN, 0}; }

 private:
  int event_;
};

}  // namespace motet::meet
