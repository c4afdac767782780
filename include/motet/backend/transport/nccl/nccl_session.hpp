// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/kernel_loading.hpp>
#include <motet/backend/transport/meet/forum.hpp>
#include <motet/backend/transport/nccl/nccl_communicator.hpp>

#include <fstream>

namespace motet::nccl {

struct session_options {
  std::int32_t local_rank = 0;  // among the ranks on this machine, as the launcher counts them
  waiting patience{};
};

// NCCL from here to the end of the scope: this rank's GPU, and the communicator of all ranks, of which others
// are split. All ranks make it at once, on the thread that then makes worlds.
class session {
 public:
  session(forum at, session_options wanted)
      : everyone_(std::move(at)), patience_(std::move(wanted.patience)) {
    load_kernels_first();
    const int gpus = cuda::require_gpus();
    cuda::warn_of_late_kernels();
    if (wanted.local_rank >= gpus)
      fail(gpu_taken_twice,
           sentence({"rank ", everyone_.rank(), " is number ", wanted.local_rank, " on this machine, where ",
                     gpus, (gpus == 1 ? " GPU is" : " GPUs are"), " visible"}));
    cuda::check(cudaSetDevice(wanted.local_rank), "cudaSetDevice");
    compare_with_others(wanted.local_rank);
    ncclUniqueId id{};
    std::string text;
    if (everyone_.rank() == 0) {
      check(ncclGetUniqueId(&id), "ncclGetUniqueId");
      text.assign(id.internal, sizeof id.internal);
    }
    text = everyone_.all_gather(text).front();
    std::memcpy(id.internal, text.data(), std::min(text.size(), sizeof id.internal));
    all_ = communicator(id, everyone_.rank(), everyone_.ranks(), patience_);
    current() = this;
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() {
    if (current() == this) current() = nullptr;
  }

  const forum& everyone() const { return everyone_; }
  const communicator& all() const { return all_; }
  const waiting& patience() const { return patience_; }
  // Each of these sets of ranks gets a communicator, which is empty where this rank is no member. All ranks
  // make the call.
  std::vector<communicator> split(const std::vector<std::vector<std::int32_t>>& sets,
                                  int channels = 0) const {
    return split_off(all_, everyone_.rank(), sets, channels, patience_);
  }

  // The one of this thread.
  static session& here() {
    if (current() == nullptr)
      fail(meeting_refused, "no nccl::session is alive on this thread; make one first");
    return *current();
  }

 private:
  static session*& current() {
    thread_local session* one = nullptr;
    return one;
  }
  // Two ranks on one GPU would wait for each other for ever, and NCCL's versions do not mix.
  void compare_with_others(int gpu) const {
    char bus[64] = "";
    cuda::check(cudaDeviceGetPCIBusId(bus, sizeof bus, gpu), "cudaDeviceGetPCIBusId");
    std::string machine;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> machine;
    const std::vector<std::string> seats = everyone_.all_gather(machine + " " + bus);
    for (std::size_t a = 0; a < seats.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (seats[a] == seats[b])
          fail(gpu_taken_twice, sentence({"ranks ", b, " and ", a, " both have the GPU at ",
                                          seats[a].substr(seats[a].find(' ') + 1), " of one machine"}));
    const std::string own = version_text(version());
    const std::vector<std::string> versions = everyone_.all_gather(own);
    for (std::size_t r = 0; r < versions.size(); ++r)
      if (versions[r] != versions[0])
        fail(gpu_library_versions_differ,
             sentence({"NCCL is ", versions[0], " on rank 0 and ", versions[r], " on rank ", r}));
  }

  forum everyone_;
  waiting patience_;
  communicator all_;
};

}  // namespace motet::nccl
