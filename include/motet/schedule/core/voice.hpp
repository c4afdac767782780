// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <string_view>

namespace motet {

// A short name that is a plain value.
struct label {
  char text[16] = {};
  constexpr label() = default;
  constexpr label(std::string_view from) {
    for (std::size_t i = 0; i < from.size() && i + 1 < sizeof text; ++i) text[i] = from[i];
  }
  constexpr label(const char* from) : label(std::string_view(from)) {}
  constexpr std::string_view view() const { return text; }
  friend constexpr bool operator==(const label&, const label&) = default;
};

// The numbers of a score leave room for so many.
inline constexpr isize most_voices = 65535, most_stages = 1 << 20, most_microbatches = 1 << 20;
// Positions of instructions leave room for so many (stage, microbatch) pairs of all voices.
inline constexpr isize most_cells = isize{1} << 28;

// One copy of a module in a program, or one shard of it: its stages in order, each on a rank.
struct voice {
  label name;
  std::int32_t module = 0;  // copies of one module share their gradients
  std::int32_t replica = 0;
  // among the voices that compute each stage of this replica together, one behind the other
  std::int32_t shard = 0;
  std::int32_t shards = 1;  // how many those are
  std::int32_t stages = 1;  // virtual stages, over all its ranks
  std::int32_t chunks = 1;  // of them on each rank: times and memory of one device are divided by it
  std::int32_t microbatches = 1;
  // the join that its last stage meets others in; -1: a loss of its own for each microbatch
  std::int32_t join = -1;
  std::int32_t group = 1;  // microbatches for each join
  bool learns = true;      // false: frozen, nothing goes backward
  // backward goes through it to those that feed it, and its weights stay as they are
  bool fixed = false;
  // gradients are summed in every backward, so all voices of the module do it together
  bool sums_each = false;
  // weights come together for every computation, or rows go to the experts of other replicas, so all voices
  // of the module do each together
  bool meets_each = false;
  // So many microbatches of a stage stay in the device's memory between forward and backward, the others wait
  // in the host's; 0: all stay.
  std::int32_t offload_beyond = 0;
  std::int32_t lane = 0;         // in which of the lanes that compute on its ranks it does
  std::int32_t first_place = 0;  // of its stages among program::places
  std::int32_t first_cell = 0;   // of its (stage, microbatch) pairs among all

  constexpr std::int32_t cell(std::int32_t stage, std::int32_t microbatch) const {
    return first_cell + stage * microbatches + microbatch;
  }
  constexpr bool updates() const { return learns && !fixed; }
  constexpr std::int32_t joins() const { return microbatches / group; }
  friend constexpr bool operator==(const voice&, const voice&) = default;
};

}  // namespace motet
