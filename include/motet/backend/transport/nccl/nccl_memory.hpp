// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/warnings.hpp>
#include <motet/backend/transport/nccl/nccl_communicator.hpp>

#include <memory>
#include <string>
#include <unordered_set>

namespace motet::nccl {

// Memory that NCCL is told of once, so that it may read and write it without copies of its own. In a call
// either all members of a communicator bring such memory or none does: so where NCCL refuses some on one
// rank, all ranks do without.
class kept_memory {
 public:
  kept_memory() = default;
  kept_memory(const kept_memory&) = delete;
  kept_memory& operator=(const kept_memory&) = delete;

  // NCCL knows it while what is returned lives: no longer than the memory, the communicator and this. Null:
  // it does without.
  std::shared_ptr<void> keep(const communicator& by, const void* data, isize bytes) {
    if (is_off_ || bytes <= 0 || !by) return nullptr;
    void* handle = nullptr;
    const ncclResult_t status = ncclCommRegister(by.get(), const_cast<void*>(data), as_size(bytes), &handle);
    // It answers with success and no handle where a user turned this off.
    if (status != ncclSuccess || handle == nullptr) {
      ++refused_;
      why_ = status == ncclSuccess ? "turned off by NCCL_LOCAL_REGISTER" : ncclGetErrorString(status);
      if (status != ncclSuccess)
        warnings::of_process().say(memory_not_registered, why_, sentence({bytes, " bytes: ", why_}));
      return nullptr;
    }
    return std::make_shared<entry>(*this, by, handle, bytes);
  }
  isize refused() const { return refused_; }
  // All do without from now on; nothing is under way.
  void turn_off() {
    is_off_ = true;
    for (entry* each : all_) each->drop();
  }
  std::string describe() const {
    if (is_off_)
      return "no memory is registered with NCCL: " + (why_.empty() ? "another rank could not" : why_);
    isize bytes = 0;
    for (const entry* each : all_) bytes += each->bytes;
    return sentence({all_.size(), " buffers of ", bytes, " bytes are registered with NCCL"});
  }

 private:
  struct entry {
    entry(kept_memory& in, const communicator& comm, void* known, isize size)
        : of(in), by(comm), handle(known), bytes(size) {
      of.all_.insert(this);
    }
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry() {
      drop();
      of.all_.erase(this);
    }
    // A communicator that was aborted has forgotten it.
    void drop() noexcept {
      if (handle != nullptr && !by.is_aborted()) ncclCommDeregister(by.get(), handle);
      handle = nullptr;
    }
    kept_memory& of;
    const communicator& by;
    void* handle;
    isize bytes;
  };

  std::unordered_set<entry*> all_;
  isize refused_ = 0;
  bool is_off_ = false;
  std::string why_;
};

}  // namespace motet::nccl
