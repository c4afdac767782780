// SPDX-License-Identifier: Apache-2.0
// NCCL for ranks that are threads of one process, each with an emulated GPU. What one rank begins waits on
// its stream until the others come; communicators of several ranks are made while all of them look
// (ncclInProgress until then). Calls that do not match, which would hang or be undefined, end the program.
#include "support/cuda/machine.hpp"

#include <motet/tensor/dtype.hpp>

#include <nccl.h>

#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace {

using motet::isize;
namespace emulation = motet::emulation;

std::mutex mutex;  // of all communicators

struct message {
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t bytes = 0;
  bool sent = false, wanted = false, moved = false, registered = false;
  double time = 0;  // at which both ends are there
};
struct collective {
  std::string what;
  std::vector<const void*> from;
  std::vector<void*> to;
  std::vector<bool> here;
  std::size_t arrived = 0;
  bool done = false, registered = false;
  double time = 0;  // at which all have come
};
// The ranks of a communicator have this in common.
struct common {
  explicit common(int count) : ranks(count) {}
  int ranks;
  int joined = 0;
  std::map<std::size_t, collective> collectives;                 // by number
  std::map<std::pair<int, int>, std::vector<message>> messages;  // of each pair and direction, in order
  struct division {
    std::vector<int> colors, keys;
    std::size_t asked = 0;
    std::map<int, std::shared_ptr<common>> made;
  };
  std::map<std::size_t, division> divisions;
};

}  // namespace

struct ncclComm {
  ncclComm(std::shared_ptr<common> by, int own) : of(std::move(by)), rank(own) {}
  std::shared_ptr<common> of;
  int rank;
  std::size_t next_collective = 0, next_division = 0;
  std::map<int, std::size_t> next_sent, next_wanted;  // of each peer
  std::shared_ptr<bool> aborted = std::make_shared<bool>(false);
  // A communicator that is split off is there when all ranks asked.
  ncclComm** promised = nullptr;
  bool is_ready = true;
  std::map<void*, std::pair<std::uintptr_t, std::size_t>> registered;  // by handle
};

namespace {

std::map<std::string, std::shared_ptr<common>>& worlds() {
  static std::map<std::string, std::shared_ptr<common>> all;
  return all;
}

std::size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8: return 1;
    case ncclBfloat16: return 2;
    case ncclInt32:
    case ncclFloat32: return 4;
    default: return 8;
  }
}

template <class T>
void sum_as(const std::vector<const void*>& parts, std::size_t count, std::size_t first, void* to) {
  std::vector<T> sum(count);
  for (std::size_t i = 0; i < count; ++i) {
    // A ring begins somewhere, and rounds at each rank.
    const std::size_t begin = (first + i) % parts.size();
    T found = static_cast<const T*>(parts[begin])[first + i];
    for (std::size_t p = 1; p < parts.size(); ++p) {
      const T next = static_cast<const T*>(parts[(begin + p) % parts.size()])[first + i];
      if constexpr (std::is_same_v<T, motet::bf16>) found = T(float(found) + float(next));
      else found = static_cast<T>(found + next);
    }
    sum[i] = found;
  }
  if (count > 0) std::memcpy(to, sum.data(), count * sizeof(T));
}
void sum(ncclDataType_t type, const std::vector<const void*>& parts, std::size_t count, std::size_t first,
         void* to) {
  switch (type) {
    case ncclFloat32: return sum_as<float>(parts, count, first, to);
    case ncclFloat64: return sum_as<double>(parts, count, first, to);
    case ncclBfloat16: return sum_as<motet::bf16>(parts, count, first, to);
    case ncclUint8: return sum_as<std::uint8_t>(parts, count, first, to);
    default: emulation::fault("NCCL: a sum of a type that this fake lacks");
  }
}

void require_gpu(const void* memory, std::size_t bytes) {
  if (bytes > 0 && emulation::memory_kind_of(memory) == emulation::memory_kind::pageable)
    emulation::fault("NCCL was given pageable memory of the host");
}

