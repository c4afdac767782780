// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device/context.hpp>

#include <algorithm>
#include <vector>

namespace motet::laws {

// Runs body(ctx) on every thread of a team: one shared arena of `bytes`, and for each thread a scratch arena
// of `scratch_bytes`. The beginning of each is filled with a pattern that reads as NaN in every number type,
// so that what was never written shows.
template <class Body>
void cpu_run(int threads, isize bytes, isize scratch_bytes, Body&& body, cpu::draw_key draws = {}) {
  cpu::team crew(threads);
  const auto make = [](isize size) {
    buffer<std::byte> memory(std::max<isize>(size, arena::alignment));
    std::fill_n(memory.data(), std::min<isize>(memory.size(), 1 << 18), std::byte{0xff});
    return memory;
  };
  const buffer<std::byte> shared = make(bytes);
  std::vector<buffer<std::byte>> own;
  for (int t = 0; t < threads; ++t) own.push_back(make(scratch_bytes));
  crew.run([&](int thread) {
    const auto& scratch = own[static_cast<std::size_t>(thread)];
    cpu::context ctx;
    ctx.crew = &crew;
    ctx.thread = thread;
    ctx.threads = threads;
    ctx.memory = arena(shared.data(), shared.size());
    ctx.scratch = arena(scratch.data(), scratch.size());
    ctx.draws = draws;
    body(ctx);
  });
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
