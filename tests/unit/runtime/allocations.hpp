// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

// Counts every way to allocate, by any thread. One file of a program includes it.
namespace {

std::atomic<long> allocations{0};
std::atomic<long> page_bytes{0};  // of what is aligned to a page: motet::buffer

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
