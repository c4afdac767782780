// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/runtime_calls.hpp"

#include <cstring>
#include <utility>

// Capture and graphs of the fake CUDA runtime.

using namespace motet::emulation;

extern "C" {

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
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->by != std::this_thread::get_id())
    return said(cudaErrorStreamCaptureWrongThread);
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
  *found = !on->capture          ? cudaStreamCaptureStatusNone
           : on->capture->broken ? cudaStreamCaptureStatusInvalidated
                                 : cudaStreamCaptureStatusActive;
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
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* found, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(found, graph, flags);
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result) {
  ENTER(cudaGraphExecUpdate);
  auto& m = all();
  const machine::lock held(m.guard);
  auto* const to = reinterpret_cast<exec_state*>(exec);
  auto* const from = reinterpret_cast<graph_state*>(graph);
  if (m.execs.count(to) == 0 || m.graphs.count(from) == 0) return said(cudaErrorInvalidValue);
  *result = {};
  bool same = to->made->size() == from->made->size();
  for (std::size_t i = 0; same && i < to->made->size(); ++i)
    same = (*to->made)[i].after == (*from->made)[i].after &&
           std::strcmp((*to->made)[i].what.name, (*from->made)[i].what.name) == 0;
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
    for (std::size_t i = 0; i < *count; ++i)
      found[i] = i < what->made->size() ? reinterpret_cast<cudaGraphNode_t>(i + 1) : nullptr;
  return cudaSuccess;
}
}