// All communicators with memory that they were told of.
std::set<ncclComm*>& tellers() {
  static std::set<ncclComm*> all;
  return all;
}
bool is_registered(const ncclComm& comm, const void* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  for (const auto& [handle, range] : comm.registered)
    if (address >= range.first && address < range.first + range.second) return true;
  return false;
}
void forget(ncclComm* comm, bool may_know) {
  const std::lock_guard lock(mutex);
  if (!may_know && !comm->registered.empty())
    emulation::fault("NCCL: a communicator is destroyed that still knows memory");
  tellers().erase(comm);
}

// Runs `all(from, to)` once, when all ranks have come to their collective of this number.
template <class All>
ncclResult_t collect(ncclComm_t comm, cudaStream_t stream, const std::string& what, const void* from,
                     void* to, All all) {
  const std::size_t number = comm->next_collective++;
  const bool registered = is_registered(*comm, from);
  const auto of = comm->of;
  const int rank = comm->rank;
  const auto gone = comm->aborted;
  emulation::call(
      stream,
      [=] {
        const std::lock_guard lock(mutex);
        if (*gone) return;
        collective& it = of->collectives[number];
        emulation::began_no_sooner(it.time);
        if (std::exchange(it.done, true)) return;
        all(it.from, it.to);
      },
      [=] {
        const std::lock_guard lock(mutex);
        if (*gone) return true;
        collective& it = of->collectives[number];
        if (it.here.empty()) {
          const auto size = static_cast<std::size_t>(of->ranks);
          it.what = what;
          it.registered = registered;
          it.from.resize(size);
          it.to.resize(size);
          it.here.resize(size);
        }
        const auto me = static_cast<std::size_t>(rank);
        if (!it.here[me]) {
          if (it.what != what) emulation::fault("NCCL: one rank calls " + it.what + ", another " + what);
          if (it.registered != registered)
            emulation::fault("NCCL: in " + what + " some ranks bring registered memory, some other");
          it.here[me] = true;
          it.time = std::max(it.time, emulation::could_begin());
          it.from[me] = from;
          it.to[me] = to;
          ++it.arrived;
        }
        return it.arrived == it.here.size();
      });
  return ncclSuccess;
}
std::string named(const char* call, std::size_t count, ncclDataType_t type, int root = -1) {
  return std::string(call) + " of " + std::to_string(count) + " x " + std::to_string(static_cast<int>(type)) +
         ", root " + std::to_string(root);
}

struct half {
  ncclComm_t comm;
  bool sends;
  void* data;
  std::size_t bytes;
  int peer;
  std::size_t number;
  cudaStream_t stream;
  bool registered = false;
};
thread_local int depth = 0;
thread_local std::vector<half> halves;

