// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "timing.hpp"

#include <mutex>
#include <utility>

// Defined by the build where CUPTI is linked. The records below are those of the toolkit 13.
#if defined(MOTET_BENCH_CUPTI)
#include <cupti.h>
#if CUPTI_API_VERSION < 130001
#undef MOTET_BENCH_CUPTI
#endif
#endif

namespace motet::bench {

// Of intervals of time that may overlap: the share, from the first begin to the last end, that none of them covers.
inline double uncovered(std::vector<std::pair<std::uint64_t, std::uint64_t>> spans) {
  if (spans.empty()) return 0;
  std::sort(spans.begin(), spans.end());
  std::uint64_t end = spans.front().first, idle = 0;
  for (const auto& each : spans) {
    if (each.first > end) idle += each.first - end;
    end = std::max(end, each.second);
  }
  return static_cast<double>(idle) / static_cast<double>(end - spans.front().first);
}

#if defined(MOTET_BENCH_CUPTI)

// What ran on the GPU, as CUPTI tells it: kernels, copies and fills. Its callbacks know no object, so there is one list.
class activity {
 public:
  static activity& all() {
    static activity one;
    return one;
  }
  bool begin() {
    spans_.clear();
    if (cuptiActivityRegisterCallbacks(room, take) != CUPTI_SUCCESS) return false;
    bool all = true;
    for (const CUpti_ActivityKind kind : kinds) all = cuptiActivityEnable(kind) == CUPTI_SUCCESS && all;
    return all;
  }
  // What was done so far; the list is empty afterwards.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> flush() {
    cudaDeviceSynchronize();
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    const std::lock_guard lock(mutex_);
    return std::exchange(spans_, {});
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> end() {
    auto found = flush();
    for (const CUpti_ActivityKind kind : kinds) cuptiActivityDisable(kind);
    return found;
  }

 private:
  static constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};
  static constexpr std::size_t bytes = 4 << 20;

  static void CUPTIAPI room(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, bytes));
    *size = *buffer != nullptr ? bytes : 0;
    *most_records = 0;
  }
  static void CUPTIAPI take(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
    activity& own = all();
    {
      const std::lock_guard lock(own.mutex_);
      CUpti_Activity* record = nullptr;
      while (valid > 0 && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        const auto add = [&](const auto* one) {
          if (one->end > one->start) own.spans_.emplace_back(one->start, one->end);
        };
        switch (record->kind) {
          case CUPTI_ACTIVITY_KIND_KERNEL:
          case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: add(reinterpret_cast<const CUpti_ActivityKernel10*>(record)); break;
          case CUPTI_ACTIVITY_KIND_MEMCPY: add(reinterpret_cast<const CUpti_ActivityMemcpy6*>(record)); break;
          case CUPTI_ACTIVITY_KIND_MEMSET: add(reinterpret_cast<const CUpti_ActivityMemset4*>(record)); break;
          default: break;
        }
      }
    }
    std::free(buffer);
  }

  std::mutex mutex_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans_;
};

// Of what `body` gives the GPU; tracing stretches short kernels a little, so the truth is rather below. `again` goes before, traced as well: graphs
// that were made before that are not seen kernel by kernel. Where CUPTI was once at work, later launches may be slower, so this comes
// last. -1: not known.
template <class Again, class Body>
double share_of_gaps(Again&& again, Body&& body) {
  if (!activity::all().begin()) return -1;
  again();
  activity::all().flush();
  body();
  const auto spans = activity::all().end();
  return spans.empty() ? -1 : uncovered(spans);
}
inline constexpr bool knows_gaps = true;

#else

template <class Again, class Body>
double share_of_gaps(Again&&, Body&&) {
  return -1;
}
inline constexpr bool knows_gaps = false;

#endif

}  // namespace motet::bench
