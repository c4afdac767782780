// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/make_threads.hpp>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace motet {

// A thread for each lane of a rank that computes, from step to step: that of the first is who calls run().
class lane_threads {
 public:
  explicit lane_threads(int lanes) {
    make_threads(
        others_, "threads of a rank's lanes", 1, lanes,
        [this](int lane) { return std::thread([this, lane] { work(lane); }); }, [this] { tell_end(); });
  }
  lane_threads(const lane_threads&) = delete;
  lane_threads& operator=(const lane_threads&) = delete;
  ~lane_threads() {
    tell_end();
    for (std::thread& each : others_) each.join();
  }

  // play(lane) on the thread of each, which throws nothing; until all are through.
  template <class Play>
  void run(Play play) {
    {
      const std::lock_guard lock(mutex_);
      play_ = [](void* what, int lane) { (*static_cast<Play*>(what))(lane); };
      argument_ = &play;
      running_ = others_.size();
      ++step_;
    }
    changed_.notify_all();
    play(0);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return running_ == 0; });
  }

 private:
  void tell_end() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
  }
  void work(int lane) {
    for (std::uint64_t seen = 0;; ++seen) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ending_ || step_ != seen; });
        if (ending_) return;
      }
      play_(argument_, lane);
      const std::lock_guard lock(mutex_);
      if (--running_ == 0) changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  void (*play_)(void*, int) = nullptr;
  void* argument_ = nullptr;
  std::size_t running_ = 0;  // of the others, in this step
  std::uint64_t step_ = 0;
  bool ending_ = false;
  std::vector<std::thread> others_;  // last: they start using the rest at once
};

}  // namespace motet
