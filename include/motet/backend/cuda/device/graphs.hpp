// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/copies.hpp>
#include <motet/meta/config.hpp>

#include <any>
#include <deque>
#include <functional>
#include <list>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace motet::cuda {

// Work that was recorded from a stream once and is given to it again as a whole; between parts of it the host
// may have something to do, such as a call on other ranks.
class recorded_work {
 public:
  recorded_work() = default;
  recorded_work(const recorded_work&) = delete;
  recorded_work& operator=(const recorded_work&) = delete;
  ~recorded_work() { clear(); }

  // Records what `begin()` gives to the stream; nothing of it happens yet. Where that fails, nothing is
  // recorded.
  template <class Begin>
  void record(cudaStream_t stream, Begin&& begin) {
    clear();
    stream_ = stream;
    try {
      begin_part();
      begin();
      end_part();
      for (const part& each : parts_)
        if (each.graph != nullptr) check(cudaGraphUpload(each.graph, stream), "cudaGraphUpload");
    } catch (...) {
      cudaGraph_t graph = nullptr;
      if (std::exchange(open_, false)) cudaStreamEndCapture(stream, &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      cudaGetLastError();
      clear();
      throw;
    }
  }
  // Only `begin()` may ask for it: the host makes this call when a replay comes here, and not now.
  void then(std::function<void()> call) {
    end_part();
    parts_.push_back({nullptr, std::move(call)});
    begin_part();
  }
  void replay(cudaStream_t stream) const {
    for (const part& each : parts_)
      if (each.graph != nullptr) check(cudaGraphLaunch(each.graph, stream), "cudaGraphLaunch");
      else each.call();
  }
  std::size_t graphs() const {
    std::size_t count = 0;
    for (const part& each : parts_) count += each.graph != nullptr;
    return count;
  }

  host_copies copies{1 << 12};  // of the host's arrays that the work reads
  std::any found;               // what the recording left on the host

 private:
  struct part {
    cudaGraphExec_t graph = nullptr;  // none: a call
    std::function<void()> call;
  };

  void begin_part() {
    // Relaxed: other threads go on as they like, and a library may take memory.
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    open_ = true;
  }
  void end_part() {
    cudaGraph_t graph = nullptr;
    open_ = false;
    check(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    std::size_t nodes = 0;
    cudaGraphExec_t made = nullptr;
    cudaError_t status = cudaGraphGetNodes(graph, nullptr, &nodes);
    if (status == cudaSuccess && nodes > 0) status = cudaGraphInstantiate(&made, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "cudaGraphInstantiate");
    if (made != nullptr) parts_.push_back({made, {}});
  }
  void clear() {
    for (const part& each : parts_)
      if (each.graph != nullptr) cudaGraphExecDestroy(each.graph);
    parts_.clear();
  }

  cudaStream_t stream_ = nullptr;
  bool open_ = false;
  std::vector<part> parts_;
};

// The records of a stream by the shape of their work. A shape is recorded when it comes for the second time,
// so that shapes which always change cost nothing; where there is no room, one that was not used for long
// goes, and while there is none, new shapes are not recorded. Nor are they for a time after more shapes were
// new than known.
class record_shelf {
 public:
  using shape = std::vector<isize>;

  explicit record_shelf(std::size_t most_records = 8) : most_(most_records) {}

  recorded_work* find(const shape& of) {
    const auto at = by_hash_.find(hash(of));
    const bool known = at != by_hash_.end() && at->second->of == of;
    count(known);
    if (!known) return nullptr;
    records_.splice(records_.begin(), records_, at->second);
    records_.front().used = finds_;
    return &records_.front().work;
  }
  // A shape that came before may be recorded; in most cases it is remembered.
  bool came_before(const shape& of) {
    if (resting() || (full() && finds_ - records_.back().used < 8 * most_)) return false;
    if (by_hash_.contains(hash(of))) return false;  // another shape of this hash
    if (!seen_.insert(hash(of)).second) return true;
    order_.push_back(hash(of));
    if (order_.size() > most_seen()) {
      seen_.erase(order_.front());
      order_.pop_front();
    }
    return false;
  }
  // An empty record of a shape that is not found. The caller waits for the stream first where full() says so:
  // a record under way may not go.
  recorded_work& make(const shape& of) {
    if (full()) {
      by_hash_.erase(hash(records_.back().of));
      records_.pop_back();
    }
    records_.emplace_front(of);
    records_.front().used = finds_;
    by_hash_[hash(of)] = records_.begin();
    return records_.front().work;
  }
  bool full() const { return records_.size() >= most_; }
  void drop_newest() {
    by_hash_.erase(hash(records_.front().of));
    records_.pop_front();
  }
  void clear() {
    records_.clear();
    by_hash_.clear();
    seen_.clear();
    order_.clear();
    asked_ = known_ = rest_ = finds_ = 0;
  }
  std::size_t size() const { return records_.size(); }
  std::size_t most_records() const { return most_; }
  std::size_t most_seen() const { return 4 * most_; }
  // New shapes are not looked at for now.
  bool resting() const { return rest_ > 0; }

 private:
  struct record {
    explicit record(const shape& whose) : of(whose) {}
    shape of;
    std::size_t used = 0;  // number of the find
    recorded_work work;
  };

  static std::uint64_t hash(const shape& of) {
    std::uint64_t sum = of.size();
    for (const isize each : of) {
      sum = (sum ^ static_cast<std::uint64_t>(each)) * 0x9e3779b97f4a7c15;
      sum ^= sum >> 29;
    }
    return sum;
  }
  void count(bool known) {
    ++finds_;
    if (rest_ > 0) --rest_;
    known_ += known;
    if (++asked_ < 4 * most_) return;
    if (2 * known_ < asked_ && rest_ == 0) rest_ = 32 * most_;
    asked_ = known_ = 0;
  }

  std::size_t most_;
  std::list<record> records_;
  std::unordered_map<std::uint64_t, std::list<record>::iterator> by_hash_;
  std::unordered_set<std::uint64_t> seen_;
  std::deque<std::uint64_t> order_;  // of what was seen
  std::size_t finds_ = 0;
  std::size_t asked_ = 0, known_ = 0, rest_ = 0;  // of a while
};

}  // namespace motet::cuda