message& message_of(const half& it) {
  auto& list =
      it.comm->of->messages[it.sends ? std::pair{it.comm->rank, it.peer} : std::pair{it.peer, it.comm->rank}];
  if (list.size() <= it.number) list.resize(it.number + 1);
  return list[it.number];
}
// Sends and receives that go on at once: done when the other end of each has come.
void begin(std::vector<half> together) {
  if (together.empty()) return;
  const auto gone = together.front().comm->aborted;
  const cudaStream_t stream = together.front().stream;
  const auto shared = std::make_shared<std::vector<half>>(std::move(together));
  emulation::call(
      stream,
      [=] {
        const std::lock_guard lock(mutex);
        if (*gone) return;
        for (const half& each : *shared) {
          message& it = message_of(each);
          emulation::began_no_sooner(it.time);
          if (!std::exchange(it.moved, true) && it.bytes > 0) std::memcpy(it.to, it.from, it.bytes);
        }
      },
      [=] {
        const std::lock_guard lock(mutex);
        if (*gone) return true;
        bool all = true;
        for (const half& each : *shared) {
          message& it = message_of(each);
          if ((it.sent || it.wanted) && it.bytes != each.bytes)
            emulation::fault("NCCL: a message of " + std::to_string(it.bytes) + " bytes meets one of " +
                             std::to_string(each.bytes));
          it.bytes = each.bytes;
          if ((it.sent || it.wanted) && it.bytes > 0 && it.registered != each.registered)
            emulation::fault("NCCL: one end of a message brings registered memory, the other does not");
          it.registered = each.registered;
          if (bool& here = each.sends ? it.sent : it.wanted; !std::exchange(here, true))
            it.time = std::max(it.time, emulation::could_begin());
          if (each.sends) it.from = each.data;
          else it.to = each.data;
          all = all && it.sent && it.wanted;
        }
        return all;
      });
}
ncclResult_t add(half it) {
  require_gpu(it.data, it.bytes);
  it.registered = is_registered(*it.comm, it.data);
  if (it.peer < 0 || it.peer >= it.comm->of->ranks || it.peer == it.comm->rank) return ncclInvalidArgument;
  it.number = (it.sends ? it.comm->next_sent : it.comm->next_wanted)[it.peer]++;
  if (depth > 0) halves.push_back(it);
  else begin({it});
  return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) { return *version = NCCL_VERSION_CODE, ncclSuccess; }
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : "an error of the fake";
}
const char* ncclGetLastError(ncclComm_t) { return "nothing more is known"; }
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int next = 0;
  const std::lock_guard lock(mutex);
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->internal, sizeof id->internal, "world %d", next++);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config->magic != 0xcafebeef || config->blocking != 0)
    emulation::fault("NCCL: a config that was not initialised, or blocks");
  const std::lock_guard lock(mutex);
  auto& all = worlds()[std::string(id.internal)];
  if (!all) all = std::make_shared<common>(ranks);
  if (all->ranks != ranks) return ncclInvalidArgument;
  ++all->joined;
  *comm = new ncclComm(all, rank);
  return ncclInProgress;
}
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t*) {
  const std::lock_guard lock(mutex);
  const auto size = static_cast<std::size_t>(comm->of->ranks), me = static_cast<std::size_t>(comm->rank);
  common::division& it = comm->of->divisions[comm->next_division++];
  it.colors.resize(size);
  it.keys.resize(size);
  it.colors[me] = color;
  it.keys[me] = key;
  ++it.asked;
  *made = nullptr;
  if (color != NCCL_SPLIT_NOCOLOR) {
    auto& of = it.made[color];
    if (!of) of = std::make_shared<common>(0);
    *made = new ncclComm(of, -1);
  }
  comm->promised = made;
  comm->is_ready = false;
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* found) {
  const std::lock_guard lock(mutex);
  *found = ncclSuccess;
  if (*comm->aborted) return ncclInvalidUsage;
  if (!comm->is_ready) {
    common::division& it = comm->of->divisions[comm->next_division - 1];
    if (it.asked < it.colors.size()) return *found = ncclInProgress, ncclSuccess;
    const int color = it.colors[static_cast<std::size_t>(comm->rank)];
    if (color != NCCL_SPLIT_NOCOLOR) {
      ncclComm& own = **comm->promised;
      own.rank = own.of->ranks = 0;
      for (int r = 0; r < comm->of->ranks; ++r) {
        const auto at = static_cast<std::size_t>(r);
        if (it.colors[at] != color) continue;
        ++own.of->ranks;
        own.rank += it.keys[at] < it.keys[static_cast<std::size_t>(comm->rank)];
      }
      own.of->joined = own.of->ranks;
    }
    comm->is_ready = true;
  }
  if (comm->of->joined < comm->of->ranks) *found = ncclInProgress;
  return ncclSuccess;
}
ncclResult_t ncclCommCount(ncclComm_t comm, int* count) { return *count = comm->of->ranks, ncclSuccess; }
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) { return *rank = comm->rank, ncclSuccess; }
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  forget(comm, false);
  return delete comm, ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  {
    const std::lock_guard lock(mutex);
    *comm->aborted = true;
  }
  forget(comm, true);
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* at, size_t bytes, void** handle) {
  *handle = nullptr;
  if (emulation::is_refused("ncclCommRegister")) return ncclInternalError;
  const auto* const first = static_cast<const std::byte*>(at);
  if (bytes == 0 || emulation::memory_kind_of(first) != emulation::memory_kind::gpu ||
      emulation::memory_kind_of(first + bytes - 1) != emulation::memory_kind::gpu)
    emulation::fault("NCCL is told of memory that is none of a GPU");
  static std::once_flag once;
  std::call_once(once, [] {
    emulation::watch_frees([](const void* gone, std::size_t size) {
      const std::lock_guard lock(mutex);
      const auto begin = reinterpret_cast<std::uintptr_t>(gone);
      for (const ncclComm* each : tellers())
        for (const auto& [known, range] : each->registered)
          if (range.first < begin + size && begin < range.first + range.second)
            emulation::fault("memory goes away that NCCL still knows");
    });
  });
  const std::lock_guard lock(mutex);
  static std::uintptr_t next = 1;
  *handle = reinterpret_cast<void*>(next++);
  comm->registered[*handle] = {reinterpret_cast<std::uintptr_t>(at), bytes};
  tellers().insert(comm);
  return ncclSuccess;
}
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  const std::lock_guard lock(mutex);
  if (comm->registered.erase(handle) == 0) emulation::fault("NCCL is to forget memory that it does not know");
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() { return ++depth, ncclSuccess; }
ncclResult_t ncclGroupEnd() {
  if (--depth == 0) begin(std::exchange(halves, {}));
  return ncclSuccess;
}
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add({comm, true, const_cast<void*>(from), count * bytes_of(type), peer, 0, stream});
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add({comm, false, to, count * bytes_of(type), peer, 0, stream});
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t,
                           ncclComm_t comm, cudaStream_t stream) {
  require_gpu(from, count);
  return collect(comm, stream, named("ncclAllReduce", count, type), from, to,
                 [=](const auto& parts, const auto& outs) {
                   std::vector<std::byte> found(count * bytes_of(type));
                   sum(type, parts, count, 0, found.data());
                   for (void* each : outs) std::memcpy(each, found.data(), found.size());
                 });
}
ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  require_gpu(from, count);
  return collect(comm, stream, named("ncclReduce", count, type, root), from, to,
                 [=](const auto& parts, const auto& outs) {
                   sum(type, parts, count, 0, outs[static_cast<std::size_t>(root)]);
                 });
}
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t,
                               ncclComm_t comm, cudaStream_t stream) {
  require_gpu(from, count);
  return collect(comm, stream, named("ncclReduceScatter", count, type), from, to,
                 [=](const auto& parts, const auto& outs) {
                   // Outs may lie in their places within the parts.
                   std::vector<std::vector<std::byte>> found(outs.size(),
                                                             std::vector<std::byte>(count * bytes_of(type)));
                   for (std::size_t r = 0; r < outs.size(); ++r)
                     sum(type, parts, count, r * count, found[r].data());
                   for (std::size_t r = 0; r < outs.size(); ++r)
                     std::memcpy(outs[r], found[r].data(), found[r].size());
                 });
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  require_gpu(from, count);
  return collect(comm, stream, named("ncclAllGather", count, type), from, to,
                 [=](const auto& parts, const auto& outs) {
                   const std::size_t bytes = count * bytes_of(type);
                   for (void* each : outs)
                     for (std::size_t r = 0; r < parts.size(); ++r)
                       std::memmove(static_cast<std::byte*>(each) + r * bytes, parts[r], bytes);
                 });
}
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return collect(comm, stream, named("ncclBroadcast", count, type, root), from, to,
                 [=](const auto& parts, const auto& outs) {
                   for (void* each : outs)
                     std::memmove(each, parts[static_cast<std::size_t>(root)], count * bytes_of(type));
                 });
}

}  // extern "C"
