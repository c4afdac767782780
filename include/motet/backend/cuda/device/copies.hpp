// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/memory.hpp>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace motet::cuda {

// Arrays of the host and where their copies lie on the GPU. A copy is made when it is first asked for, in the
// order of the stream, and stays at its address until forget().
class host_copies {
 public:
  // Memory is taken in rooms of this size or more.
  explicit host_copies(isize smallest_room = 1 << 18) : smallest_room_(smallest_room) {}
  host_copies(const host_copies&) = delete;
  host_copies& operator=(const host_copies&) = delete;
  ~host_copies() {
    if (used_up_ != nullptr) cudaEventDestroy(used_up_);
  }

  const void* copy_of(const void* from, std::size_t bytes, cudaStream_t stream) {
    if (const auto found = at_.find(from); found != at_.end() && found->second.bytes >= bytes)
      return found->second.there;
    const isize room = round_up(static_cast<isize>(bytes), 256);
    if (room_used_ + room > pinned_.size()) {
      // Older copies stay where they are: kernels under way read them.
      if (gpu_.size() > 0) {
        old_gpu_.push_back(std::move(gpu_));
        old_pinned_.push_back(std::move(pinned_));
      }
      gpu_ = buffer<std::byte>(
          std::max({room, smallest_room_, old_gpu_.empty() ? 0 : 2 * old_gpu_.back().size()}));
      pinned_ = pinned_buffer<std::byte>(gpu_.size());
      room_used_ = 0;
    }
    std::byte *const here = pinned_.data() + room_used_, *const there = gpu_.data() + room_used_;
    room_used_ += room;
    std::memcpy(here, from, bytes);
    check(cudaMemcpyAsync(there, here, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    at_[from] = {there, bytes};
    return there;
  }

  bool empty() const { return at_.empty(); }
  // Nothing that the stream is given after this reads the copies.
  void leave(cudaStream_t stream) {
    if (used_up_ == nullptr)
      check(cudaEventCreateWithFlags(&used_up_, cudaEventDisableTiming), "cudaEventCreate");
    check(cudaEventRecord(used_up_, stream), "cudaEventRecord");
  }
  // Waits for these readers; the memory takes the next copies.
  void forget() {
    if (used_up_ != nullptr) check(cudaEventSynchronize(used_up_), "cudaEventSynchronize");
    at_.clear();
    old_gpu_.clear();
    old_pinned_.clear();
    room_used_ = 0;
  }

 private:
  struct copy {
    const void* there = nullptr;
    std::size_t bytes = 0;
  };

  isize smallest_room_;
  std::unordered_map<const void*, copy> at_;
  buffer<std::byte> gpu_;
  pinned_buffer<std::byte> pinned_;
  std::vector<buffer<std::byte>> old_gpu_;  // full, still read
  std::vector<pinned_buffer<std::byte>> old_pinned_;
  isize room_used_ = 0;
  cudaEvent_t used_up_ = nullptr;
};

}  // namespace motet::cuda
