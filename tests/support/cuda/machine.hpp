// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/cuda/emulated_thread.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

// The machine that the fake CUDA runtime plays: GPUs without a GPU. Work on streams is queued and runs when
// the host waits for something, in any order that streams and events allow; which one is drawn from a seed,
// so a missing dependency shows sooner or later. The host cannot touch memory of a GPU, nor a kernel memory
// of the host that is not pinned. What a real GPU would answer with an error is answered so; what would be
// undefined there ends the program with a line on stderr that begins with `emulated GPU:`.
//
// Environment: MOTET_FAKE_SEED (order of work), MOTET_FAKE_GPUS (how many), MOTET_FAKE_MEMORY (bytes of
// each).

namespace motet::emulation {

// Draws other orders from now on. Of three seeds in turn, work runs as late as it may, at any time, and as
// soon as it may.
void seed(std::uint64_t number);
void set_gpus(int count);
void set_memory(std::size_t bytes);  // of each GPU
// The next call of this function, after `passed` more of it, does nothing and answers `status`.
void refuse(const std::string& function, cudaError_t status, int passed = 0);
// Says whether this call of a library's fake is refused so.
bool is_refused(const std::string& function);
// look() is called before memory of a GPU goes away, for fakes of libraries that were told of it. It may not
// call the runtime.
void watch_frees(std::function<void(const void* at, std::size_t bytes)> look);
// Counts what was done so far.
struct tally {
  long kernels = 0, copies = 0, graph_launches = 0, host_calls = 0;
};
tally done_so_far();
// The kernels, calls and copies that a graph holds.
std::size_t nodes_of(cudaGraph_t graph);
// Times of events are those of a machine whose streams run beside each other: a piece of work begins when it
// was queued, its stream is free and all that it waits for is done, and takes as long as it took here. With
// pace() it takes so many seconds on this GPU; 0: no longer.
void pace(int gpu, double seconds);
// Multiprocessors that kernels of this stream run on.
int processors_of(cudaStream_t stream);
// Says whether some of them are those of the other stream, too.
bool meet(cudaStream_t one, cudaStream_t other);

// Ends the program: what a GPU leaves undefined was done.
[[noreturn]] void fault(const std::string& what);

// Queues a function of the host that may touch memory of the GPU, as a kernel may: for fakes of libraries. It
// runs, in the stream's order, no sooner than ready() holds (if given), which is asked often and must not
// wait; other streams go on meanwhile. In a graph, it runs at each replay.
void call(cudaStream_t stream, std::function<void()> work, std::function<bool()> ready = {});
// ready() may ask for the time at which the work could begin; work() may say that it began no sooner than
// some.
double could_begin();
void began_no_sooner(double time);
// Fakes of libraries that check their arguments ask what a pointer is.
enum class memory_kind { gpu, pinned, pageable };
memory_kind memory_kind_of(const void* at);

// look() is called after each piece of work that a stream has done, with its kernel or call and the seconds
// at which it began and ended: for fakes of tracers.
void watch_work(std::function<void(const std::string& name, double from, double to)> look);
// look() is called for each load of a run and each whole store that a kernel makes in the GPU's memory.
// Single numbers, which kernels read plainly, are not seen. Only one thread of the program may wait for the
// GPU.
void watch_accesses(std::function<void(const void* at, int bytes, bool stores)> look);

struct kernel_call {
  launch_shape shape;
  int most_threads = 1024;
  const char* name = "";
  const void* kernel = nullptr;
  std::size_t bytes = 0;
  void (*run)(const void* kernel, emulated_thread& self) = nullptr;
};
// As a kernel's launch: errors are found by cudaGetLastError(). Every word of the kernel may be an address,
// or those alone that are among these.
void launch(cudaStream_t stream, const kernel_call& what,
            const std::vector<std::uintptr_t>* addresses = nullptr);

// Runs all blocks of a kernel here and now; `random` decides their order, and that of their threads.
void run_blocks(const kernel_call& what, std::uint64_t random);

}  // namespace motet::emulation
