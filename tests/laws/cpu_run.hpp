// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/exchange/exchanged_pieces.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace motet::laws {

// Memory of a run, filled with a pattern that reads as NaN in every number type, so that what was never
// written shows. Differences are hundreds of runs of one thing, and memory that comes and goes by megabytes
// takes a system, and a sanitizer, longer than they compute: a run has again what the one before it on this
// thread had, where that is as large to the byte.
class run_memory {
 public:
  run_memory() : before_(std::exchange(kept(), {})) {}
  ~run_memory() { kept() = std::move(now_); }
  run_memory(const run_memory&) = delete;
  run_memory& operator=(const run_memory&) = delete;

  arena take(isize size, isize filled) {
    size = std::max<isize>(size, arena::alignment);
    const auto same =
        std::find_if(before_.begin(), before_.end(), [&](const auto& m) { return m.size() == size; });
    if (same == before_.end()) {
      now_.emplace_back(size);
    } else {
      now_.push_back(std::move(*same));
      before_.erase(same);
    }
    const buffer<std::byte>& memory = now_.back();
    std::fill_n(memory.data(), std::min(size, filled), std::byte{0xff});
    return arena(memory.data(), size);
  }

 private:
  static std::vector<buffer<std::byte>>& kept() {
    thread_local std::vector<buffer<std::byte>> memory;
    return memory;
  }
  std::vector<buffer<std::byte>> before_, now_;
};

// Runs body(ctx) on every thread of a team: one shared arena of `bytes`, and for each thread a scratch arena
// of `scratch_bytes`, which is megabytes and filled at its beginning. It is compiled once, whatever the body.
inline void run_on_team(int threads, isize bytes, isize scratch_bytes, work_ref<cpu::context&> body,
                        cpu::draw_key draws) {
  cpu::team crew(threads);
  run_memory memory;
  const arena shared = memory.take(bytes, bytes);
  std::vector<arena> own;
  for (int t = 0; t < threads; ++t) own.push_back(memory.take(scratch_bytes, 1 << 18));
  crew.run([&](int thread) {
    cpu::context ctx;
    ctx.crew = &crew;
    ctx.thread = thread;
    ctx.threads = threads;
    ctx.memory = shared;
    ctx.scratch = own[static_cast<std::size_t>(thread)];
    ctx.draws = draws;
    body(ctx);
  });
}

template <class Body>
void cpu_run(int threads, isize bytes, isize scratch_bytes, Body&& body, cpu::draw_key draws = {}) {
  run_on_team(threads, bytes, scratch_bytes, work_ref<cpu::context&>(body), draws);
}

template <class Body>
void cpu_run(int threads, isize bytes, Body&& body, cpu::draw_key draws = {}) {
  cpu_run(threads, bytes, bytes, body, draws);
}

// First a dry run on one thread, then a run with exactly the memory that the dry run asked for: an operation
// that needs more throws. Returns what the dry run noted.
template <class Body>
cpu::profile cpu_run_foretold(int threads, Body&& body, cpu::draw_key draws = {}) {
  cpu::profile noted;
  cpu::context dry;
  dry.costs = &noted;
  dry.draws = draws;
  body(dry);
  cpu_run(threads, dry.memory.peak(), dry.scratch.peak(), body, draws);
  return noted;
}

}  // namespace motet::laws
