// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/engine.hpp>
#include <motet/backend/cuda/device/event.hpp>

#if !__has_include(<nccl.h>)
#error \
    "motet: the NCCL transport needs nccl.h (NVIDIA's packages libnccl2 libnccl-dev); without it ranks of one process share a GPU by shared_gpu"
#endif
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace motet::nccl {

inline void check(ncclResult_t status, const char* call) {
  if (status != ncclSuccess && status != ncclInProgress)
    fail(gpu_library_failed, std::string("NCCL's ") + call + ": " + ncclGetErrorString(status) + "; " +
                                 ncclGetLastError(nullptr));
}
// "2.28.9".
inline std::string version_text(int number) {
  return sentence({number / 10000, ".", number / 100 % 100, ".", number % 100});
}
inline int version() {
  int number = 0;
  check(ncclGetVersion(&number), "ncclGetVersion");
  return number;
}

struct waiting {
  double seconds = 120;               // for calls of all ranks, such as making a communicator
  std::function<void()> meanwhile{};  // called now and then; may throw, and then the communicator is aborted
};

// Ranks that do collectives together, with a stream of their own. Calls never block: who waits polls, and an
// error of another rank ends the wait.
class communicator {
 public:
  communicator() = default;
  // All of `ranks` make it at once, from the id that one of them drew. Begun as an empty one, so that one
  // given up is aborted by the destructor.
  communicator(const ncclUniqueId& id, std::int32_t rank, std::int32_t ranks, const waiting& patience)
      : communicator() {
    ncclConfig_t config = options();
    make("ncclCommInitRankConfig", patience,
         [&] { return ncclCommInitRankConfig(&handle_, ranks, id, rank, &config); });
  }
  communicator(communicator&& from) noexcept { swap(from); }
  communicator& operator=(communicator&& from) noexcept {
    swap(from);
    return *this;
  }
  ~communicator() {
    if (handle_ == nullptr) return;
    // After a failure kernels, or the other ranks' half of making it, may wait for ranks that are gone.
    if (std::uncaught_exceptions() > 0) abort();
    if (stream_ != nullptr) {
      if (!aborted_) cudaStreamSynchronize(stream_);
      cudaStreamDestroy(stream_);
    }
    if (!aborted_) ncclCommDestroy(handle_);
  }

  // `members` (in this communicator's ranks) get a communicator of their own, in their order; it is empty on
  // others. All ranks make the call; sets of one call are disjoint, and `mine` is this rank's, or negative.
  // channels: at most so many blocks of the GPU (0: as NCCL likes).
  communicator split(std::int32_t mine, std::int32_t key, int channels, const waiting& patience) const {
    ncclConfig_t config = options();
    if (channels > 0) config.maxCTAs = channels;
    communicator made;
    made.make(
        "ncclCommSplit", patience,
        [&] {
          return ncclCommSplit(handle_, mine < 0 ? NCCL_SPLIT_NOCOLOR : mine, key, &made.handle_, &config);
        },
        handle_, mine >= 0);
    return made;
  }

  explicit operator bool() const { return handle_ != nullptr; }
  ncclComm_t get() const { return handle_; }
  cudaStream_t stream() const { return stream_; }
  std::int32_t size() const {
    int count = 0;
    check(ncclCommCount(handle_, &count), "ncclCommCount");
    return count;
  }

  // Work of this communicator's stream comes after what was begun on `other` until now.
  void after(cudaStream_t other, cuda::event& by) const {
    by.mark(other);
    by.hold(stream_);
  }
  // Calls begun by body(handle) run as one.
  template <class Body>
  void grouped(const waiting& patience, Body&& body) const {
    check(ncclGroupStart(), "ncclGroupStart");
    try {
      body(handle_);
    } catch (...) {
      ncclGroupEnd();
      throw;
    }
    check(ncclGroupEnd(), "ncclGroupEnd");
    settle("ncclGroupEnd", patience);
  }
  // Waits until what was called is under way on the stream.
  void settle(const char* call, const waiting& patience) const { settle(handle_, call, patience); }
  // An error is thrown when this or another rank failed.
  void look() const {
    ncclResult_t found = ncclSuccess;
    check(ncclCommGetAsyncError(handle_, &found), "ncclCommGetAsyncError");
    check(found, "communicator");
  }
  bool is_aborted() const { return aborted_; }
  // Kernels that wait for other ranks end; nothing works any more.
  void abort() noexcept {
    if (handle_ != nullptr && !std::exchange(aborted_, true)) ncclCommAbort(handle_);
  }

 private:
  static ncclConfig_t options() {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    return config;
  }
  static void settle(ncclComm_t handle, const char* call, const waiting& patience) {
    const auto begin = std::chrono::steady_clock::now();
    for (int turn = 0;; ++turn) {
      ncclResult_t found = ncclSuccess;
      check(ncclCommGetAsyncError(handle, &found), "ncclCommGetAsyncError");
      check(found, call);
      if (found == ncclSuccess) return;
      if (patience.meanwhile) patience.meanwhile();
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > patience.seconds)
        fail(gpu_library_failed,
             sentence({"NCCL's ", call, " is not done after ", patience.seconds, " s; a rank is missing"}));
      if (turn > 100) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  // `by`: whose call it is; the new one's own where it has no parent.
  template <class Call>
  void make(const char* name, const waiting& patience, Call&& call, ncclComm_t by = nullptr,
            bool wanted = true) {
    check(call(), name);
    if (by != nullptr) settle(by, name, patience);
    if (!wanted) return;
    settle(handle_, name, patience);
    cuda::check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, highest_priority()),
                "cudaStreamCreateWithPriority");
  }
  // Messages are short, and somebody waits for them.
  static int highest_priority() {
    int least = 0, most = 0;
    cuda::check(cudaDeviceGetStreamPriorityRange(&least, &most), "cudaDeviceGetStreamPriorityRange");
    return most;
  }
  void swap(communicator& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(stream_, other.stream_);
    std::swap(aborted_, other.aborted_);
  }

  ncclComm_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
  bool aborted_ = false;
};

// Each of these sets of ranks gets a communicator, which is empty where this rank is no member. Sets without
// common ranks are split off together.
inline std::vector<communicator> split_off(const communicator& from, std::int32_t rank,
                                           const std::vector<std::vector<std::int32_t>>& sets, int channels,
                                           const waiting& patience) {
  std::vector<communicator> made(sets.size());
  std::vector<bool> done(sets.size(), false);
  for (std::size_t left = sets.size(); left > 0;) {
    std::vector<std::int32_t> busy;
    std::int32_t mine = -1, key = 0;
    for (std::size_t s = 0; s < sets.size(); ++s) {
      const auto is_busy = [&](std::int32_t each) {
        return std::find(busy.begin(), busy.end(), each) != busy.end();
      };
      if (done[s] || std::any_of(sets[s].begin(), sets[s].end(), is_busy)) continue;
      done[s] = true;
      --left;
      busy.insert(busy.end(), sets[s].begin(), sets[s].end());
      for (std::size_t m = 0; m < sets[s].size(); ++m)
        if (sets[s][m] == rank) {
          mine = static_cast<std::int32_t>(s);
          key = static_cast<std::int32_t>(m);
        }
    }
    communicator one = from.split(mine, key, channels, patience);
    if (mine >= 0) made[as_size(mine)] = std::move(one);
  }
  return made;
}

}  // namespace motet::nccl
