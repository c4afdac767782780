// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/runtime_calls.hpp"

#include <cstdio>
#include <cstring>
#include <utility>

// GPUs and errors of the fake CUDA runtime.

using namespace motet::emulation;

namespace {
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
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorSystemDriverMismatch, "cudaErrorSystemDriverMismatch",
     "system has unsupported display driver / cuda driver combination"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge",
     "operation would result in a merge of separate capture sequences"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
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
}
