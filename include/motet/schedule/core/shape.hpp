// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/verdict.hpp>
#include <motet/schedule/core/rules.hpp>
#include <motet/schedule/core/score.hpp>

// The contract of a schedule. A schedule is a stateless type S:
//
//   S::name
//       the word for it on command lines and in files
//   S::shape
//       its numbers, a plain structure; pipeline_shape for all schedules of one module. Its cells() says how
//       many (stage, microbatch) pairs there are at most
//   S::check(shape)
//       the verdict on these numbers
//   S::write(shape)
//       the score; only called for shapes that pass
//   S::work(shape)
//       may say how many pairs a plain schedule writes in the time that this one takes, so that compilers are
//       not asked for too much
//
// Both functions are constexpr: see proven.hpp.

namespace motet {

// One module on a row of devices.
// Asks for: one stage and one microbatch, or more; check_counts() says so.
// Memory: four numbers.
// Errors: MT-P01, MT-P07, MT-P09, MT-P11
// Example:
//   constexpr pipeline_shape four{.stages = 4, .microbatches = 8};
//   static_assert(check_counts(four).ok() && !check_layers(four, 3).ok());
struct pipeline_shape {
  int stages = 1;  // devices
  int microbatches = 1;
  int chunks = 0;  // virtual stages on each device; 0: what the schedule is made for
  int memory = 0;  // most microbatches that a device may keep for backward; 0: as many as the schedule likes

  constexpr int chunks_or(int usual) const { return chunks > 0 ? chunks : usual; }
  constexpr isize cells() const { return isize{stages} * chunks_or(2) * microbatches; }
};

// Both counts there, and as many chunks as the schedule has.
constexpr verdict check_counts(const pipeline_shape& p, int chunks = 1) {
  if (p.stages < 1 || p.microbatches < 1)
    return {reason::no_stages, 0, p.stages < p.microbatches ? p.stages : p.microbatches, 1};
  if (p.chunks < 0) return {reason::no_stages, 2, p.chunks, 1};
  if (p.chunks > 0 && chunks > 0 && p.chunks != chunks)
    return {reason::chunks_are_fixed, 2, p.chunks, chunks};
  if (isize{p.stages} * p.chunks_or(2) >= most_stages || p.microbatches >= most_microbatches ||
      p.cells() > most_cells)
    return {reason::too_large, 0, p.stages, p.microbatches};
  return {};
}

// Every stage needs a layer of the net: static_assert(require<check_layers(shape, net::layers)>).
constexpr verdict check_layers(const pipeline_shape& p, isize layers, int usual_chunks = 1) {
  const isize stages = isize{p.stages} * p.chunks_or(usual_chunks);
  if (stages > layers) return {reason::more_stages_than_layers, 0, stages, layers};
  return {};
}

// The voice of a shape whose stage s lies on device s % stages (stages in a loop) or goes down and back up
// again (a V, two chunks).
enum class placement : std::uint8_t { loop, vee };

constexpr int device_of(placement how, int devices, int stage) {
  return how == placement::vee && stage >= devices ? 2 * devices - 1 - stage : stage % devices;
}
constexpr int add_voice(score& out, const pipeline_shape& p, int chunks = 1,
                        placement how = placement::loop) {
  voice made;
  made.stages = p.stages * chunks;
  made.chunks = chunks;
  made.microbatches = p.microbatches;
  return out.add(made, [&](int stage) { return device_of(how, p.stages, stage); });
}

constexpr int least(int a, int b) { return a < b ? a : b; }
constexpr int most(int a, int b) { return a < b ? b : a; }

}  // namespace motet
