// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/api.hpp>
#include <motet/meta/config.hpp>

#include <utility>

namespace motet::cuda {

namespace detail {

// Takes and gives whole buffers; a step itself takes its memory from arenas.
struct on_gpu {
  static void* take(std::size_t bytes) {
    void* found = nullptr;
    const cudaError_t status = cudaMalloc(&found, bytes);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      std::size_t left = 0, all = 0;
      check(cudaMemGetInfo(&left, &all), "cudaMemGetInfo");
      fail(gpu_memory_full, sentence({"a buffer of ", bytes, " bytes; ", left, " of ", all, " are free"}));
    }
    check(status, "cudaMalloc");
    return found;
  }
  static void give(void* memory) { cudaFree(memory); }
};
// Pinned memory is the host's, and the GPU reads and writes it without a copy by the driver.
struct pinned {
  static void* take(std::size_t bytes) {
    void* found = nullptr;
    check(cudaHostAlloc(&found, bytes, cudaHostAllocPortable), "cudaHostAlloc");
    return found;
  }
  static void give(void* memory) { cudaFreeHost(memory); }
};

template <class T, class Source>
class owned {
 public:
  owned() = default;
  explicit owned(isize count) : size_(count) {
    if (count > 0) data_ = static_cast<T*>(Source::take(as_size(count) * sizeof(T)));
  }
  owned(owned&& from) noexcept
      : data_(std::exchange(from.data_, nullptr)), size_(std::exchange(from.size_, 0)) {}
  owned& operator=(owned&& from) noexcept {
    std::swap(data_, from.data_);
    std::swap(size_, from.size_);
    return *this;
  }
  owned(const owned&) = delete;
  owned& operator=(const owned&) = delete;
  ~owned() {
    if (data_ != nullptr) Source::give(data_);
  }

  T* data() const { return data_; }
  isize size() const { return size_; }

 private:
  T* data_ = nullptr;
  isize size_ = 0;
};

}  // namespace detail

// Uninitialised memory of the current GPU, as motet::buffer is of the host; the host may not touch it.
template <class T>
using buffer = detail::owned<T, detail::on_gpu>;

// Uninitialised memory of the host that stays where it is.
template <class T>
class pinned_buffer : public detail::owned<T, detail::pinned> {
 public:
  using detail::owned<T, detail::pinned>::owned;
  T& operator[](isize i) const { return this->data()[i]; }
};

}  // namespace motet::cuda
