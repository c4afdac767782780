// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/exchange/exchanged_pieces.hpp>

#include <doctest/doctest.h>

#include <barrier>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "transport_laws.hpp"

namespace motet::laws {

// Ranks of a world as threads, each with its end; all are stopped after a deadline.
template <class World, class End>
struct on_threads {
  using stopped = typename World::stopped;

  struct scene {
    End end;
    std::int32_t rank;
    World& all;
    std::barrier<>& gate;
    void next_step() {
      gate.arrive_and_wait();
      end.begin_step();
    }
    void stop() { all.stop(); }
  };

  template <class Body>
  static void run(int ranks, std::int32_t messages, const meeting_list& meetings, Body body) {
    run_scenes(ranks, messages, meetings, work_ref<scene&>(body));
  }

 private:
  static void run_scenes(int ranks, std::int32_t messages, const meeting_list& meetings,
                         work_ref<scene&> body) {
    World all(ranks, messages, meetings);
    std::barrier gate(ranks);
    std::mutex mutex;
    std::condition_variable ended;
    int running = ranks;
    std::exception_ptr failure;
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r) {
      threads.emplace_back([&, r] {
        scene own{End(all, r), r, all, gate};
        own.end.begin_step();
        std::exception_ptr why;
        try {
          body(own);
        } catch (...) {
          why = std::current_exception();
          all.stop();
        }
        // Others may wait for this rank.
        gate.arrive_and_drop();
        const std::lock_guard lock(mutex);
        if (why && !failure) failure = why;
        --running;
        ended.notify_all();
      });
    }
    bool late = false;
    {
      std::unique_lock lock(mutex);
      late = !ended.wait_for(lock, std::chrono::seconds(60), [&] { return running == 0; });
    }
    if (late) all.stop();
    for (auto& each : threads) each.join();
    if (late) FAIL("ranks did not end in time");
    if (failure) std::rethrow_exception(failure);
  }
};

}  // namespace motet::laws
