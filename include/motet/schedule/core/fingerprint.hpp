// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/mixed_bits.hpp>
#include <motet/schedule/core/program.hpp>

namespace motet {

// Numbers that differ when programs do, one for each of its tables, so that ranks can compare what they run
// without sending it.
struct program_fingerprint {
  std::uint64_t voices = 0, places = 0, slots = 0, instructions = 0;
  friend constexpr bool operator==(const program_fingerprint&, const program_fingerprint&) = default;
};

namespace detail {

// Takes one number after the other; their order counts.
class fingerprint_maker {
 public:
  template <class... Numbers>
  constexpr void add(Numbers... numbers) {
    ((state_ = mixed_bits((state_ ^ static_cast<std::uint64_t>(numbers)) + golden_step)), ...);
  }
  constexpr std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

constexpr std::uint64_t fingerprint_of(const list<std::int32_t>& numbers) {
  fingerprint_maker out;
  out.add(numbers.size());
  for (const std::int32_t each : numbers) out.add(each);
  return out.value();
}

}  // namespace detail

// The names below are all fields there are: a new one does not compile until it is added here.
constexpr program_fingerprint fingerprint(const program& of) {
  const auto& [voices, places, slots, instructions, starts, feeds, joins] = of;
  detail::fingerprint_maker sung, order;
  sung.add(voices.size(), joins, feeds.size());
  for (const fed_cell& each : feeds) {
    const auto& [from, from_microbatch, to, to_microbatch] = each;
    sung.add(from, from_microbatch, to, to_microbatch);
  }
  for (const voice& each : voices) {
    const auto& [name, module, replica, shard, shards, stages, chunks, microbatches, join, group, learns,
                 fixed, sums_each, meets_each, offload_beyond, lane, first_place, first_cell] = each;
    sung.add(module, replica, shard, shards, stages, chunks, microbatches, join, group, learns, fixed,
             sums_each, meets_each, offload_beyond, lane, first_place, first_cell);
    for (const char letter : name.text) sung.add(letter);
  }
  order.add(detail::fingerprint_of(starts), instructions.size());
  for (const instruction& each : instructions) {
    const auto& [what, lane, paired, part, voice, stage, microbatch, peer] = each;
    order.add(what, lane, paired, part, voice, stage, microbatch, peer);
  }
  return {sung.value(), detail::fingerprint_of(places), detail::fingerprint_of(slots), order.value()};
}

}  // namespace motet
