// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

// The records below are those of the toolkit 13.
#if __has_include(<cupti.h>)
#include <cupti.h>
#if CUPTI_API_VERSION >= 130001
#define MOTET_BENCH_CUPTI 1
#endif
#endif
#if defined(MOTET_BENCH_CUPTI)
#include <dlfcn.h>
#endif

namespace motet::bench {

// A kernel, a copy or a fill that the GPU has done, in nanoseconds of its clock. Kernels have the compiler's
// names.
struct done_work {
  std::string name;
  std::uint64_t from = 0, to = 0;
};

#if defined(MOTET_BENCH_CUPTI)

// CUPTI tells what ran on the GPU. The library is looked for when it is needed, so that programs start
// without it. Its callbacks know no object, so there is one list.
class activity {
 public:
  static activity& all() {
    static activity one;
    return one;
  }
  // The result is empty, or says why nothing can be recorded.
  std::string begin() {
    if (const std::string missing = load(); !missing.empty()) return missing;
    done_.clear();
    if (const CUptiResult status = register_callbacks_(room, take); status != CUPTI_SUCCESS)
      return refused("cuptiActivityRegisterCallbacks", status);
    for (const CUpti_ActivityKind kind : kinds)
      if (const CUptiResult status = enable_(kind); status != CUPTI_SUCCESS)
        return refused("cuptiActivityEnable", status);
    return {};
  }
  // Returns what was done so far; the list is empty afterwards.
  std::vector<done_work> flush() {
    cudaDeviceSynchronize();
    flush_all_(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    const std::lock_guard lock(mutex_);
    return std::exchange(done_, {});
  }
  std::vector<done_work> end() {
    auto found = flush();
    for (const CUpti_ActivityKind kind : kinds) disable_(kind);
    return found;
  }

 private:
  static constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                                 CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};
  static constexpr std::size_t bytes = 4 << 20;

  static std::string refused(const char* call, CUptiResult status) {
    return std::string(call) + " answers " + std::to_string(static_cast<int>(status)) +
           ": this user or this machine may not record";
  }
  std::string load() {
    if (flush_all_ != nullptr) return {};
    const std::string name = "libcupti.so." + std::to_string(CUPTI_API_VERSION / 10000);
    // A program may have it already.
    void* from = dlsym(RTLD_DEFAULT, "cuptiActivityFlushAll") != nullptr
                     ? RTLD_DEFAULT
                     : dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (from == nullptr && dlsym(RTLD_DEFAULT, "cuptiActivityFlushAll") == nullptr)
      return name + " is not found; LD_LIBRARY_PATH says where it lies";
    const auto find = [&](auto& function, const char* called) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(from, called));
      return function != nullptr;
    };
    if (find(register_callbacks_, "cuptiActivityRegisterCallbacks") && find(enable_, "cuptiActivityEnable") &&
        find(disable_, "cuptiActivityDisable") && find(next_, "cuptiActivityGetNextRecord") &&
        find(flush_all_, "cuptiActivityFlushAll"))
      return {};
    flush_all_ = nullptr;
    return name + " lacks the calls that record";
  }

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
      while (valid > 0 && own.next_(buffer, valid, &record) == CUPTI_SUCCESS) {
        const auto add = [&](const auto* one, const char* name) {
          if (one->end > one->start) own.done_.push_back({name, one->start, one->end});
        };
        switch (record->kind) {
          case CUPTI_ACTIVITY_KIND_KERNEL:
          case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
            const auto* const kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
            add(kernel, kernel->name != nullptr ? kernel->name : "a kernel without a name");
            break;
          }
          case CUPTI_ACTIVITY_KIND_MEMCPY: {
            const auto* const copy = reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
            add(copy, copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD   ? "copy, host to GPU"
                      : copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ? "copy, GPU to host"
                                                                          : "copy within the GPU");
            break;
          }
          case CUPTI_ACTIVITY_KIND_MEMSET:
            add(reinterpret_cast<const CUpti_ActivityMemset4*>(record), "fill");
            break;
          default: break;
        }
      }
    }
    std::free(buffer);
  }

  decltype(&cuptiActivityRegisterCallbacks) register_callbacks_ = nullptr;
  decltype(&cuptiActivityEnable) enable_ = nullptr;
  decltype(&cuptiActivityDisable) disable_ = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_ = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all_ = nullptr;
  std::mutex mutex_;
  std::vector<done_work> done_;
};

#else

class activity {
 public:
  static activity& all() {
    static activity one;
    return one;
  }
  std::string begin() { return "this program was built without cupti.h of the toolkit 13"; }
  std::vector<done_work> flush() { return {}; }
  std::vector<done_work> end() { return {}; }
};

#endif

}  // namespace motet::bench
