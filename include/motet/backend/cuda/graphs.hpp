// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/copies.hpp>
#include <motet/meta/config.hpp>

#include <any>
#include <list>
#include <vector>

namespace motet::cuda {

// Work that was recorded from a stream once and is given to it again as a whole.
class recorded_work {
 public:
  recorded_work() = default;
  recorded_work(const recorded_work&) = delete;
  recorded_work& operator=(const recorded_work&) = delete;
  ~recorded_work() {
    if (run_ != nullptr) cudaGraphExecDestroy(run_);
  }

  // Records what `begin()` gives to the stream; nothing of it happens yet. Where that fails, nothing is recorded.
  template <class Begin>
  void record(cudaStream_t stream, Begin&& begin) {
    cudaGraph_t graph = nullptr;
    // Relaxed: other threads go on as they like, and a library may take memory.
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    try {
      begin();
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      cudaGetLastError();
      throw;
    }
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    const cudaError_t made = cudaGraphInstantiate(&run_, graph, 0);
    cudaGraphDestroy(graph);
    check(made, "cudaGraphInstantiate");
    check(cudaGraphUpload(run_, stream), "cudaGraphUpload");
  }
  void replay(cudaStream_t stream) const { check(cudaGraphLaunch(run_, stream), "cudaGraphLaunch"); }

  host_copies copies;  // of the host's arrays that the work reads
  std::any found;      // what the recording returned: places of sums

 private:
  cudaGraphExec_t run_ = nullptr;
};

// The records of a device by the shape of their work. A shape is recorded when it comes for the second time, so that shapes which always change cost
// nothing; those that were not used for longest make room.
class record_shelf {
 public:
  using shape = std::vector<index>;
  static constexpr std::size_t most_records = 8, most_seen = 32;

  recorded_work* find(const shape& of) {
    for (auto at = records_.begin(); at != records_.end(); ++at) {
      if (at->of != of) continue;
      records_.splice(records_.begin(), records_, at);
      return &records_.front().work;
    }
    return nullptr;
  }
  // Whether it came before; remembered in any case.
  bool came_before(const shape& of) {
    for (auto at = seen_.begin(); at != seen_.end(); ++at) {
      if (*at != of) continue;
      seen_.splice(seen_.begin(), seen_, at);
      return true;
    }
    seen_.push_front(of);
    if (seen_.size() > most_seen) seen_.pop_back();
    return false;
  }
  // An empty record. The caller waits for the stream first where full() says so: a record under way may not go.
  recorded_work& make(const shape& of) {
    if (full()) records_.pop_back();
    records_.emplace_front(of);
    return records_.front().work;
  }
  bool full() const { return records_.size() >= most_records; }
  void drop_newest() { records_.pop_front(); }
  void clear() {
    records_.clear();
    seen_.clear();
  }
  std::size_t size() const { return records_.size(); }

 private:
  struct record {
    explicit record(const shape& whose) : of(whose) {}
    shape of;
    recorded_work work;
  };
  std::list<record> records_;
  std::list<shape> seen_;
};

}  // namespace motet::cuda
