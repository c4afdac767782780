// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tools/process/exit_code.hpp>

#include <csignal>
#include <cstddef>
#include <iterator>

namespace motet {

// Ctrl-C (SIGINT), SIGTERM, a lost terminal (SIGHUP) and a scheduler's warning (SIGUSR1) ask a run to stop at
// the end of its step. A second one of a kind ends the program at once, as it would without this. Nobody
// reading what is printed (SIGPIPE) is no reason to stop. One object at a time; the old handling comes back
// at its end.
// Asks for: one object at a time, made before the first step.
// Memory: none.
// Errors: none of its own.
// Example:
//   int train(int steps) {
//     const interrupt stop;
//     for (int step = 0; step < steps; ++step)
//       if (stop.asked()) return stop.exit_code();
//     return 0;
//   }
class interrupt {
 public:
  interrupt() {
    asked_by() = 0;
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, &old_pipe_);
    action.sa_handler = [](int which) { asked_by() = which; };
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    for (std::size_t i = 0; i < std::size(asking); ++i) {
      sigaction(asking[i], &action, &old_[i]);
      // nohup
      if (asking[i] == SIGHUP && old_[i].sa_handler == SIG_IGN) sigaction(SIGHUP, &old_[i], nullptr);
    }
  }
  interrupt(const interrupt&) = delete;
  interrupt& operator=(const interrupt&) = delete;
  ~interrupt() {
    for (std::size_t i = 0; i < std::size(asking); ++i) sigaction(asking[i], &old_[i], nullptr);
    sigaction(SIGPIPE, &old_pipe_, nullptr);
  }

  bool asked() const { return asked_by() != 0; }
  // A run is stopped by hand, or by who starts it again.
  int exit_code() const { return (asked_by() == SIGINT ? exit_by_hand : exit_restart).status; }

 private:
  static constexpr int asking[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
  static volatile std::sig_atomic_t& asked_by() {
    static volatile std::sig_atomic_t which = 0;
    return which;
  }
  struct sigaction old_[std::size(asking)]{}, old_pipe_{};
};

}  // namespace motet
