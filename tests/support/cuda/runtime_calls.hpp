// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/cuda/machine_state.hpp"

// Calls of the fake CUDA runtime begin with this.

#define ENTER(name) \
  if (const cudaError_t early = entering(#name); early != cudaSuccess) return early

namespace motet::emulation {

template <class Handle, class State>
Handle handle_of(State* state) {
  return reinterpret_cast<Handle>(state);
}
inline machine& all() { return machine::one(); }

// Waiting for a stream under capture breaks the capture.
inline cudaError_t refuse_waiting(stream_state& on) {
  if (!on.capture) return cudaSuccess;
  on.capture->broken = true;
  return cudaErrorStreamCaptureUnsupported;
}
inline bool any_capture(machine& m, int gpu) {
  bool found = false;
  for (auto* each : m.streams)
    if (each->capture && each->gpu == gpu) found = each->capture->broken = true;
  return found;
}

}  // namespace motet::emulation
