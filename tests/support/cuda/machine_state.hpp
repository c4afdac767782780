// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/cuda/machine.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

// The fake runtime keeps this; its own files alone see it.

namespace motet::emulation {

// Seconds of the clock by which GPUs work.
double now();

// A tick tells when a piece of work is done.
struct tick {
  bool done = false;
  double time = 0;
};
using tick_ref = std::shared_ptr<tick>;

struct work {
  const char* name = "";
  std::function<void()> run;
  std::function<bool()> ready;
  bool on_host = false;  // a function of the host, which may not touch memory of the GPU
};
struct node {
  work what;
  std::vector<std::size_t> after;
};
using nodes = std::vector<node>;

// A replay under way.
struct replay {
  std::shared_ptr<const nodes> of;
  std::vector<bool> done;
  std::size_t left = 0;
  double seconds = 0;  // that it took until now
};
struct queued {
  work what;
  double since = 0;  // when it was queued
  std::vector<tick_ref> after;
  std::optional<replay> graph;
  tick_ref done = std::make_shared<tick>();
};

struct stream_state;
struct capture_state {
  nodes made;
  stream_state* origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id by;
  bool broken = false;
  unsigned long long number = 0;
};
struct stream_state {
  int gpu = 0;
  bool blocking = false, destroyed = false;
  int priority = 0, processors = 132;
  double free = 0;  // the time at which its last piece of work was done
  unsigned long long number = 0;
  std::deque<queued> queue;
  std::shared_ptr<capture_state> capture;
  std::set<std::size_t> tips;  // of the capture: what the next piece waits for
  tick_ref last;               // queued last
  void* share = nullptr;       // green context
};
struct event_state {
  int gpu = 0;
  bool timing = true;
  tick_ref last;
  std::shared_ptr<capture_state> capture;  // recorded last in this one
  std::set<std::size_t> tips;
};
struct graph_state {
  std::shared_ptr<const nodes> made;
};
struct exec_state {
  std::shared_ptr<const nodes> made;
  tick_ref last;
};

struct allocation {
  char* mapped = nullptr;
  std::size_t mapped_bytes = 0;  // without the page behind it
  std::size_t bytes = 0;
  int gpu = 0;
};

// In the order of their creation, so that a seed means the same in each run.
struct stream_list {
  std::vector<stream_state*> all;
  auto begin() const { return all.begin(); }
  auto end() const { return all.end(); }
  auto find(stream_state* which) const { return std::find(all.begin(), all.end(), which); }
  void insert(stream_state* made) { all.push_back(made); }
  void erase(stream_state* gone) { all.erase(find(gone)); }
};

struct machine {
  std::mutex guard;
  std::condition_variable changed;
  std::uint64_t random = 1;
  int eager = 0;  // 0 as late as may be, 1 at any time, 2 at once
  int gpus = 1;
  std::size_t memory = std::size_t{4} << 30;
  bool running = false;  // one piece of work at a time
  double could_begin = 0, no_sooner = 0;
  std::map<int, double> pace;
  std::vector<std::function<void(const void*, std::size_t)>> frees;
  std::function<void(const std::string&, double, double)> watch;
  bool open = false;  // memory of GPUs may be touched
  std::map<std::uintptr_t, allocation> held;
  std::map<std::uintptr_t, std::size_t> pinned, registered;
  std::deque<std::pair<char*, std::size_t>> graves;  // freed memory, not given to anybody for a while
  std::map<int, std::size_t> used;
  stream_list streams;
  std::set<event_state*> events;
  std::set<graph_state*> graphs;
  std::set<exec_state*> execs;
  std::map<int, stream_state*> legacy;
  unsigned long long numbers = 0;
  std::map<std::string, std::pair<int, cudaError_t>> refusals;
  bool begun = false, loads_late = false;  // by CUDA_MODULE_LOADING, at the first call
  tally told;

  static machine& one();
  using lock = std::unique_lock<std::mutex>;
  std::uint64_t draw();
  stream_state* stream_of(cudaStream_t handle);  // null when there is no such
  event_state* event_of(cudaEvent_t handle);
  // A capture gets a node. Else `done`, if given, is set to when it will be done; the lock may be open for a
  // while.
  cudaError_t queue(lock& held_lock, stream_state& on, work what, std::vector<tick_ref> after = {},
                    tick_ref* done = nullptr);
  cudaError_t queue_graph(lock& held_lock, stream_state& on, exec_state& what);
  bool step(lock& held_lock);
  void wait(lock& held_lock, const std::function<bool()>& until);
  void let_run(lock& held_lock, int most);
  void drain(lock& held_lock, int gpu);
  void protect(bool now_open);
  const allocation* find(const void* at) const;
  // A capture that a potentially unsafe call breaks, if any.
  bool unsafe();
  void finish_queued(lock& held_lock, stream_state& on, queued piece);
};

// The facts are those of the calling thread.
struct thread_facts {
  int gpu = 0;
  cudaError_t last = cudaSuccess;
  bool in_work = false, in_host_call = false;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
};
inline thread_local thread_facts mine;

inline cudaError_t said(cudaError_t status) {
  if (status != cudaSuccess) mine.last = status;
  return status;
}
// This stands before every call of the runtime.
cudaError_t entering(const char* call, bool needs_gpu = true);

}  // namespace motet::emulation
