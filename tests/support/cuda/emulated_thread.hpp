// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/block.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

// The thread of a kernel that an emulated block runs: what gpu_thread of backend/cuda/device/block.hpp
// offers, on the CPU. What all threads (or all lanes of a warp) must reach together is checked for that.

namespace motet::emulation {

// The shape says how a kernel was launched.
struct launch_shape {
  isize blocks = 0;
  int threads = 0;
  isize shared = 0;
};

class emulated_thread {
 public:
  int thread() const { return thread_; }
  int threads() const { return shape_.threads; }
  int lane() const { return thread_ % cuda::warp_size; }
  int warp() const { return thread_ / cuda::warp_size; }
  int warps() const { return shape_.threads / cuda::warp_size; }
  isize block() const { return block_; }
  isize blocks() const { return shape_.blocks; }
  isize number() const { return block_ * shape_.threads + thread_; }
  isize all() const { return shape_.blocks * shape_.threads; }

  void barrier() { wait_for_block(); }
  // The lanes of a warp see what each of them wrote.
  void warp_barrier() { wait_for_warp(); }
  template <class T>
  T* shared(isize count) {
    static_assert(alignof(T) <= 16 && std::is_trivially_copyable_v<T>);
    return static_cast<T*>(take_shared(count * static_cast<isize>(sizeof(T))));
  }
  template <class T>
  T shuffle(T value, int lane) {
    static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                  "a GPU shuffles numbers of 4 or 8 bytes");
    return of_all_lanes(value)[lane & (cuda::warp_size - 1)];
  }
  // What each lane of the warp shows, until this one shows something again.
  template <class T>
  const T* of_all_lanes(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= most_shown && alignof(T) <= 16);
    return static_cast<const T*>(show(&value, sizeof(T)));
  }
  template <class T>
  T shuffle_xor(T value, int mask) {
    return shuffle(value, lane() ^ mask);
  }
  template <class T>
  T atomic_add(T* word, T value) {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int> ||
                  std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long>);
    return std::atomic_ref<T>(*word).fetch_add(value, std::memory_order_relaxed);
  }
  template <class T>
  T atomic_max(T* word, T value) {
    static_assert(std::is_same_v<T, int> || std::is_same_v<T, unsigned> ||
                  std::is_same_v<T, unsigned long long>);
    std::atomic_ref<T> at(*word);
    T seen = at.load(std::memory_order_relaxed);
    while (seen < value && !at.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
    return seen;
  }

  // Copies into shared memory beside other work (of zeros, where `from` is nothing). A copy arrives when it
  // is awaited, the latest time there is; as it may begin at once, the place holds from now on what no kernel
  // expects.
  void copy_later(void* to, const void* from, int bytes) {
    if (copies_ == most_copies) too_many_copies();
    std::memset(to, 0xff, static_cast<std::size_t>(bytes));
    copy_[copies_++] = {to, from, bytes, closed_};
  }
  void close_copies() { ++closed_; }
  void await_copies(int open) {
    int left = 0;
    for (int i = 0; i < copies_; ++i) {
      const background_copy each = copy_[i];
      if (each.group >= closed_ - open) copy_[left++] = each;
      else if (each.from != nullptr) std::memcpy(each.to, each.from, static_cast<std::size_t>(each.bytes));
      else std::memset(each.to, 0, static_cast<std::size_t>(each.bytes));
    }
    copies_ = left;
  }

 private:
  friend class block_runner;
  struct background_copy {
    void* to;
    const void* from;
    int bytes, group;
  };
  static constexpr int most_copies = 160;
  [[noreturn]] void too_many_copies();
  void wait_for_block();
  void wait_for_warp();
  void* take_shared(isize bytes);
  static constexpr std::size_t most_shown = 24;  // bytes
  const void* show(const void* value, std::size_t bytes);

  launch_shape shape_;
  isize block_ = 0;
  int thread_ = 0;
  isize used_ = 0;
  int taken_ = 0;
  unsigned exchanges_ = 0, barriers_ = 0;
  background_copy copy_[most_copies];  // under way; the first copies_ of them
  int copies_ = 0, closed_ = 0;
};

}  // namespace motet::emulation
