// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/machine_state.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

// Memory of the fake CUDA runtime, and copies.

using namespace motet::emulation;

#define ENTER(name) \
  if (const cudaError_t early = entering(#name); early != cudaSuccess) return early

namespace {
constexpr std::size_t page = 4096, most_filled = std::size_t{64} << 20;

// New memory ends at the end of a page, and nothing lies behind it.
cudaError_t take(machine& m, void** found, std::size_t bytes, int gpu) {
  *found = nullptr;
  if (bytes == 0) return cudaSuccess;
  const std::size_t rounded = (bytes + 255) / 256 * 256, mapped = (rounded + page - 1) / page * page;
  if (rounded > m.memory || m.used[gpu] > m.memory - rounded) return cudaErrorMemoryAllocation;
  void* const at =
      mmap(nullptr, mapped + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return cudaErrorMemoryAllocation;
  madvise(at, mapped, MADV_HUGEPAGE);  // each page that is closed or opened takes its time
  mprotect(at, mapped, PROT_READ | PROT_WRITE);
  std::memset(at, 0xff, std::min(mapped, most_filled));
  if (!m.open) mprotect(at, mapped, PROT_NONE);
  char* const begin = static_cast<char*>(at) + mapped - rounded;
  m.held[reinterpret_cast<std::uintptr_t>(begin)] = {static_cast<char*>(at), mapped, bytes, gpu};
  m.used[gpu] += rounded;
  *found = begin;
  return cudaSuccess;
}
cudaError_t give(machine& m, void* at) {
  const auto found = m.held.find(reinterpret_cast<std::uintptr_t>(at));
  if (found == m.held.end()) return cudaErrorInvalidValue;
  const allocation gone = found->second;
  m.used[gone.gpu] -= (gone.bytes + 255) / 256 * 256;
  m.held.erase(found);
  mprotect(gone.mapped, gone.mapped_bytes, PROT_NONE);
  madvise(gone.mapped, gone.mapped_bytes, MADV_DONTNEED);
  m.graves.emplace_back(gone.mapped, gone.mapped_bytes + page);
  if (m.graves.size() > 512) {
    munmap(m.graves.front().first, m.graves.front().second);
    m.graves.pop_front();
  }
  return cudaSuccess;
}

// Says whether `bytes` from here on are memory of a GPU; it is a fault where they begin in it and end
// outside.
bool on_gpu(machine& m, const void* at, std::size_t bytes, const char* call) {
  const allocation* const found = m.find(at);
  if (found == nullptr) return false;
  const char* const end =
      found->mapped + found->mapped_bytes - (found->bytes + 255) / 256 * 256 + found->bytes;
  if (static_cast<const char*>(at) + bytes > end)
    fault(std::string(call) + ": " + std::to_string(bytes) + " bytes, of which " +
          std::to_string(end - static_cast<const char*>(at)) + " lie in the buffer");
  return true;
}
bool is_pinned(machine& m, const void* at) {
  for (const auto* map : {&m.pinned, &m.registered}) {
    auto next = map->upper_bound(reinterpret_cast<std::uintptr_t>(at));
    if (next != map->begin() && (--next, reinterpret_cast<std::uintptr_t>(at) < next->first + next->second))
      return true;
  }
  return false;
}

struct rectangle {
  void* to;
  std::size_t to_pitch;
  const void* from;
  std::size_t from_pitch, width, height;
  void move() const {
    for (std::size_t row = 0; row < height; ++row)
      std::memmove(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
                   width);
  }
};

cudaError_t copy(const rectangle& what, cudaMemcpyKind kind, cudaStream_t stream, bool host_waits,
                 const char* call) {
  auto& m = machine::one();
  machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  if (on == nullptr) return cudaErrorInvalidResourceHandle;
  if (what.width == 0 || what.height == 0) return cudaSuccess;
  if (what.height > 1 && (what.width > what.to_pitch || what.width > what.from_pitch))
    return cudaErrorInvalidPitchValue;
  const std::size_t read = (what.height - 1) * what.from_pitch + what.width,
                    written = (what.height - 1) * what.to_pitch + what.width;
  const bool from_gpu = on_gpu(m, what.from, read, call), to_gpu = on_gpu(m, what.to, written, call);
  const bool fits = kind == cudaMemcpyDefault || (kind == cudaMemcpyHostToDevice && !from_gpu && to_gpu) ||
                    (kind == cudaMemcpyDeviceToHost && from_gpu && !to_gpu) ||
                    (kind == cudaMemcpyDeviceToDevice && from_gpu && to_gpu) ||
                    (kind == cudaMemcpyHostToHost && !from_gpu && !to_gpu);
  if (!fits) return cudaErrorInvalidValue;
  const bool pageable_from = !from_gpu && !is_pinned(m, what.from),
             pageable_to = !to_gpu && !is_pinned(m, what.to);
  if (on->capture && (host_waits || pageable_from || pageable_to)) {
    on->capture->broken = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  ++m.told.copies;
  // Pageable memory is staged: its bytes are those of the moment of the call, or are there when the call
  // returns.
  std::function<void()> run;
  if (pageable_from && !from_gpu) {
    auto staged = std::make_shared<std::vector<char>>(read);
    std::memcpy(staged->data(), what.from, read);
    run = [what, staged] {
      rectangle from_staged = what;
      from_staged.from = staged->data();
      from_staged.move();
    };
  } else {
    run = [what] { what.move(); };
  }
  tick_ref done;
  const cudaError_t status = m.queue(held, *on, {call, std::move(run), {}, false}, {}, &done);
  if (done && (host_waits || pageable_to)) m.wait(held, [&] { return done->done; });
  if (status != cudaSuccess) return status;
  return cudaSuccess;
}

cudaError_t fill(void* at, std::size_t pitch, int value, std::size_t width, std::size_t height,
                 cudaStream_t stream, bool host_waits, const char* call) {
  auto& m = machine::one();
  machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  if (on == nullptr) return cudaErrorInvalidResourceHandle;
  if (width == 0 || height == 0) return cudaSuccess;
  if (!on_gpu(m, at, (height - 1) * pitch + width, call) && !is_pinned(m, at)) return cudaErrorInvalidValue;
  const auto run = [=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memset(static_cast<char*>(at) + row * pitch, value, width);
  };
  tick_ref done;
  const cudaError_t status = m.queue(held, *on, {call, run, {}, false}, {}, &done);
  if (done && host_waits) m.wait(held, [&] { return done->done; });
  if (status != cudaSuccess) return status;
  return cudaSuccess;
}

// A call that may wait or synchronise breaks captures.
cudaError_t unless_captured() {
  auto& m = machine::one();
  const machine::lock held(m.guard);
  return m.unsafe() ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}
#define UNLESS_CAPTURED \
  if (const cudaError_t early = unless_captured(); early != cudaSuccess) return said(early)
}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** found, std::size_t bytes) {
  ENTER(cudaMalloc);
  UNLESS_CAPTURED;
  auto& m = machine::one();
  const machine::lock held(m.guard);
  return said(take(m, found, bytes, mine.gpu));
}
cudaError_t cudaFree(void* at) {
  ENTER(cudaFree);
  if (at == nullptr) return cudaSuccess;
  UNLESS_CAPTURED;
  auto& m = machine::one();
  machine::lock held(m.guard);
  const auto* const found = m.find(at);
  if (found == nullptr) return said(cudaErrorInvalidValue);
  for (const auto& look : m.frees) look(at, found->bytes);
  m.drain(held, found->gpu);
  return said(give(m, at));
}
cudaError_t cudaMallocAsync(void** found, std::size_t bytes, cudaStream_t stream) {
  ENTER(cudaMallocAsync);
  auto& m = machine::one();
  const machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  if (on == nullptr) return said(cudaErrorInvalidResourceHandle);
  if (on->capture) return said(cudaErrorNotSupported);  // nodes of memory: not played here
  return said(take(m, found, bytes, mine.gpu));
}
cudaError_t cudaFreeAsync(void* at, cudaStream_t stream) {
  ENTER(cudaFreeAsync);
  auto& m = machine::one();
  machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  if (on == nullptr) return said(cudaErrorInvalidResourceHandle);
  if (on->capture) return said(cudaErrorNotSupported);
  if (m.find(at) == nullptr) return said(cudaErrorInvalidValue);
  return said(m.queue(held, *on,
                      {"cudaFreeAsync",
                       [at] {
                         auto& inner = machine::one();
                         const machine::lock again(inner.guard);
                         give(inner, at);
                       },
                       {},
                       false}));
}
cudaError_t cudaHostAlloc(void** found, std::size_t bytes, unsigned) {
  ENTER(cudaHostAlloc);
  UNLESS_CAPTURED;
  auto& m = machine::one();
  const machine::lock held(m.guard);
  *found = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (posix_memalign(found, 256, bytes) != 0) return said(cudaErrorMemoryAllocation);
  std::memset(*found, 0xff, std::min(bytes, most_filled));
  m.pinned[reinterpret_cast<std::uintptr_t>(*found)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** found, std::size_t bytes) { return cudaHostAlloc(found, bytes, 0); }
cudaError_t cudaFreeHost(void* at) {
  ENTER(cudaFreeHost);
  if (at == nullptr) return cudaSuccess;
  UNLESS_CAPTURED;
  auto& m = machine::one();
  machine::lock held(m.guard);
  if (m.pinned.count(reinterpret_cast<std::uintptr_t>(at)) == 0) return said(cudaErrorInvalidValue);
  m.drain(held, -1);
  m.pinned.erase(reinterpret_cast<std::uintptr_t>(at));
  std::free(at);
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void* at, std::size_t bytes, unsigned) {
  ENTER(cudaHostRegister);
  auto& m = machine::one();
  const machine::lock held(m.guard);
  if (!m.registered.emplace(reinterpret_cast<std::uintptr_t>(at), bytes).second)
    return said(cudaErrorHostMemoryAlreadyRegistered);
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* at) {
  ENTER(cudaHostUnregister);
  auto& m = machine::one();
  machine::lock held(m.guard);
  m.drain(held, -1);
  return said(m.registered.erase(reinterpret_cast<std::uintptr_t>(at)) == 1
                  ? cudaSuccess
                  : cudaErrorHostMemoryNotRegistered);
}
cudaError_t cudaHostGetDevicePointer(void** found, void* at, unsigned) {
  ENTER(cudaHostGetDevicePointer);
  auto& m = machine::one();
  const machine::lock held(m.guard);
  if (!is_pinned(m, at)) return said(cudaErrorInvalidValue);
  *found = at;
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* found, const void* at) {
  ENTER(cudaPointerGetAttributes);
  auto& m = machine::one();
  const machine::lock held(m.guard);
  *found = {};
  found->device = -2;
  found->type = cudaMemoryTypeUnregistered;
  if (const auto* const here = m.find(at)) {
    found->type = cudaMemoryTypeDevice;
    found->device = here->gpu;
    found->devicePointer = const_cast<void*>(at);
  } else if (is_pinned(m, at)) {
    found->type = cudaMemoryTypeHost;
    found->device = mine.gpu;
    found->devicePointer = found->hostPointer = const_cast<void*>(at);
  }
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* left, std::size_t* all) {
  ENTER(cudaMemGetInfo);
  auto& m = machine::one();
  const machine::lock held(m.guard);
  *all = m.memory;
  *left = m.memory - std::min(m.memory, m.used[mine.gpu]);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  ENTER(cudaMemcpyAsync);
  return said(copy({to, bytes, from, bytes, bytes, 1}, kind, stream, false, "cudaMemcpyAsync"));
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  ENTER(cudaMemcpy);
  UNLESS_CAPTURED;
  return said(copy({to, bytes, from, bytes, bytes, 1}, kind, nullptr, true, "cudaMemcpy"));
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  ENTER(cudaMemcpy2DAsync);
  return said(
      copy({to, to_pitch, from, from_pitch, width, height}, kind, stream, false, "cudaMemcpy2DAsync"));
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  ENTER(cudaMemcpy2D);
  UNLESS_CAPTURED;
  return said(copy({to, to_pitch, from, from_pitch, width, height}, kind, nullptr, true, "cudaMemcpy2D"));
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                cudaStream_t stream) {
  ENTER(cudaMemcpyPeerAsync);
  return said(copy({to, bytes, from, bytes, bytes, 1}, cudaMemcpyDeviceToDevice, stream, false,
                   "cudaMemcpyPeerAsync"));
}
cudaError_t cudaMemsetAsync(void* at, int value, std::size_t bytes, cudaStream_t stream) {
  ENTER(cudaMemsetAsync);
  return said(fill(at, bytes, value, bytes, 1, stream, false, "cudaMemsetAsync"));
}
cudaError_t cudaMemset(void* at, int value, std::size_t bytes) {
  ENTER(cudaMemset);
  UNLESS_CAPTURED;
  return said(fill(at, bytes, value, bytes, 1, nullptr, true, "cudaMemset"));
}
cudaError_t cudaMemset2DAsync(void* at, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t stream) {
  ENTER(cudaMemset2DAsync);
  return said(fill(at, pitch, value, width, height, stream, false, "cudaMemset2DAsync"));
}

// Pools: there is one for each GPU, which keeps nothing.
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* found, int gpu) {
  ENTER(cudaDeviceGetDefaultMemPool);
  *found = reinterpret_cast<cudaMemPool_t>(static_cast<std::uintptr_t>(gpu + 1));
  return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* found, int gpu) {
  return cudaDeviceGetDefaultMemPool(found, gpu);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  ENTER(cudaMemPoolSetAttribute);
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) {
  ENTER(cudaMemPoolTrimTo);
  return cudaSuccess;
}
}
