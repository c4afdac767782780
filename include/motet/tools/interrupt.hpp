// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace motet {

// Ctrl-C (SIGINT) and SIGTERM ask a run to stop at the end of its step. A second one ends the program at
// once, as it would without this. One object at a time; the old handling comes back at its end.
class interrupt {
 public:
  interrupt() {
    asked_by() = 0;
    struct sigaction action {};
    action.sa_handler = [](int which) { asked_by() = which; };
    sigemptyset(&action.sa_mask);
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    sigaction(SIGINT, &action, &old_[0]);
    sigaction(SIGTERM, &action, &old_[1]);
  }
  interrupt(const interrupt&) = delete;
  interrupt& operator=(const interrupt&) = delete;
  ~interrupt() {
    sigaction(SIGINT, &old_[0], nullptr);
    sigaction(SIGTERM, &old_[1], nullptr);
  }

  bool asked() const { return asked_by() != 0; }
  // What a shell expects of a program that ended so: 130 after Ctrl-C.
  int exit_code() const { return 128 + asked_by(); }

 private:
  static volatile std::sig_atomic_t& asked_by() {
    static volatile std::sig_atomic_t which = 0;
    return which;
  }
  struct sigaction old_[2]{};
};

}  // namespace motet
