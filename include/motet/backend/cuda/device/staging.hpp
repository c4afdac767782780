// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/taken_paths.hpp>

#include <algorithm>
#include <cstring>

namespace motet::cuda {

// Brings a step's input to the GPU beside the work that goes on there. Memory of the host that the driver
// knows as pinned is read where it lies, other memory goes through pinned pieces, of which one is filled
// while another one is on its way.
class staging {
 public:
  explicit staging(engine& on) : on_(&on) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreateWithFlags(&arrived_, cudaEventDisableTiming), "cudaEventCreate");
    check(cudaEventCreateWithFlags(&read_, cudaEventDisableTiming), "cudaEventCreate");
    for (piece& each : pieces_)
      check(cudaEventCreateWithFlags(&each.free, cudaEventDisableTiming), "cudaEventCreate");
  }
  staging(const staging&) = delete;
  staging& operator=(const staging&) = delete;
  ~staging() {
    cudaStreamSynchronize(stream_);
    for (piece& each : pieces_) cudaEventDestroy(each.free);
    cudaEventDestroy(read_);
    cudaEventDestroy(arrived_);
    cudaStreamDestroy(stream_);
  }

  void bring(const void* from, void* to, std::size_t bytes) {
    if (bytes == 0) return;
    const bool pinned = is_pinned(from);
    on_->part<taken_paths>().count("", "input", pinned ? "pinned memory" : "pinned pieces",
                                   pinned ? detour{} : detour{"its memory is not pinned"});
    if (pinned) {
      check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "cudaMemcpyAsync");
      return;
    }
    for (std::size_t at = 0; at < bytes; at += piece_bytes) {
      const std::size_t size = std::min(piece_bytes, bytes - at);
      piece& own = pieces_[next_];
      next_ = (next_ + 1) % piece_count;
      if (own.room.size() == 0) own.room = pinned_buffer<std::byte>(static_cast<isize>(piece_bytes));
      check(cudaEventSynchronize(own.free), "cudaEventSynchronize");
      std::memcpy(own.room.data(), static_cast<const std::byte*>(from) + at, size);
      check(cudaMemcpyAsync(static_cast<std::byte*>(to) + at, own.room.data(), size, cudaMemcpyHostToDevice,
                            stream_),
            "cudaMemcpyAsync");
      check(cudaEventRecord(own.free, stream_), "cudaEventRecord");
    }
  }
  void brought() {
    check(cudaEventRecord(arrived_, stream_), "cudaEventRecord");
    check(cudaStreamWaitEvent(on_->stream(), arrived_, 0), "cudaStreamWaitEvent");
  }
  void used() {
    check(cudaEventRecord(read_, on_->stream()), "cudaEventRecord");
    check(cudaStreamWaitEvent(stream_, read_, 0), "cudaStreamWaitEvent");
  }

 private:
  static constexpr std::size_t piece_bytes = std::size_t(4) << 20;
  static constexpr int piece_count = 4;
  struct piece {
    pinned_buffer<std::byte> room;
    cudaEvent_t free = nullptr;
  };

  static bool is_pinned(const void* memory) {
    cudaPointerAttributes found{};
    check(cudaPointerGetAttributes(&found, memory), "cudaPointerGetAttributes");
    return found.type == cudaMemoryTypeHost || found.type == cudaMemoryTypeManaged;
  }

  engine* on_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t arrived_ = nullptr, read_ = nullptr;
  piece pieces_[piece_count];
  int next_ = 0;
};

// While this lives, the driver knows memory of the host as pinned, if it can: then it is read without a copy
// in between. It ends before that memory does.
class pinned_memory {
 public:
  pinned_memory(const void* at, std::size_t bytes) : at_(const_cast<void*>(at)) {
    const cudaError_t status = cudaHostRegister(at_, bytes, cudaHostRegisterPortable);
    if (status == cudaSuccess) return;
    cudaGetLastError();
    at_ = nullptr;
    if (status == cudaErrorHostMemoryAlreadyRegistered) return;  // somebody else did
    warnings::of_process().say(input_not_pinned, cudaGetErrorName(status),
                               sentence({bytes, " bytes: ", cudaGetErrorString(status)}));
  }
  pinned_memory(const pinned_memory&) = delete;
  pinned_memory& operator=(const pinned_memory&) = delete;
  ~pinned_memory() {
    if (at_ == nullptr) return;
    cudaDeviceSynchronize();  // copies from it may be under way
    cudaHostUnregister(at_);
  }
  bool pinned() const { return at_ != nullptr; }

 private:
  void* at_;
};

// Copies from the host's memory to the GPU's, beside what the context's stream does. Memory that is pinned
// may not change until the stream has passed brought().
template <class T>
void bring(context& ctx, const T* from, T* to, isize count) {
  ctx.note("bring", 0, static_cast<double>(count) * static_cast<double>(sizeof(T)));
  if (!ctx.measuring()) ctx.on->part<staging>().bring(from, to, as_size(count) * sizeof(T));
}
// Work that the context's stream is given from here on sees all that was brought.
inline void brought(context& ctx) {
  if (!ctx.measuring()) ctx.on->part<staging>().brought();
}
// Work that the context's stream was given so far reads what was brought; bring() waits for it from here on.
inline void used(context& ctx) {
  if (!ctx.measuring()) ctx.on->part<staging>().used();
}

}  // namespace motet::cuda
