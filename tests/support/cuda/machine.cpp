// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/machine_state.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace motet::emulation {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {
// This runs after everything of the program that ends by itself.
__attribute__((destructor)) void report_leaks() {
  auto& m = machine::one();
  std::size_t bytes = 0;
  for (const auto& [at, each] : m.held) bytes += each.bytes;
  std::string found;
  if (!m.held.empty())
    found += " " + std::to_string(m.held.size()) + " buffers of " + std::to_string(bytes) + " bytes,";
  if (!m.pinned.empty()) found += " " + std::to_string(m.pinned.size()) + " pinned buffers,";
  std::size_t streams = 0;
  for (const auto* each : m.streams) streams += !each->destroyed && each->number != 0;
  if (streams != 0) found += " " + std::to_string(streams) + " streams,";
  if (!m.events.empty()) found += " " + std::to_string(m.events.size()) + " events,";
  if (!m.graphs.empty()) found += " " + std::to_string(m.graphs.size()) + " graphs,";
  if (!m.execs.empty()) found += " " + std::to_string(m.execs.size()) + " executable graphs,";
  if (found.empty()) return;
  found.pop_back();
  std::fflush(nullptr);
  std::fprintf(stderr, "emulated GPU: at the end of the program, not given back:%s\n", found.c_str());
  _exit(24);
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}
}  // namespace

void fault(const std::string& what) {
  std::fflush(stdout);
  std::fprintf(stderr, "emulated GPU: %s\n", what.c_str());
  std::abort();
}

machine& machine::one() {
  static machine* const made = [] {
    auto* const m = new machine;  // outlives all
    m->random = from_environment("MOTET_FAKE_SEED", 1);
    m->eager = static_cast<int>(m->random % 3);
    m->gpus = static_cast<int>(from_environment("MOTET_FAKE_GPUS", 1));
    m->memory = from_environment("MOTET_FAKE_MEMORY", m->memory);
    return m;
  }();
  return *made;
}

std::uint64_t machine::draw() {
  random += 0x9e3779b97f4a7c15ull;
  std::uint64_t x = random;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

stream_state* machine::stream_of(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) {
    auto& found = legacy[mine.gpu];
    if (found == nullptr) {
      found = new stream_state;
      found->gpu = mine.gpu;
      streams.insert(found);
    }
    return found;
  }
  auto* const found = reinterpret_cast<stream_state*>(handle);
  const auto at = streams.find(found);
  return at == streams.end() || found->destroyed ? nullptr : found;
}
event_state* machine::event_of(cudaEvent_t handle) {
  auto* const found = reinterpret_cast<event_state*>(handle);
  return events.count(found) != 0 ? found : nullptr;
}

const allocation* machine::find(const void* at) const {
  const auto place = reinterpret_cast<std::uintptr_t>(at);
  auto next = held.upper_bound(place);
  if (next == held.begin()) return nullptr;
  --next;
  // An empty piece behind the last byte counts, too.
  return place <= next->first + next->second.bytes ? &next->second : nullptr;
}

