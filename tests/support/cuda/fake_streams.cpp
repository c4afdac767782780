// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/runtime_calls.hpp"

#include <algorithm>

// Streams and events of the fake CUDA runtime.

using namespace motet::emulation;

namespace {
// tell(stream), where there is such a stream.
template <class Tell>
cudaError_t ask(cudaStream_t stream, Tell tell) {
  auto& m = all();
  const machine::lock held(m.guard);
  const auto* const on = m.stream_of(stream);
  if (on == nullptr) return said(cudaErrorInvalidResourceHandle);
  tell(*on);
  return cudaSuccess;
}
}  // namespace

extern "C" {

// ---- streams ----
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* found, unsigned flags, int priority) {
  ENTER(cudaStreamCreateWithPriority);
  auto& m = all();
  const machine::lock held(m.guard);
  auto* const made = new stream_state;
  made->gpu = mine.gpu;
  made->blocking = (flags & cudaStreamNonBlocking) == 0;
  made->priority = std::clamp(priority, -5, 0);
  made->number = ++m.numbers;
  m.streams.insert(made);
  *found = handle_of<cudaStream_t>(made);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* found, unsigned flags) {
  ENTER(cudaStreamCreateWithFlags);
  return cudaStreamCreateWithPriority(found, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* found) {
  ENTER(cudaStreamCreate);
  return cudaStreamCreateWithPriority(found, 0, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  ENTER(cudaStreamDestroy);
  auto& m = all();
  const machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  if (on == nullptr || on->number == 0) return said(cudaErrorInvalidResourceHandle);
  if (on->capture) on->capture->broken = true;
  on->capture.reset();
  on->destroyed = true;  // what is queued still runs
  if (on->queue.empty()) {
    m.streams.erase(on);
    delete on;
  }
  return cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  ENTER(cudaStreamGetPriority);
  return ask(stream, [&](const stream_state& on) { *priority = on.priority; });
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  ENTER(cudaStreamGetFlags);
  return ask(stream, [&](const stream_state& on) {
    *flags = on.blocking || on.number == 0 ? 0 : cudaStreamNonBlocking;
  });
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* number) {
  ENTER(cudaStreamGetId);
  return ask(stream, [&](const stream_state& on) { *number = on.number; });
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* gpu) {
  ENTER(cudaStreamGetDevice);
  return ask(stream, [&](const stream_state& on) { *gpu = on.gpu; });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ENTER(cudaStreamSynchronize);
  auto& m = all();
  machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  if (on == nullptr) return said(cudaErrorInvalidResourceHandle);
  if (const auto status = refuse_waiting(*on); status != cudaSuccess) return said(status);
  if (const tick_ref last = on->last) m.wait(held, [&] { return last->done; });
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  ENTER(cudaStreamQuery);
  auto& m = all();
  machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  if (on == nullptr) return said(cudaErrorInvalidResourceHandle);
  if (const auto status = refuse_waiting(*on); status != cudaSuccess) return said(status);
  const tick_ref last = on->last;
  m.let_run(held, static_cast<int>(m.draw() % 4));
  return said(!last || last->done ? cudaSuccess : cudaErrorNotReady);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  ENTER(cudaStreamWaitEvent);
  auto& m = all();
  machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  auto* const what = m.event_of(event);
  if (on == nullptr || what == nullptr) return said(cudaErrorInvalidResourceHandle);
  if (what->capture) {
    // The stream joins the capture.
    if (on->number == 0) return said(cudaErrorStreamCaptureImplicit);
    if (on->capture && on->capture != what->capture) {
      on->capture->broken = what->capture->broken = true;
      return said(cudaErrorStreamCaptureMerge);
    }
    if (!on->capture) on->tips.clear();
    on->capture = what->capture;
    on->tips.insert(what->tips.begin(), what->tips.end());
    return cudaSuccess;
  }
  if (on->capture) {
    on->capture->broken = true;
    return said(cudaErrorStreamCaptureIsolation);
  }
  // By a GPU's pace, what is done may end later than now: what follows begins no sooner.
  if (what->last && (!what->last->done || what->last->time > now()))
    return said(m.queue(held, *on, {"cudaStreamWaitEvent", {}, {}, false}, {what->last}));
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* with) {
  ENTER(cudaLaunchHostFunc);
  auto& m = all();
  machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  if (on == nullptr) return said(cudaErrorInvalidResourceHandle);
  return said(m.queue(held, *on, {"cudaLaunchHostFunc", [=] { function(with); }, {}, true}));
}

// ---- events ----
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* found, unsigned flags) {
  ENTER(cudaEventCreateWithFlags);
  auto& m = all();
  const machine::lock held(m.guard);
  auto* const made = new event_state;
  made->gpu = mine.gpu;
  made->timing = (flags & cudaEventDisableTiming) == 0;
  m.events.insert(made);
  *found = handle_of<cudaEvent_t>(made);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* found) {
  ENTER(cudaEventCreate);
  return cudaEventCreateWithFlags(found, 0);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  ENTER(cudaEventDestroy);
  auto& m = all();
  const machine::lock held(m.guard);
  auto* const what = m.event_of(event);
  if (what == nullptr) return said(cudaErrorInvalidResourceHandle);
  m.events.erase(what);
  delete what;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  ENTER(cudaEventRecord);
  auto& m = all();
  machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  auto* const what = m.event_of(event);
  if (on == nullptr || what == nullptr || what->gpu != on->gpu) return said(cudaErrorInvalidResourceHandle);
  if (on->capture) {
    if (on->capture->broken) return said(cudaErrorStreamCaptureInvalidated);
    what->capture = on->capture;
    what->tips = on->tips;
    return cudaSuccess;
  }
  what->capture.reset();
  return said(m.queue(held, *on, {"cudaEventRecord", {}, {}, false}, {}, &what->last));
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return flags == 0 ? cudaEventRecord(event, stream) : said(cudaErrorNotSupported);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  ENTER(cudaEventQuery);
  auto& m = all();
  machine::lock held(m.guard);
  auto* const what = m.event_of(event);
  if (what == nullptr) return said(cudaErrorInvalidResourceHandle);
  if (what->capture) return said(cudaErrorCapturedEvent);
  if (m.unsafe()) return said(cudaErrorStreamCaptureUnsupported);
  const tick_ref last = what->last;
  m.let_run(held, static_cast<int>(m.draw() % 4));
  return said(!last || last->done ? cudaSuccess : cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  ENTER(cudaEventSynchronize);
  auto& m = all();
  machine::lock held(m.guard);
  auto* const what = m.event_of(event);
  if (what == nullptr) return said(cudaErrorInvalidResourceHandle);
  if (what->capture) return said(cudaErrorCapturedEvent);
  if (m.unsafe()) return said(cudaErrorStreamCaptureUnsupported);
  if (const tick_ref last = what->last) m.wait(held, [&] { return last->done; });
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  ENTER(cudaEventElapsedTime);
  auto& m = all();
  const machine::lock held(m.guard);
  auto *const a = m.event_of(from), *const b = m.event_of(to);
  if (a == nullptr || b == nullptr || !a->timing || !b->timing || !a->last || !b->last)
    return said(cudaErrorInvalidResourceHandle);
  if (!a->last->done || !b->last->done) return said(cudaErrorNotReady);
  *milliseconds = static_cast<float>((b->last->time - a->last->time) * 1e3);
  return cudaSuccess;
}
}
