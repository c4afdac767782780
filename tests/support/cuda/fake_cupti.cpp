// SPDX-License-Identifier: Apache-2.0
// CUPTI's record of activity, of work that the emulated GPUs did. Records lie in buffers of the caller, as
// there: asked for one at a time, given back when they are full or flushed.
#if __has_include(<cupti.h>)

#include "support/cuda/machine.hpp"

#include <cupti.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>

namespace {

struct tracer {
  std::mutex guard;
  CUpti_BuffersCallbackRequestFunc room = nullptr;
  CUpti_BuffersCallbackCompleteFunc take = nullptr;
  std::set<CUpti_ActivityKind> wanted;
  std::deque<std::string> names;  // live as long as the program, as CUPTI's do
  struct record {
    CUpti_ActivityKind kind;
    const char* name;
    std::uint64_t from, to;
  };
  std::deque<record> made;

  static tracer& one() {
    static tracer* const made = new tracer;
    return *made;
  }
  void note(const std::string& name, double from, double to) {
    const auto begins = [&](const char* with) { return name.rfind(with, 0) == 0; };
    const CUpti_ActivityKind kind = begins("cudaMemcpy")   ? CUPTI_ACTIVITY_KIND_MEMCPY
                                    : begins("cudaMemset") ? CUPTI_ACTIVITY_KIND_MEMSET
                                                           : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    const std::lock_guard lock(guard);
    if (wanted.count(kind) == 0) return;
    auto known = std::find(names.begin(), names.end(), name);
    if (known == names.end()) known = names.insert(names.end(), name);
    made.push_back(
        {kind, known->c_str(), static_cast<std::uint64_t>(from * 1e9), static_cast<std::uint64_t>(to * 1e9)});
  }
};

// Each record has the room of the largest.
constexpr std::size_t each_bytes = (sizeof(CUpti_ActivityKernel10) + 7) / 8 * 8;
static_assert(each_bytes >= sizeof(CUpti_ActivityMemcpy6) && each_bytes >= sizeof(CUpti_ActivityMemset4));

template <class Record>
Record& begun(std::uint8_t* at, const tracer::record& from) {
  Record& out = *new (at) Record;
  std::memset(static_cast<void*>(&out), 0, sizeof out);
  out.kind = from.kind;
  out.start = from.from;
  out.end = from.to;
  return out;
}

}  // namespace

extern "C" {

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc room,
                                           CUpti_BuffersCallbackCompleteFunc take) {
  if (room == nullptr || take == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  auto& own = tracer::one();
  own.room = room;
  own.take = take;
  motet::emulation::watch_work(
      [](const std::string& name, double from, double to) { tracer::one().note(name, from, to); });
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(tracer::one().guard);
  tracer::one().wanted.insert(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(tracer::one().guard);
  tracer::one().wanted.erase(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(uint32_t) {
  auto& own = tracer::one();
  if (own.take == nullptr) return CUPTI_ERROR_INVALID_OPERATION;
  for (;;) {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, most = 0, used = 0;
    {
      const std::lock_guard lock(own.guard);
      if (own.made.empty()) return CUPTI_SUCCESS;
    }
    own.room(&buffer, &size, &most);
    if (buffer == nullptr || size < each_bytes) return CUPTI_ERROR_OUT_OF_MEMORY;
    {
      const std::lock_guard lock(own.guard);
      for (; !own.made.empty() && used + each_bytes <= size; used += each_bytes) {
        const auto next = own.made.front();
        own.made.pop_front();
        if (next.kind == CUPTI_ACTIVITY_KIND_MEMCPY)
          begun<CUpti_ActivityMemcpy6>(buffer + used, next).copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN;
        else if (next.kind == CUPTI_ACTIVITY_KIND_MEMSET) begun<CUpti_ActivityMemset4>(buffer + used, next);
        else begun<CUpti_ActivityKernel10>(buffer + used, next).name = next.name;
      }
    }
    own.take(nullptr, 0, buffer, size, used);
  }
}
CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  auto* const last = reinterpret_cast<std::uint8_t*>(*record);
  std::uint8_t* const next = last == nullptr ? buffer : last + each_bytes;
  if (next + each_bytes > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

}  // extern "C"

#endif
