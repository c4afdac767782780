// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

namespace motet {

// Decoded samples up to a number of bytes. What is in stays in: an epoch visits every sample once, so
// throwing out would only cost. Any thread may use it.
template <class Made>
class decoded_cache {
 public:
  decoded_cache(isize samples, isize budget) : slots_(budget > 0 ? as_size(samples) : 0), left_(budget) {}
  decoded_cache(const decoded_cache&) = delete;
  decoded_cache& operator=(const decoded_cache&) = delete;
  ~decoded_cache() {
    for (auto& slot : slots_) delete slot.load();
  }

  const Made* find(isize i) const {
    return slots_.empty() ? nullptr : slots_[as_size(i)].load(std::memory_order_acquire);
  }
  void keep(isize i, const Made& made) {
    if (slots_.empty()) return;
    const isize bytes = made.bytes() + static_cast<isize>(sizeof made) + 48;
    if (left_.fetch_sub(bytes) < bytes) {
      left_.fetch_add(bytes);
      return;
    }
    const Made* expected = nullptr;
    auto copy = std::make_unique<const Made>(made);
    if (slots_[as_size(i)].compare_exchange_strong(expected, copy.get(), std::memory_order_release)) {
      static_cast<void>(copy.release());  // the slot has it
    } else {
      left_.fetch_add(bytes);
    }
  }

 private:
  std::vector<std::atomic<const Made*>> slots_;
  std::atomic<isize> left_;
};

}  // namespace motet
