// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/machine_state.hpp"

#include <cuda.h>

#include <bitset>
#include <cstring>

// The calls of the CUDA driver that share a GPU's multiprocessors out (green contexts), of a GPU with 132 of
// them in steps of 8. The runtime hands them out, as a program that links no driver gets them.

using namespace motet::emulation;

namespace {
constexpr unsigned processors = 132, step = 8;
// An H200's clusters differ in size, and a group of eight lies within one: there are fifteen of them, not
// sixteen.
constexpr unsigned groups_of_step = 15;

// A resource is marked where the driver keeps its own.
struct resource_mark {
  std::uint32_t magic = 0, split = 0;  // of which call; 0: may be split
  int gpu = 0;
  unsigned char of[(processors + 7) / 8] = {};
};
static_assert(sizeof(resource_mark) <= sizeof(CUdevResource::_internal_padding));
constexpr std::uint32_t magic = 0x4d4f5447;

using processor_set = std::bitset<processors>;
CUdevResource resource_of(const processor_set& set, std::uint32_t split, int gpu) {
  CUdevResource made;
  std::memset(&made, 0, sizeof made);
  made.type = CU_DEV_RESOURCE_TYPE_SM;
  made.sm.smCount = static_cast<unsigned>(set.count());
  made.sm.minSmPartitionSize = step;
  made.sm.smCoscheduledAlignment = step;
  resource_mark mark;
  mark.magic = magic;
  mark.split = split;
  mark.gpu = gpu;
  for (unsigned i = 0; i < processors; ++i)
    if (set[i]) mark.of[i / 8] = static_cast<unsigned char>(mark.of[i / 8] | 1u << i % 8);
  std::memcpy(made._internal_padding, &mark, sizeof mark);
  return made;
}
bool read(const CUdevResource& from, resource_mark& mark, processor_set& set) {
  std::memcpy(&mark, from._internal_padding, sizeof mark);
  if (from.type != CU_DEV_RESOURCE_TYPE_SM || mark.magic != magic) return false;
  set.reset();
  for (unsigned i = 0; i < processors; ++i)
    if ((mark.of[i / 8] >> i % 8 & 1) != 0) set.set(i);
  return set.count() == from.sm.smCount;
}

struct share {
  processor_set of;
  int gpu = 0;
};
struct driver_state {
  bool begun = false;
  std::uint32_t splits = 0;
  std::map<int, int> retained;
  std::set<share*> descriptions, shares;
};
driver_state& driver() {
  static driver_state* const made = new driver_state;
  return *made;
}
thread_local CUcontext current = nullptr;
CUcontext primary(int gpu) { return reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(gpu + 1)); }
bool is_primary(CUcontext context) { return reinterpret_cast<std::uintptr_t>(context) - 1 < 64; }

