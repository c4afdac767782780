// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tools/report/progress.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace motet {

// Tells what a program is at that would be silent for long: nothing in the first two seconds; then one line
// that is drawn anew every second on a terminal, and elsewhere a line whenever twice as much time has passed.
class long_work {
 public:
  explicit long_work(std::string program, std::FILE* out = stderr, double silent = 2)
      : program_(std::move(program)),
        out_(out),
        live_(isatty(fileno(out)) != 0),
        silent_(silent),
        teller_([this] { tell(); }) {}
  long_work(const long_work&) = delete;
  long_work& operator=(const long_work&) = delete;
  ~long_work() { finish(); }

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }
  // It says what it does from now on: "playing plans, 3 of 24".
  void at(std::string what) {
    const std::lock_guard<std::mutex> locked(mutex_);
    what_ = std::move(what);
  }
  // No more lines; the one on a terminal goes.
  void finish() {
    {
      const std::lock_guard<std::mutex> locked(mutex_);
      over_ = true;
    }
    wake_.notify_one();
    if (teller_.joinable()) teller_.join();
    if (drawn_) std::fputs("\r\x1b[K", out_);
    drawn_ = false;
    std::fflush(out_);
  }

 private:
  void tell() {
    std::unique_lock<std::mutex> locked(mutex_);
    for (double next = silent_; !over_;) {
      if (wake_.wait_for(locked, std::chrono::duration<double>(next - seconds()), [this] { return over_; }))
        return;
      if (!what_.empty()) {
        const std::string line = program_ + ": " + std::to_string(std::lround(seconds())) + " s, " + what_;
        std::fprintf(out_, live_ ? "\r%s\x1b[K" : "%s\n", progress::clip(line, 79).c_str());
        std::fflush(out_);
        drawn_ = live_;
      }
      next = live_ ? seconds() + 1 : 2 * std::max(next, 1.0);
    }
  }

  std::string program_, what_;
  std::FILE* out_;
  bool live_, over_ = false, drawn_ = false;
  double silent_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread teller_;  // the last, as it reads the others
};

}  // namespace motet
