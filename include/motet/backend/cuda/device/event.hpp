// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/api.hpp>

#include <utility>

namespace motet::cuda {

// A point in the work of a stream, made when it is first marked. Marked again it is a new point; who waited
// before waited for the old one.
class event {
 public:
  event() = default;
  // One that keeps time.
  static event timed() {
    event made;
    made.flags_ = cudaEventDefault;
    return made;
  }
  event(event&& from) noexcept : event_(std::exchange(from.event_, nullptr)), flags_(from.flags_) {}
  event& operator=(event&& from) noexcept {
    std::swap(event_, from.event_);
    std::swap(flags_, from.flags_);
    return *this;
  }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }

  void mark(cudaStream_t stream) {
    if (event_ == nullptr) check(cudaEventCreateWithFlags(&event_, flags_), "cudaEventCreateWithFlags");
    check(cudaEventRecord(event_, stream), "cudaEventRecord");
  }
  // Work that the stream is given from here on comes after the point; where none was marked, it waits for
  // nothing.
  void hold(cudaStream_t stream) const {
    if (event_ != nullptr) check(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
  }
  // The host waits; of no use is what went wrong there.
  void finish() const noexcept {
    if (event_ != nullptr) cudaEventSynchronize(event_);
  }
  // Says whether all before it is done, as it is where none was marked.
  bool is_past() const { return event_ == nullptr || is_done(cudaEventQuery(event_), "cudaEventQuery"); }
  // Both keep time and are past.
  double seconds_since(const event& before) const {
    float milliseconds = 0;
    if (event_ != nullptr && before.event_ != nullptr)
      check(cudaEventElapsedTime(&milliseconds, before.event_, event_), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
  unsigned flags_ = cudaEventDisableTiming;
};

}  // namespace motet::cuda