// Every call: the driver was begun, and no test asked for an error.
CUresult entered(const char* name) {
  auto& m = machine::one();
  const machine::lock held(m.guard);
  if (!driver().begun) return CUDA_ERROR_NOT_INITIALIZED;
  if (const auto found = m.refusals.find(name); found != m.refusals.end() && found->second.first-- <= 0) {
    m.refusals.erase(found);
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}
#define ENTER(name) \
  if (const CUresult early = entered(#name); early != CUDA_SUCCESS) return early

struct named {
  CUresult status;
  const char *name, *text;
};
constexpr named names[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_INVALID_RESOURCE_TYPE, "CUDA_ERROR_INVALID_RESOURCE_TYPE", "invalid resource type"},
    {CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION",
     "invalid resource configuration"},
};
}  // namespace

bool motet::emulation::meet(cudaStream_t one, cudaStream_t other) {
  auto& m = machine::one();
  const machine::lock held(m.guard);
  const auto processors_of_share = [&](cudaStream_t stream) {
    const auto* const of = static_cast<const share*>(m.stream_of(stream)->share);
    return of != nullptr ? of->of : ~processor_set{};
  };
  return (processors_of_share(one) & processors_of_share(other)).any();
}

extern "C" {

CUresult cuGetErrorName(CUresult status, const char** text) {
  for (const auto& each : names)
    if (each.status == status) return *text = each.name, CUDA_SUCCESS;
  return *text = nullptr, CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGetErrorString(CUresult status, const char** text) {
  for (const auto& each : names)
    if (each.status == status) return *text = each.text, CUDA_SUCCESS;
  return *text = nullptr, CUDA_ERROR_INVALID_VALUE;
}
CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (machine::one().gpus == 0) return CUDA_ERROR_NO_DEVICE;
  driver().begun = true;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* found, int number) {
  ENTER(cuDeviceGet);
  if (number < 0 || number >= machine::one().gpus) return CUDA_ERROR_INVALID_DEVICE;
  *found = number;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  ENTER(cuDeviceGetCount);
  *count = machine::one().gpus;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* found, CUdevice gpu) {
  ENTER(cuDevicePrimaryCtxRetain);
  ++driver().retained[gpu];
  *found = primary(gpu);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice gpu) {
  ENTER(cuDevicePrimaryCtxRelease);
  return driver().retained[gpu]-- > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  ENTER(cuCtxSetCurrent);
  current = context;
  if (is_primary(context)) mine.gpu = static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* found) {
  ENTER(cuCtxGetCurrent);
  *found = current;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetDevResource(CUdevice gpu, CUdevResource* found, CUdevResourceType type) {
  ENTER(cuDeviceGetDevResource);
  if (gpu < 0 || gpu >= machine::one().gpus) return CUDA_ERROR_INVALID_DEVICE;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  *found = resource_of(processor_set().set(), 0, gpu);
  return CUDA_SUCCESS;
}
CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned* groups, const CUdevResource* input,
                                     CUdevResource* remaining, unsigned flags, unsigned least) {
  ENTER(cuDevSmResourceSplitByCount);
  resource_mark mark;
  processor_set set;
  if (groups == nullptr || input == nullptr || !read(*input, mark, set)) return CUDA_ERROR_INVALID_VALUE;
  // what a split gave is first made a context of
  if (mark.split != 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  const unsigned by = (flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING) != 0 ? 2 : step;
  const unsigned size = std::max((least + by - 1) / by * by, by),
                 all = static_cast<unsigned>(set.count()) / size,
                 fit = by == step && size == step ? std::min(all, groups_of_step) : all;
  if (result == nullptr) {
    *groups = fit;
    return CUDA_SUCCESS;
  }
  if (fit == 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  *groups = std::min(*groups, fit);
  const std::uint32_t split = ++driver().splits;
  unsigned next = 0;
  for (unsigned g = 0; g < *groups; ++g) {
    processor_set part;
    for (; part.count() < size; ++next)
      if (set[next]) part.set(next), set.reset(next);
    result[g] = resource_of(part, split, mark.gpu);
  }
  if (remaining != nullptr) {
    *remaining = resource_of(set, split, mark.gpu);
    if (set.none()) remaining->type = CU_DEV_RESOURCE_TYPE_INVALID;
  }
  return CUDA_SUCCESS;
}
CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* found, CUdevResource* resources, unsigned count) {
  ENTER(cuDevResourceGenerateDesc);
  if (count == 0 || resources == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto made = std::make_unique<share>();
  resource_mark first;
  for (unsigned i = 0; i < count; ++i) {
    resource_mark mark;
    processor_set set;
    if (!read(resources[i], mark, set)) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    if (i == 0) first = mark;
    // All of one call that split, and none twice.
    if (mark.split != first.split || mark.gpu != first.gpu || (set & made->of).any())
      return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    made->of |= set;
  }
  made->gpu = first.gpu;
  driver().descriptions.insert(made.get());
  *found = reinterpret_cast<CUdevResourceDesc>(made.release());
  return CUDA_SUCCESS;
}
CUresult cuGreenCtxCreate(CUgreenCtx* found, CUdevResourceDesc from, CUdevice gpu, unsigned flags) {
  ENTER(cuGreenCtxCreate);
  auto* const description = reinterpret_cast<share*>(from);
  if ((flags & CU_GREEN_CTX_DEFAULT_STREAM) == 0 || driver().descriptions.count(description) == 0 ||
      description->gpu != gpu)
    return CUDA_ERROR_INVALID_VALUE;
  auto* const made = new share(*description);
  driver().shares.insert(made);
  ++driver().retained[gpu];
  *found = reinterpret_cast<CUgreenCtx>(made);
  return CUDA_SUCCESS;
}
CUresult cuGreenCtxDestroy(CUgreenCtx context) {
  ENTER(cuGreenCtxDestroy);
  auto* const gone = reinterpret_cast<share*>(context);
  if (driver().shares.erase(gone) == 0) return CUDA_ERROR_INVALID_CONTEXT;
  auto& m = machine::one();
  const machine::lock held(m.guard);
  for (const auto* each : m.streams)
    if (each->share == gone && !each->destroyed) fault("a green context is destroyed before its streams");
  --driver().retained[gone->gpu];
  delete gone;
  return CUDA_SUCCESS;
}
CUresult cuCtxFromGreenCtx(CUcontext* found, CUgreenCtx context) {
  ENTER(cuCtxFromGreenCtx);
  if (driver().shares.count(reinterpret_cast<share*>(context)) == 0) return CUDA_ERROR_INVALID_CONTEXT;
  *found = reinterpret_cast<CUcontext>(context);
  return CUDA_SUCCESS;
}
CUresult cuGreenCtxGetDevResource(CUgreenCtx context, CUdevResource* found, CUdevResourceType type) {
  ENTER(cuGreenCtxGetDevResource);
  auto* const of = reinterpret_cast<share*>(context);
  if (driver().shares.count(of) == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  *found = resource_of(of->of, 0, of->gpu);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevResource(CUcontext context, CUdevResource* found, CUdevResourceType type) {
  if (is_primary(context))
    return cuDeviceGetDevResource(static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1, found,
                                  type);
  return cuGreenCtxGetDevResource(reinterpret_cast<CUgreenCtx>(context), found, type);
}
CUresult cuGreenCtxStreamCreate(CUstream* found, CUgreenCtx context, unsigned flags, int priority) {
  ENTER(cuGreenCtxStreamCreate);
  auto* const of = reinterpret_cast<share*>(context);
  if (driver().shares.count(of) == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  auto& m = machine::one();
  const machine::lock held(m.guard);
  auto* const made = new stream_state;
  made->gpu = of->gpu;
  made->priority = priority;
  made->number = ++m.numbers;
  made->processors = static_cast<int>(of->of.count());
  made->share = of;
  m.streams.insert(made);
  *found = reinterpret_cast<CUstream>(made);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  ENTER(cuStreamDestroy);
  return cudaStreamDestroy(stream) == cudaSuccess ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  ENTER(cuModuleGetLoadingMode);
  auto& m = machine::one();
  const machine::lock held(m.guard);
  return *mode = m.loads_late ? CU_MODULE_LAZY_LOADING : CU_MODULE_EAGER_LOADING, CUDA_SUCCESS;
}
CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx* found) {
  ENTER(cuStreamGetGreenCtx);
  auto& m = machine::one();
  const machine::lock held(m.guard);
  const auto* const of = m.stream_of(stream);
  if (of == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *found = static_cast<CUgreenCtx>(of->share);
  return CUDA_SUCCESS;
}

// ---- of the runtime: where the driver's calls are ----
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** found, unsigned version,
                                             unsigned long long, cudaDriverEntryPointQueryResult* result) {
  static const std::map<std::string, void*> all = {
#define ENTRY(name) {#name, reinterpret_cast<void*>(&name)}
      ENTRY(cuModuleGetLoadingMode),
      ENTRY(cuGetErrorName),
      ENTRY(cuGetErrorString),
      ENTRY(cuInit),
      ENTRY(cuDeviceGet),
      ENTRY(cuDeviceGetCount),
      ENTRY(cuCtxSetCurrent),
      ENTRY(cuCtxGetCurrent),
      ENTRY(cuDevicePrimaryCtxRetain),
      {"cuDevicePrimaryCtxRelease", reinterpret_cast<void*>(&cuDevicePrimaryCtxRelease)},
      ENTRY(cuDeviceGetDevResource),
      ENTRY(cuCtxGetDevResource),
      ENTRY(cuDevSmResourceSplitByCount),
      ENTRY(cuDevResourceGenerateDesc),
      ENTRY(cuGreenCtxCreate),
      ENTRY(cuGreenCtxDestroy),
      ENTRY(cuCtxFromGreenCtx),
      ENTRY(cuGreenCtxGetDevResource),
      ENTRY(cuGreenCtxStreamCreate),
      ENTRY(cuStreamGetGreenCtx),
      {"cuStreamDestroy", reinterpret_cast<void*>(&cuStreamDestroy)},
#undef ENTRY
  };
  *found = nullptr;
  if (const cudaError_t early = entering("cudaGetDriverEntryPointByVersion"); early != cudaSuccess)
    return early;
  const auto at = all.find(name);
  const bool there = at != all.end();
  // The runtime has begun the driver.
  driver().begun = true;
  if (there && version >= 12040) *found = at->second;
  if (result != nullptr)
    *result = !there             ? cudaDriverEntryPointSymbolNotFound
              : version >= 12040 ? cudaDriverEntryPointSuccess
                                 : cudaDriverEntryPointVersionNotSufficent;
  return cudaSuccess;
}
}
