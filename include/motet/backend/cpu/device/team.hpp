// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/make_threads.hpp>
#include <motet/backend/core/sleepers.hpp>
#include <motet/meta/config.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace motet::cpu {

// Threads that run one function together, once for each step, and meet at barriers inside it. They are not
// forked and joined around each operation: a step of a deep net has thousands of operations, and most of them
// need no other thread's result.
class team {
 public:
  explicit team(int threads);
  team(const team&) = delete;
  team& operator=(const team&) = delete;
  ~team();

  int size() const { return size_; }

  // Runs function(thread) on every thread of the team; the caller is thread 0. The first exception is thrown
  // again here: a thread that throws leaves the others alone at their next barrier, and they leave too.
  template <class Function>
  void run(Function&& function) {
    if (size_ == 1) return function(0);
    job_ = [](void* f, int thread) { (*static_cast<std::remove_reference_t<Function>*>(f))(thread); };
    argument_ = const_cast<void*>(static_cast<const void*>(&function));
    run_job();
  }

  // Every thread arrives, then every thread goes on.
  void barrier();

  // A word for each thread, for small reductions: write own, barrier, read all, barrier.
  double& slot(int thread) { return slots_[as_size(thread)].value; }

 private:
  struct alignas(64) padded {
    double value = 0;
  };

  void tell_end();

  // A barrier that another thread will not reach throws this.
  struct left_alone {};

  void run_job();
  void call(int thread);
  void work(int thread);
  bool comes(unsigned seen) const;
  void next_turn();

  int size_;
  void (*job_)(void*, int) = nullptr;
  void* argument_ = nullptr;
  std::atomic<int> running_{0};
  std::atomic<int> arrived_{0};
  std::atomic<unsigned> turn_{0};
  sleepers asleep_;
  std::atomic<bool> abandoned_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<unsigned> generation_{0};
  bool stop_ = false;
  std::exception_ptr failure_;
  std::vector<padded> slots_ = std::vector<padded>(as_size(size_));
  std::vector<std::thread> workers_;  // last: they start using the rest at once
};

#if !defined(MOTET_COMPILED_KERNELS)
MOTET_BODY team::team(int threads) : size_(threads < 1 ? 1 : threads) {
  make_threads(
      workers_, "threads of a rank", 1, size_, [this](int t) { return std::thread([this, t] { work(t); }); },
      [this] { tell_end(); });
}
MOTET_BODY team::~team() {
  tell_end();
  for (std::thread& each : workers_) each.join();
}
MOTET_BODY void team::tell_end() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    generation_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
}

namespace detail {
// Spins shortly, as shares are even, then yields, as cores may be shared, and sleeps when that took long
// (backend/core/sleepers.hpp). What was written before the word changed is asked for once it has: the thread
// sanitizer pays for each time.
template <class Word>
void wait_while(const std::atomic<Word>& word, Word is, const sleepers& asleep) {
  constexpr int spins = 4000;
  constexpr auto patience = std::chrono::milliseconds(1);
  const auto changed = [&] {
    return word.load(std::memory_order_relaxed) != is && word.load(std::memory_order_acquire) != is;
  };
  for (int spin = 0; spin < spins; ++spin)
    if (changed()) return;
  const auto end = std::chrono::steady_clock::now() + patience;
  while (yield_shortly()) {
    if (changed()) return;
    if (std::chrono::steady_clock::now() >= end) break;
  }
  asleep.sleep_while(word, is);
}
}  // namespace detail

MOTET_BODY void team::run_job() {
  running_.store(size_ - 1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    generation_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  call(0);
  for (int left; (left = running_.load(std::memory_order_acquire)) != 0;)
    detail::wait_while(running_, left, asleep_);
  if (failure_) {
    abandoned_.store(false, std::memory_order_relaxed);
    arrived_.store(0, std::memory_order_relaxed);
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}
MOTET_BODY void team::barrier() {
  if (size_ == 1) return;
  const unsigned turn = turn_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
    arrived_.store(0, std::memory_order_relaxed);
    next_turn();
    return;
  }
  if (!abandoned_.load(std::memory_order_acquire)) detail::wait_while(turn_, turn, asleep_);
  if (abandoned_.load(std::memory_order_acquire)) throw left_alone{};
}
// Who is about to sleep sees the new turn, or is seen by whoever wakes.
MOTET_BODY void team::next_turn() {
  turn_.fetch_add(1, std::memory_order_seq_cst);
  asleep_.wake(turn_);
}
MOTET_BODY void team::call(int thread) {
  try {
    job_(argument_, thread);
  } catch (const left_alone&) {
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    abandoned_.store(true, std::memory_order_release);
    next_turn();
  }
}
// Says whether the next function comes soon: instructions of a program follow each other closely, and a
// thread that fell asleep wakes up later than a small one takes.
MOTET_BODY bool team::comes(unsigned seen) const {
  for (int spin = 0; spin < 4200; ++spin) {
    if (generation_.load(std::memory_order_relaxed) != seen) return true;
    if (spin > 4000 && !yield_shortly()) return false;
  }
  return false;
}
MOTET_BODY void team::work(int thread) {
  unsigned seen = 0;
  for (;;) {
    if (!comes(seen)) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return generation_.load(std::memory_order_relaxed) != seen; });
    }
    seen = generation_.load(std::memory_order_acquire);
    if (stop_) return;
    call(thread);
    if (running_.fetch_sub(1, std::memory_order_seq_cst) == 1) asleep_.wake(running_);
  }
}
#endif

}  // namespace motet::cpu
