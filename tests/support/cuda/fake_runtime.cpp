// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/machine_state.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

// GPUs, streams, events and graphs of the fake CUDA runtime.

using namespace motet::emulation;

#define ENTER(name) \
  if (const cudaError_t early = entering(#name); early != cudaSuccess) return early

namespace {
template <class Handle, class State>
Handle handle_of(State* state) {
  return reinterpret_cast<Handle>(state);
}
machine& all() { return machine::one(); }

// Waiting for a stream under capture breaks the capture.
cudaError_t refuse_waiting(stream_state& on) {
  if (!on.capture) return cudaSuccess;
  on.capture->broken = true;
  return cudaErrorStreamCaptureUnsupported;
}
bool any_capture(machine& m, int gpu) {
  bool found = false;
  for (auto* each : m.streams)
    if (each->capture && each->gpu == gpu) found = each->capture->broken = true;
  return found;
}

struct named {
  cudaError_t status;
  const char *name, *text;
};
constexpr named names[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorStubLibrary, "cudaErrorStubLibrary", "CUDA driver is a stub library"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered", "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorSystemDriverMismatch, "cudaErrorSystemDriverMismatch", "system has unsupported display driver / cuda driver combination"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge", "operation would result in a merge of separate capture sequences"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent", "operation not permitted on an event last recorded in a capturing stream"},
    {cudaErrorGraphExecUpdateFailure, "cudaErrorGraphExecUpdateFailure",
     "the graph update was not performed because it included changes which violated constraints"},
};
}  // namespace

extern "C" {

// ---- errors ----
cudaError_t cudaGetLastError() { return std::exchange(mine.last, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return mine.last; }
const char* cudaGetErrorName(cudaError_t status) {
  for (const auto& each : names)
    if (each.status == status) return each.name;
  return "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t status) {
  for (const auto& each : names)
    if (each.status == status) return each.text;
  return "unrecognized error code";
}

// ---- GPUs ----
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  ENTER(cudaGetDeviceCount);
  *count = all().gpus;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* gpu) {
  ENTER(cudaGetDevice);
  *gpu = mine.gpu;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int gpu) {
  ENTER(cudaSetDevice);
  if (gpu < 0 || gpu >= all().gpus) return said(cudaErrorInvalidDevice);
  mine.gpu = gpu;
  return cudaSuccess;
}
cudaError_t cudaInitDevice(int gpu, unsigned, unsigned) {
  ENTER(cudaInitDevice);
  return said(gpu >= 0 && gpu < all().gpus ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceSynchronize() {
  ENTER(cudaDeviceSynchronize);
  auto& m = all();
  machine::lock held(m.guard);
  if (any_capture(m, mine.gpu)) return said(cudaErrorStreamCaptureUnsupported);
  m.drain(held, mine.gpu);
  return cudaSuccess;
}
cudaError_t cudaDeviceReset() {
  ENTER(cudaDeviceReset);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int gpu) {
  ENTER(cudaDeviceGetAttribute);
  if (gpu < 0 || gpu >= all().gpus) return said(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = 132; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 48 * 1024; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 227 * 1024; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 228 * 1024; break;
    case cudaDevAttrMaxGridDimX: *value = 0x7fffffff; break;
    case cudaDevAttrMaxGridDimY: *value = 65535; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrL2CacheSize: *value = 50 << 20; break;
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrCooperativeLaunch: *value = 1; break;
    default: *value = 0;
  }
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* found, int gpu) {
  ENTER(cudaGetDeviceProperties);
  if (gpu < 0 || gpu >= all().gpus) return said(cudaErrorInvalidDevice);
  std::memset(found, 0, sizeof *found);
  std::strcpy(found->name, "Emulated GPU");
  found->major = 9;
  found->multiProcessorCount = 132;
  found->totalGlobalMem = all().memory;
  found->warpSize = 32;
  found->maxThreadsPerBlock = 1024;
  found->maxThreadsPerMultiProcessor = 2048;
  found->sharedMemPerBlock = 48 * 1024;
  found->sharedMemPerBlockOptin = 227 * 1024;
  found->sharedMemPerMultiprocessor = 228 * 1024;
  found->l2CacheSize = 50 << 20;
  found->uuid.bytes[0] = static_cast<char>(gpu + 1);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  ENTER(cudaDeviceGetStreamPriorityRange);
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int gpu) {
  ENTER(cudaDeviceGetPCIBusId);
  std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02x:00.0", gpu + 1);
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int a, int b) {
  ENTER(cudaDeviceCanAccessPeer);
  *can = a != b;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  ENTER(cudaDeviceEnablePeerAccess);
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = all().gpus == 0 ? 0 : CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  ENTER(cudaFuncSetAttribute);
  return cudaSuccess;
}

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
  auto& m = all();
  const machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  if (on == nullptr) return said(cudaErrorInvalidResourceHandle);
  *priority = on->priority;
  return cudaSuccess;
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  ENTER(cudaStreamGetFlags);
  auto& m = all();
  const machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  if (on == nullptr) return said(cudaErrorInvalidResourceHandle);
  *flags = on->blocking || on->number == 0 ? 0 : cudaStreamNonBlocking;
  return cudaSuccess;
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* number) {
  ENTER(cudaStreamGetId);
  auto& m = all();
  const machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  if (on == nullptr) return said(cudaErrorInvalidResourceHandle);
  *number = on->number;
  return cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* gpu) {
  ENTER(cudaStreamGetDevice);
  auto& m = all();
  const machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  if (on == nullptr) return said(cudaErrorInvalidResourceHandle);
  *gpu = on->gpu;
  return cudaSuccess;
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
  if (what->last && !what->last->done) return said(m.queue(held, *on, {"cudaStreamWaitEvent", {}, {}, false}, {what->last}));
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
  if (a == nullptr || b == nullptr || !a->timing || !b->timing || !a->last || !b->last) return said(cudaErrorInvalidResourceHandle);
  if (!a->last->done || !b->last->done) return said(cudaErrorNotReady);
  *milliseconds = static_cast<float>((b->last->time - a->last->time) * 1e3);
  return cudaSuccess;
}

// ---- capture ----
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(mine.mode, *mode);
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  ENTER(cudaStreamBeginCapture);
  auto& m = all();
  const machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  if (on == nullptr) return said(cudaErrorInvalidResourceHandle);
  if (on->number == 0) return said(cudaErrorStreamCaptureUnsupported);
  if (on->capture) return said(cudaErrorIllegalState);
  on->capture = std::make_shared<capture_state>();
  on->capture->origin = on;
  on->capture->mode = mode;
  on->capture->by = std::this_thread::get_id();
  on->capture->number = ++m.numbers;
  on->tips.clear();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* found) {
  *found = nullptr;
  ENTER(cudaStreamEndCapture);
  auto& m = all();
  const machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  if (on == nullptr) return said(cudaErrorInvalidResourceHandle);
  if (!on->capture) return said(cudaErrorIllegalState);
  const auto capture = on->capture;
  if (capture->origin != on) return said(cudaErrorStreamCaptureUnmatched);
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->by != std::this_thread::get_id()) return said(cudaErrorStreamCaptureWrongThread);
  // Everything must lie before the end of the stream that began.
  std::vector<bool> before(capture->made.size());
  std::vector<std::size_t> open(on->tips.begin(), on->tips.end());
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    if (before[at]) continue;
    before[at] = true;
    open.insert(open.end(), capture->made[at].after.begin(), capture->made[at].after.end());
  }
  bool joined = true;
  for (const bool each : before) joined = joined && each;
  for (auto* each : m.streams)
    if (each->capture == capture) each->capture.reset();
  for (auto* each : m.events)
    if (each->capture == capture) each->capture.reset();
  if (capture->broken) return said(cudaErrorStreamCaptureInvalidated);
  if (!joined) return said(cudaErrorStreamCaptureUnjoined);
  auto* const made = new graph_state{std::make_shared<const nodes>(std::move(capture->made))};
  m.graphs.insert(made);
  *found = handle_of<cudaGraph_t>(made);
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* found) {
  ENTER(cudaStreamIsCapturing);
  auto& m = all();
  const machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  if (on == nullptr) return said(cudaErrorInvalidResourceHandle);
  *found = !on->capture ? cudaStreamCaptureStatusNone : on->capture->broken ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

// ---- graphs ----
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* found, cudaGraph_t graph, unsigned long long) {
  *found = nullptr;
  ENTER(cudaGraphInstantiate);
  auto& m = all();
  const machine::lock held(m.guard);
  auto* const from = reinterpret_cast<graph_state*>(graph);
  if (m.graphs.count(from) == 0) return said(cudaErrorInvalidValue);
  auto* const made = new exec_state{from->made, {}};
  m.execs.insert(made);
  *found = handle_of<cudaGraphExec_t>(made);
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* found, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiate(found, graph, flags);
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result) {
  ENTER(cudaGraphExecUpdate);
  auto& m = all();
  const machine::lock held(m.guard);
  auto* const to = reinterpret_cast<exec_state*>(exec);
  auto* const from = reinterpret_cast<graph_state*>(graph);
  if (m.execs.count(to) == 0 || m.graphs.count(from) == 0) return said(cudaErrorInvalidValue);
  *result = {};
  bool same = to->made->size() == from->made->size();
  for (std::size_t i = 0; same && i < to->made->size(); ++i)
    same = (*to->made)[i].after == (*from->made)[i].after && std::strcmp((*to->made)[i].what.name, (*from->made)[i].what.name) == 0;
  if (!same) {
    result->result = cudaGraphExecUpdateErrorTopologyChanged;
    return said(cudaErrorGraphExecUpdateFailure);
  }
  result->result = cudaGraphExecUpdateSuccess;
  to->made = from->made;
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t) {
  ENTER(cudaGraphUpload);
  auto& m = all();
  const machine::lock held(m.guard);
  return said(m.execs.count(reinterpret_cast<exec_state*>(exec)) == 1 ? cudaSuccess : cudaErrorInvalidValue);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  ENTER(cudaGraphLaunch);
  auto& m = all();
  machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  auto* const what = reinterpret_cast<exec_state*>(exec);
  if (on == nullptr) return said(cudaErrorInvalidResourceHandle);
  if (m.execs.count(what) == 0) return said(cudaErrorInvalidValue);
  return said(m.queue_graph(held, *on, *what));
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  ENTER(cudaGraphDestroy);
  auto& m = all();
  const machine::lock held(m.guard);
  auto* const what = reinterpret_cast<graph_state*>(graph);
  if (m.graphs.erase(what) == 0) return said(cudaErrorInvalidValue);
  delete what;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  ENTER(cudaGraphExecDestroy);
  auto& m = all();
  const machine::lock held(m.guard);
  auto* const what = reinterpret_cast<exec_state*>(exec);
  if (m.execs.erase(what) == 0) return said(cudaErrorInvalidValue);
  delete what;  // replays under way hold what they need
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* found, std::size_t* count) {
  ENTER(cudaGraphGetNodes);
  auto& m = all();
  const machine::lock held(m.guard);
  auto* const what = reinterpret_cast<graph_state*>(graph);
  if (m.graphs.count(what) == 0) return said(cudaErrorInvalidValue);
  if (found == nullptr) *count = what->made->size();
  else
    for (std::size_t i = 0; i < *count; ++i) found[i] = i < what->made->size() ? reinterpret_cast<cudaGraphNode_t>(i + 1) : nullptr;
  return cudaSuccess;
}
}