void machine::protect(bool now_open) {
  if (open == now_open) return;
  // Each buffer is a call of the system, the dearest thing here: a few are closed whenever they can be, many
  // now and then.
  constexpr std::uint64_t few = 8;
  if (!now_open && held.size() > few && draw() % held.size() >= few) return;
  open = now_open;
  for (const auto& [at, each] : held)
    mprotect(each.mapped, each.mapped_bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

cudaError_t machine::queue(lock& held_lock, stream_state& on, work what, std::vector<tick_ref> after,
                           tick_ref* done) {
  if (on.capture) {
    auto& capture = *on.capture;
    if (capture.broken) return cudaErrorStreamCaptureInvalidated;
    capture.made.push_back({std::move(what), {on.tips.begin(), on.tips.end()}});
    on.tips = {capture.made.size() - 1};
    return cudaSuccess;
  }
  queued piece;
  piece.what = std::move(what);
  piece.after = std::move(after);
  if (done != nullptr) *done = piece.done;
  finish_queued(held_lock, on, std::move(piece));
  return cudaSuccess;
}

void machine::finish_queued(lock& held_lock, stream_state& on, queued piece) {
  // The legacy stream waits for all blocking ones of its GPU, and they for it.
  const bool is_legacy = on.number == 0;
  if (is_legacy) {
    for (auto* each : streams)
      if (each->gpu == on.gpu && each->blocking && each->last) piece.after.push_back(each->last);
  } else if (on.blocking) {
    if (const auto found = legacy.find(on.gpu); found != legacy.end() && found->second->last)
      piece.after.push_back(found->second->last);
  }
  piece.since = now();
  on.last = piece.done;
  on.queue.push_back(std::move(piece));
  changed.notify_all();
  if (eager == 2) let_run(held_lock, 1 << 30);
  if (eager == 1 && draw() % 2 == 0) let_run(held_lock, static_cast<int>(draw() % 4));
}

cudaError_t machine::queue_graph(lock& held_lock, stream_state& on, exec_state& what) {
  if (on.capture) {
    auto& capture = *on.capture;
    if (capture.broken) return cudaErrorStreamCaptureInvalidated;
    // It becomes a graph in the graph.
    const std::size_t base = capture.made.size();
    std::set<std::size_t> tips;
    for (std::size_t i = 0; i < what.made->size(); ++i) tips.insert(base + i);
    for (const node& each : *what.made) {
      node copied = each;
      for (auto& after : copied.after) tips.erase(after += base);
      if (copied.after.empty()) copied.after.assign(on.tips.begin(), on.tips.end());
      capture.made.push_back(std::move(copied));
    }
    if (!tips.empty()) on.tips = tips;
    return cudaSuccess;
  }
  queued piece;
  piece.what.name = "graph";
  piece.graph = replay{what.made, std::vector<bool>(what.made->size()), what.made->size()};
  // A graph does not run beside itself.
  if (what.last) piece.after.push_back(what.last);
  what.last = piece.done;
  ++told.graph_launches;
  finish_queued(held_lock, on, std::move(piece));
  return cudaSuccess;
}

// The first piece of this queue begins then; all that it waits for is done.
double begin_of(const stream_state& on) {
  const queued& head = on.queue.front();
  double found = std::max(head.since, on.free);
  for (const auto& after : head.after)
    if (after->done) found = std::max(found, after->time);
  return found;
}

// Runs one piece of work that is ready, if there is any and nobody runs one.
bool machine::step(lock& held_lock) {
  if (running) return false;
  struct choice {
    stream_state* on;
    std::size_t node;
  };
  constexpr auto whole = static_cast<std::size_t>(-1);
  std::vector<choice> ready;
  for (auto* each : streams) {
    if (each->queue.empty()) continue;
    auto& head = each->queue.front();
    bool may = true;
    for (const auto& after : head.after) may = may && after->done;
    could_begin = begin_of(*each);
    if (!may || (head.what.ready && !head.what.ready())) continue;
    if (!head.graph || head.graph->left == 0) {
      ready.push_back({each, whole});
      continue;
    }
    const auto& all = *head.graph->of;
    for (std::size_t i = 0; i < all.size(); ++i) {
      bool can = !head.graph->done[i];
      for (const std::size_t after : all[i].after) can = can && head.graph->done[after];
      if (can && (!all[i].what.ready || all[i].what.ready())) ready.push_back({each, i});
    }
  }
  if (ready.empty()) return false;
  // Streams are drawn, not nodes: a wide graph is no more likely than a kernel.
  const choice chosen = ready[draw() % ready.size()];
  auto& head = chosen.on->queue.front();
  // Queues keep their pieces in place while others are put behind them.
  const work& what = chosen.node == whole ? head.what : (*head.graph->of)[chosen.node].what;
  running = true;
  const double begin = begin_of(*chosen.on), began = now();
  no_sooner = begin;
  if (what.run) {
    protect(!what.on_host);
    held_lock.unlock();
    const thread_facts before = mine;
    mine.in_work = true;
    mine.in_host_call = what.on_host;
    what.run();
    mine = before;
    held_lock.lock();
  }
  running = false;
  const auto paced = pace.find(chosen.on->gpu);
  const double seconds = !what.run ? 0 : paced != pace.end() && !what.on_host ? paced->second : now() - began;
  double end = std::max(begin, no_sooner) + seconds;
  if (head.graph)
    end = begin + (head.graph->seconds = std::max(head.graph->seconds, no_sooner - begin) + seconds);
  if (watch && what.run && !what.on_host) watch(what.name, end - seconds, end);
  if (chosen.node != whole) {
    head.graph->done[chosen.node] = true;
    --head.graph->left;
  }
  if (chosen.node == whole || head.graph->left == 0) {
    head.done->time = chosen.on->free = end;
    head.done->done = true;
    chosen.on->queue.pop_front();
    if (chosen.on->destroyed && chosen.on->queue.empty()) {
      streams.erase(chosen.on);
      delete chosen.on;
    }
  }
  changed.notify_all();
  return true;
}

void machine::let_run(lock& held_lock, int most) {
  if (mine.in_work) return;
  for (int i = 0; i < most && step(held_lock); ++i) {
  }
  // Memory is left open at most times where the host goes on at once.
  if (!running && draw() % 16 == 0) protect(false);
}

void machine::wait(lock& held_lock, const std::function<bool()>& until) {
  if (mine.in_work) fault("work on a stream waits for work on a stream");
  while (!until()) {
    if (step(held_lock)) continue;
    // Another thread runs something, or will queue it.
    if (!running) protect(false);
    if (changed.wait_for(held_lock, std::chrono::seconds(60)) == std::cv_status::timeout && !running &&
        !until()) {
      std::string text = "nothing can run, and the host waits; at the heads of streams:";
      for (const auto* each : streams)
        if (!each->queue.empty())
          text += " " + std::to_string(each->number) + ": " + each->queue.front().what.name + ";";
      fault(text);
    }
  }
  if (!running) protect(false);
}

void machine::drain(lock& held_lock, int gpu) {
  std::vector<tick_ref> all;
  for (auto* each : streams)
    if ((gpu < 0 || each->gpu == gpu) && !each->queue.empty()) all.push_back(each->queue.back().done);
  wait(held_lock, [&] {
    for (const auto& each : all)
      if (!each->done) return false;
    return true;
  });
}

bool machine::unsafe() {
  if (mine.mode == cudaStreamCaptureModeRelaxed) return false;
  bool found = false;
  for (auto* each : streams) {
    if (!each->capture || each->capture->mode == cudaStreamCaptureModeRelaxed) continue;
    const bool own = each->capture->by == std::this_thread::get_id();
    const bool others =
        each->capture->mode == cudaStreamCaptureModeGlobal && mine.mode == cudaStreamCaptureModeGlobal;
    if (own || others) found = each->capture->broken = true;
  }
  return found;
}

cudaError_t entering(const char* call, bool needs_gpu) {
  auto& m = machine::one();
  const machine::lock held(m.guard);
  if (mine.in_host_call) return said(cudaErrorNotPermitted);
  if (!std::exchange(m.begun, true)) {
    const char* const loading = std::getenv("CUDA_MODULE_LOADING");
    m.loads_late = loading == nullptr || std::string_view(loading) != "EAGER";
  }
  if (const auto found = m.refusals.find(call); found != m.refusals.end() && found->second.first-- <= 0) {
    const cudaError_t status = found->second.second;
    m.refusals.erase(found);
    return said(status);
  }
  if (needs_gpu && m.gpus == 0) return said(cudaErrorNoDevice);
  return cudaSuccess;
}

// ---- what tests ask for ----

void seed(std::uint64_t number) {
  auto& m = machine::one();
  const machine::lock held(m.guard);
  m.random = number;
  m.eager = static_cast<int>(number % 3);
}
void set_gpus(int count) {
  auto& m = machine::one();
  const machine::lock held(m.guard);
  m.gpus = count;
}
void pace(int gpu, double seconds) {
  auto& m = machine::one();
  const machine::lock held(m.guard);
  if (seconds > 0) m.pace[gpu] = seconds;
  else m.pace.erase(gpu);
}
double could_begin() { return machine::one().could_begin; }
void began_no_sooner(double time) { machine::one().no_sooner = std::max(machine::one().no_sooner, time); }
void set_memory(std::size_t bytes) {
  auto& m = machine::one();
  const machine::lock held(m.guard);
  m.memory = bytes;
}
void refuse(const std::string& function, cudaError_t status, int passed) {
  auto& m = machine::one();
  const machine::lock held(m.guard);
  m.refusals[function] = {passed, status};
}
bool is_refused(const std::string& function) {
  auto& m = machine::one();
  const machine::lock held(m.guard);
  const auto found = m.refusals.find(function);
  if (found == m.refusals.end() || found->second.first-- > 0) return false;
  m.refusals.erase(found);
  return true;
}
void watch_work(std::function<void(const std::string&, double, double)> look) {
  auto& m = machine::one();
  const machine::lock held(m.guard);
  m.watch = std::move(look);
}
void watch_frees(std::function<void(const void*, std::size_t)> look) {
  auto& m = machine::one();
  const machine::lock held(m.guard);
  m.frees.push_back(std::move(look));
}
tally done_so_far() {
  auto& m = machine::one();
  const machine::lock held(m.guard);
  return m.told;
}
std::size_t nodes_of(cudaGraph_t graph) { return reinterpret_cast<graph_state*>(graph)->made->size(); }
int processors_of(cudaStream_t stream) {
  auto& m = machine::one();
  const machine::lock held(m.guard);
  const auto* const found = m.stream_of(stream);
  return found == nullptr ? 0 : found->processors;
}

memory_kind memory_kind_of(const void* at) {
  auto& m = machine::one();
  const machine::lock held(m.guard);
  if (m.find(at) != nullptr) return memory_kind::gpu;
  for (const auto* map : {&m.pinned, &m.registered}) {
    auto next = map->upper_bound(reinterpret_cast<std::uintptr_t>(at));
    if (next != map->begin() && (--next, reinterpret_cast<std::uintptr_t>(at) <= next->first + next->second))
      return memory_kind::pinned;
  }
  return memory_kind::pageable;
}

void call(cudaStream_t stream, std::function<void()> run, std::function<bool()> ready) {
  auto& m = machine::one();
  machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  if (on == nullptr) fault("a call on a stream that is none");
  ++m.told.host_calls;
  if (const cudaError_t status = m.queue(held, *on, {"call", std::move(run), std::move(ready), false});
      status != cudaSuccess)
    said(status);
}

namespace {
// Words of the arguments that are addresses of memory here must be such that a GPU could use them. False
// where it is not sure.
void look_at_arguments(const kernel_call& what, const std::vector<std::uintptr_t>* addresses) {
  const long page = sysconf(_SC_PAGESIZE);
  for (std::size_t at = 0; at + 8 <= what.bytes; at += 8) {
    std::uintptr_t word = 0;
    std::memcpy(&word, static_cast<const char*>(what.kernel) + at, 8);
    if (word < 0x500000000000ull || word >= 0xffffffffffffull)
      continue;  // pairs of numbers; programs, heaps and stacks lie between
    if (addresses != nullptr && std::find(addresses->begin(), addresses->end(), word) == addresses->end())
      continue;
    if (memory_kind_of(reinterpret_cast<const void*>(word)) != memory_kind::pageable) continue;
    unsigned char core = 0;
    if (mincore(reinterpret_cast<void*>(word / static_cast<unsigned long>(page) *
                                        static_cast<unsigned long>(page)),
                1, &core) != 0)
      continue;
    fault(std::string("kernel ") + what.name + ": its argument at byte " + std::to_string(at) +
          " points to pageable host memory, or to memory that was freed");
  }
}
}  // namespace

void launch(cudaStream_t stream, const kernel_call& what, const std::vector<std::uintptr_t>* addresses) {
  if (entering("cudaLaunchKernel") != cudaSuccess) return;
  const auto& shape = what.shape;
  if (shape.blocks <= 0 || shape.blocks > 0x7fffffff || shape.threads <= 0 || shape.threads > 1024 ||
      shape.shared < 0) {
    said(cudaErrorInvalidConfiguration);
    return;
  }
  if (shape.threads % cuda::warp_size != 0)
    fault(std::string("kernel ") + what.name + ": " + std::to_string(shape.threads) +
          " threads are no whole warps");
  if (shape.threads > what.most_threads) {
    said(cudaErrorLaunchOutOfResources);
    return;
  }
  if (shape.shared > 227 * 1024) {
    said(cudaErrorInvalidValue);
    return;
  }
  look_at_arguments(what, addresses);
  auto& m = machine::one();
  machine::lock held(m.guard);
  auto* const on = m.stream_of(stream);
  if (on == nullptr || on->gpu != mine.gpu) {
    said(cudaErrorInvalidResourceHandle);
    return;
  }
  ++m.told.kernels;
  std::shared_ptr<void> copied(std::aligned_alloc(64, (what.bytes + 63) / 64 * 64), std::free);
  std::memcpy(copied.get(), what.kernel, what.bytes);
  const std::uint64_t random = m.draw();
  kernel_call later = what;
  later.kernel = copied.get();
  said(m.queue(held, *on, {what.name, [later, copied, random] { run_blocks(later, random); }, {}, false}));
}

}  // namespace motet::emulation

namespace motet::cuda {
void emulated_call(cudaStream_t stream, std::function<void()> work) {
  emulation::call(stream, std::move(work));
}
}  // namespace motet::cuda
