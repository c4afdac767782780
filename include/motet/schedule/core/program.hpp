// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/schedule/core/fed_cell.hpp>
#include <motet/schedule/core/instruction.hpp>
#include <motet/schedule/core/voice.hpp>

namespace motet {

// Counts the voices that sing each module.
constexpr list<std::int32_t> replicas_of_modules(const list<voice>& voices) {
  list<std::int32_t> replicas;
  for (const voice& each : voices) {
    if (replicas.size() <= each.module) replicas.resize(each.module + 1, 0);
    ++replicas[each.module];
  }
  return replicas;
}

// All voices of the module do this together: they sum what it adds to gradients, gather weights for it, or
// exchange rows in it.
constexpr bool meets_replicas(const voice& sings, op what) {
  return is_compute(what) && what != op::join && (sings.meets_each || (sings.sums_each && ends(what)));
}

// Every rank has an ordered list of instructions: a plain value, whatever built it. Four readers take it:
// check, simulate, draw, run.
struct program {
  list<voice> voices;
  list<std::int32_t> places;  // the rank of each stage, voice after voice
  // how many microbatches each stage may keep for backward at once; 0: as many as it likes
  list<std::int32_t> slots;
  list<instruction> instructions;   // rank after rank
  list<std::int32_t> starts = {0};  // ranks + 1 positions in instructions
  list<fed_cell> feeds;
  std::int32_t joins = 0;

  struct role_view {
    const instruction* first;
    const instruction* last;
    constexpr const instruction* begin() const { return first; }
    constexpr const instruction* end() const { return last; }
    constexpr isize size() const { return last - first; }
    constexpr const instruction& operator[](isize i) const { return first[i]; }
  };
  constexpr std::int32_t ranks() const { return static_cast<std::int32_t>(starts.size() - 1); }
  constexpr role_view role(std::int32_t rank) const {
    return {instructions.data() + starts[rank], instructions.data() + starts[rank + 1]};
  }
  constexpr std::int32_t place(const voice& of, std::int32_t stage) const {
    return places[of.first_place + stage];
  }
  constexpr std::int32_t cells() const {
    return voices.empty() ? 0 : voices.back().first_cell + voices.back().stages * voices.back().microbatches;
  }
  // The rank that runs instruction i.
  constexpr std::int32_t rank_of(std::int32_t i) const {
    std::int32_t low = 0, high = ranks() - 1;
    while (low < high) {
      const std::int32_t middle = (low + high + 1) / 2;
      if (starts[middle] <= i) low = middle;
      else high = middle - 1;
    }
    return low;
  }
  friend constexpr bool operator==(const program&, const program&) = default;
};

}  // namespace motet
