// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

// Counts every way to allocate, by any thread. One file of a program includes it.
namespace {

std::atomic<long> allocations{0};
std::atomic<long> page_bytes{0};  // of what is aligned to a page: motet::buffer

}  // namespace

#if !defined(__has_feature)
#define __has_feature(what) 0
#endif
#if __SANITIZE_ADDRESS__ || __SANITIZE_THREAD__ || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)

// A sanitizer looks at what its own operators new and delete were given, so they stay: it tells of each
// allocation. It does not tell alignments, so the linker is asked to bring such calls here first (--wrap).
// g++ comes without the header that declares the first of these.
extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*taken)(const volatile void*, std::size_t),
                                              void (*released)(const volatile void*));
void* __real__ZnwmSt11align_val_t(std::size_t bytes, std::align_val_t alignment);
void* __real__ZnamSt11align_val_t(std::size_t bytes, std::align_val_t alignment);
}
namespace {

void allocation_seen(const volatile void*, std::size_t) {
  allocations.fetch_add(1, std::memory_order_relaxed);
}
void release_seen(const volatile void*) {}
const int allocations_are_seen = __sanitizer_install_malloc_and_free_hooks(allocation_seen, release_seen);

void* counted_page(void* p, std::size_t bytes, std::align_val_t alignment) {
  if (static_cast<std::size_t>(alignment) >= 4096) page_bytes.fetch_add(static_cast<long>(bytes));
  return p;
}

}  // namespace

extern "C" {
void* __wrap__ZnwmSt11align_val_t(std::size_t bytes, std::align_val_t alignment) {
  return counted_page(__real__ZnwmSt11align_val_t(bytes, alignment), bytes, alignment);
}
void* __wrap__ZnamSt11align_val_t(std::size_t bytes, std::align_val_t alignment) {
  return counted_page(__real__ZnamSt11align_val_t(bytes, alignment), bytes, alignment);
}
}

#else

namespace {

void* taken_and_counted(std::size_t bytes, std::size_t alignment) {
  allocations.fetch_add(1);
  if (alignment >= 4096) page_bytes.fetch_add(static_cast<long>(bytes));
  void* p = alignment > 16 ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
                           : std::malloc(bytes > 0 ? bytes : 1);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) { return taken_and_counted(bytes, 0); }
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return taken_and_counted(bytes, 0); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return taken_and_counted(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return taken_and_counted(bytes, static_cast<std::size_t>(alignment));
}
// A caller that asks without wanting to hear of failure (std::stable_sort does) gives it back by the same
// delete.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return taken_and_counted(bytes, 0);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
[[gnu::noinline]] void* operator new[](std::size_t bytes, const std::nothrow_t& quiet) noexcept {
  return operator new(bytes, quiet);
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

#endif
