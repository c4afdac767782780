// SPDX-License-Identifier: Apache-2.0
// Rounds of a team whose threads compute and meet at two barriers, the first computing more than the others,
// by itself and beside programs that only compute. `fair` says which share of that by itself would be fair,
// where all processors are the team's: processors over threads that want one.
//
//   bench_waiting [--threads 0] [--others 2] [--microseconds 20] [flags of Google Benchmark]
#include "suite.hpp"

#include <motet/backend/cpu/device/team.hpp>

#include <atomic>
#include <ctime>
#include <thread>

namespace {

using namespace motet;

double computed_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void wait_for_all(benchmark::State& state, int threads, isize others, isize microseconds) {
  constexpr double seconds = 0.2;  // of an iteration
  std::atomic<bool> over{false};
  std::vector<std::thread> beside;
  for (isize t = 0; t < others; ++t)
    beside.emplace_back([&] {
      while (!over.load(std::memory_order_relaxed)) {
      }
    });
  cpu::team crew(threads);
  bench::series rates;
  for (auto _ : state) {
    isize rounds = 0;
    std::atomic<bool> goes_on{true};
    const double took = bench::series().take([&] {
      const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
      crew.run([&](int thread) {
        const double each = 1e-6 * static_cast<double>(microseconds) * (thread == 0 ? 1 : 0.7);
        while (goes_on.load(std::memory_order_relaxed)) {
          for (const double until = computed_seconds() + each; computed_seconds() < until;) {
          }
          crew.barrier();
          if (thread == 0) {
            ++rounds;
            goes_on.store(std::chrono::steady_clock::now() < end, std::memory_order_relaxed);
          }
          crew.barrier();
        }
      });
    });
    state.SetIterationTime(took);
    rates.add(static_cast<double>(rounds) / took);
  }
  over = true;
  for (std::thread& each : beside) each.join();
  state.counters["rounds_a_second"] = rates.median();
  state.counters["fair"] =
      std::min(1.0, std::thread::hardware_concurrency() / static_cast<double>(threads + others));
}

}  // namespace

int main(int count, char** words) {
  motet::isize threads = 0, most = 2, microseconds = 20;
  motet::options line("bench_waiting", "what threads that wait for each other get beside other programs");
  line.count("--threads", threads, 0, 256, "of the team; 0: as many as processors");
  line.count("--others", most, 0, 256, "threads that only compute, at most");
  line.count("--microseconds", microseconds, 1, 100000, "that a thread computes between barriers");
  return bench::run(count, words, line, [&] {
    const int all = threads > 0 ? static_cast<int>(threads)
                                : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    for (motet::isize others = 0; others <= most; ++others)
      bench::add("waiting/threads:" + std::to_string(all) + "/others:" + std::to_string(others), wait_for_all,
                 all, others, microseconds)
          ->Iterations(15)
          ->Unit(benchmark::kMillisecond);
  });
}
