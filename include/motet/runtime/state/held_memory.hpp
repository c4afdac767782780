// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/arena.hpp>

#include <cstdint>
#include <type_traits>

// Memory that lies where a context's operations work, which may be out of the host's reach.

namespace motet {

template <class Context, class T>
using buffer_for = typename Context::template buffer<T>;

// Says whether the host may touch it.
template <class Context>
inline constexpr bool works_on_host = std::is_same_v<buffer_for<Context, std::byte>, buffer<std::byte>>;

// An address for dry runs, which never follow it.
template <class T>
T* nowhere() {
  return reinterpret_cast<T*>(std::uintptr_t{4096});
}
// One thread of a team sees this in a dry run; fp8: see rank_state.
template <class Context>
Context dry_context(int thread, int threads, bool fp8 = false) {
  Context ctx;
  if constexpr (requires { ctx.fp8; }) ctx.fp8 = fp8;
  if constexpr (requires { typename Context::team; }) {
    ctx.thread = thread;
    ctx.threads = threads;
  }
  return ctx;
}

// All of a buffer. An arena without memory would measure, so one of no bytes gets an address too.
inline arena arena_of(std::byte* data, isize bytes) {
  return bytes > 0 ? arena(data, bytes) : arena(nowhere<std::byte>(), 0);
}
template <class Buffer>
arena arena_of(const Buffer& memory) {
  return arena_of(memory.data(), memory.size());
}

// One number that lies there; waits for it.
template <class Context, class T>
T number_at(Context& ctx, const T* from) {
  T found;
  download(ctx, from, &found, 1);
  return found;
}

}  // namespace motet
