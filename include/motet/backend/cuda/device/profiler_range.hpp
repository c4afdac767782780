// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string_view>

// Names for profilers (NVTX), where its header is there; the profiler itself is loaded by name, and nothing
// is linked.
#if !defined(MOTET_NVTX_RANGES)
#if __has_include(<nvtx3/nvToolsExt.h>)
#define MOTET_NVTX_RANGES 1
#else
#define MOTET_NVTX_RANGES 0
#endif
#endif
#if MOTET_NVTX_RANGES
#include <nvtx3/nvToolsExt.h>
#endif

namespace motet::cuda {

// A profiler that looks on says so by NVTX_INJECTION64_PATH. MOTET_NVTX=1 or 0 decides where it does
// otherwise.
inline bool wants_ranges() {
  static const bool wanted = [] {
    const char* const asked = std::getenv("MOTET_NVTX");
    if (asked != nullptr) return std::string_view(asked) != "0";
    return std::getenv("NVTX_INJECTION64_PATH") != nullptr;
  }();
  return MOTET_NVTX_RANGES != 0 && wanted;
}

// While it lives, a profiler shows the host's time on this thread by this name. Ranges lie inside each other.
// Without a name there is no range.
class profiler_range {
 public:
  explicit profiler_range([[maybe_unused]] const char* name) : open_(name != nullptr && wants_ranges()) {
#if MOTET_NVTX_RANGES
    if (open_) nvtxRangePushA(name);
#endif
  }
  profiler_range(const profiler_range&) = delete;
  profiler_range& operator=(const profiler_range&) = delete;
  ~profiler_range() {
#if MOTET_NVTX_RANGES
    if (open_) nvtxRangePop();
#endif
  }

 private:
  bool open_;
};

}  // namespace motet::cuda
