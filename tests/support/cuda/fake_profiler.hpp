// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <mutex>
#include <string>
#include <vector>

// A profiler that NVTX finds in the program itself: it keeps the ranges of all threads, each with those
// around it.

namespace motet::emulation {

class fake_profiler {
 public:
  static fake_profiler& one() {
    static fake_profiler made;
    return made;
  }
  // This is called before the first range of a process.
  static void attach() { InitializeInjectionNvtx2_fnptr = &begin; }
  // "step / forward": each as it was opened.
  std::vector<std::string> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  bool all_closed() const {
    const std::lock_guard lock(mutex_);
    return open_ == 0 && !misused_;
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    seen_.clear();
  }

  static int push(const char* name) {
    auto& self = one();
    const std::lock_guard lock(self.mutex_);
    around().push_back(around().empty() ? name : around().back() + " / " + name);
    self.seen_.push_back(around().back());
    ++self.open_;
    return static_cast<int>(around().size()) - 1;
  }
  static int pop() {
    auto& self = one();
    const std::lock_guard lock(self.mutex_);
    if (around().empty()) return self.misused_ = true, -1;
    around().pop_back();
    --self.open_;
    return static_cast<int>(around().size());
  }
  // NVTX calls this first.
  static int begin(NvtxGetExportTableFunc_t tables) {
    const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(tables(NVTX_ETID_CALLBACKS));
    NvtxFunctionTable functions = nullptr;
    unsigned size = 0;
    if (callbacks == nullptr ||
        callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &functions, &size) == 0)
      return 0;
    *functions[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(&push);
    *functions[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(&pop);
    return 1;
  }

 private:
  static std::vector<std::string>& around() {
    thread_local std::vector<std::string> open;
    return open;
  }
  mutable std::mutex mutex_;
  std::vector<std::string> seen_;
  int open_ = 0;
  bool misused_ = false;
};

}  // namespace motet::emulation
