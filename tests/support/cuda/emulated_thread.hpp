// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/block.hpp>

#include <atomic>
#include <type_traits>

// The thread of a kernel that an emulated block runs: what gpu_thread of backend/cuda/block.hpp offers, on the CPU. What all threads (or all lanes
// of a warp) must reach together is checked for that.

namespace motet::emulation {

// How a kernel was launched.
struct launch_shape {
  index blocks = 0;
  int threads = 0;
  index shared = 0;
};

class emulated_thread {
 public:
  int thread() const { return thread_; }
  int threads() const { return shape_.threads; }
  int lane() const { return thread_ % cuda::warp_size; }
  int warp() const { return thread_ / cuda::warp_size; }
  int warps() const { return shape_.threads / cuda::warp_size; }
  index block() const { return block_; }
  index blocks() const { return shape_.blocks; }
  index number() const { return block_ * shape_.threads + thread_; }
  index all() const { return shape_.blocks * shape_.threads; }

  void barrier() { wait_for_block(); }
  // The lanes of a warp see what each of them wrote.
  void warp_barrier() { wait_for_warp(); }
  template <class T>
  T* shared(index count) {
    static_assert(alignof(T) <= 16 && std::is_trivially_copyable_v<T>);
    return static_cast<T*>(take_shared(count * static_cast<index>(sizeof(T))));
  }
  template <class T>
  T shuffle(T value, int lane) {
    static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "a GPU shuffles numbers of 4 or 8 bytes");
    T found;
    exchange(&value, &found, sizeof(T), lane & (cuda::warp_size - 1));
    return found;
  }
  template <class T>
  T shuffle_xor(T value, int mask) {
    return shuffle(value, lane() ^ mask);
  }
  template <class T>
  T atomic_add(T* place, T value) {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int> || std::is_same_v<T, unsigned> ||
                  std::is_same_v<T, unsigned long long>);
    return std::atomic_ref<T>(*place).fetch_add(value, std::memory_order_relaxed);
  }
  template <class T>
  T atomic_max(T* place, T value) {
    static_assert(std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long>);
    std::atomic_ref<T> at(*place);
    T seen = at.load(std::memory_order_relaxed);
    while (seen < value && !at.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
    return seen;
  }

 private:
  friend class block_runner;
  void wait_for_block();
  void wait_for_warp();
  void* take_shared(index bytes);
  void exchange(const void* value, void* found, std::size_t bytes, int from);

  launch_shape shape_;
  index block_ = 0;
  int thread_ = 0;
  index used_ = 0;
  int taken_ = 0;
  unsigned exchanges_ = 0, barriers_ = 0;
};

}  // namespace motet::emulation
