// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/nccl/nccl_group.hpp>

#include <cstdio>
#include <exception>
#include <thread>
#include <vector>

#include "laws/free_port.hpp"

// Ranks of NCCL as threads of one process, each with a GPU of its own.

namespace motet::laws {

// Says whether there are so many GPUs; emulated ones always are.
inline bool has_gpus(std::int32_t count) {
#if defined(__CUDACC__)
  int found = 0;
  cuda::check(cudaGetDeviceCount(&found), "cudaGetDeviceCount");
  if (found < count) std::printf("left out: %d GPUs are wanted, %d are here\n", count, found);
  return found >= count;
#else
  emulation::set_gpus(count);
  return true;
#endif
}

// Calls body(session) on a thread for each rank, and throws what the first one of them threw.
template <class Body>
bool run_nccl_ranks(std::int32_t ranks, Body&& body, double seconds = 60) {
  if (!has_gpus(ranks)) return false;
  const std::uint16_t port = free_port();
  std::vector<std::exception_ptr> problems(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (std::int32_t r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      try {
        const rendezvous_options here{
            .rank = r, .ranks = ranks, .port = port, .token = "of the tests", .seconds = seconds};
        nccl::session_options options;
        options.local_rank = r;
        options.patience.seconds = seconds;
        nccl::session session(forum(here), options);
        body(session);
      } catch (...) {
        problems[static_cast<std::size_t>(r)] = std::current_exception();
      }
    });
  for (std::thread& each : threads) each.join();
  for (const std::exception_ptr& each : problems)
    if (each) std::rethrow_exception(each);
  return true;
}

// Memory of the GPU that says what it was filled with.
class gpu_bytes {
 public:
  explicit gpu_bytes(const std::vector<std::byte>& from)
      : memory_(std::max<isize>(static_cast<isize>(from.size()), 1)), size_(from.size()) {
    if (size_ > 0)
      cuda::check(cudaMemcpy(memory_.data(), from.data(), size_, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  explicit gpu_bytes(std::size_t size) : gpu_bytes(std::vector<std::byte>(size, std::byte{0x5a})) {}
  std::byte* data() const { return memory_.data(); }
  // Once `on` is through.
  std::vector<std::byte> back(cuda::engine& on) const {
    on.finish();
    std::vector<std::byte> found(size_);
    if (size_ > 0)
      cuda::check(cudaMemcpy(found.data(), memory_.data(), size_, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return found;
  }

 private:
  cuda::buffer<std::byte> memory_;
  std::size_t size_;
};

}  // namespace motet::laws
