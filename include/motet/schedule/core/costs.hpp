// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/mixed_bits.hpp>
#include <motet/schedule/core/message_shares.hpp>

#include <bit>

namespace motet {

namespace detail {

// A number in [0, 1) for each instruction.
constexpr double chance(std::uint64_t seed, std::uint64_t number) {
  return static_cast<double>(mixed_bits(seed + (number + 1) * golden_step) >> 11) * 0x1p-53;
}

}  // namespace detail

// One microbatch at one stage.
struct stage_cost {
  double forward = 1;  // seconds, or any unit of time
  double backward_input = 1;
  double backward_weight = 1;
  double kept_bytes = 0;      // what backward needs
  double forward_bytes = 0;   // rows that go to the next stage
  double backward_bytes = 0;  // gradients that go to the stage before
  // So many of these seconds are gaps: the device waits for others of its groups, in short pieces all along.
  double forward_gaps = 0, input_gaps = 0, weight_gaps = 0;

  // The share of an operation's time that is gaps.
  constexpr double gaps(op what) const {
    const bool input = what == op::backward || what == op::backward_input,
               weight = what == op::backward || what == op::backward_weight, first = is_forward(what);
    const double all = (first ? forward : 0) + (input ? backward_input : 0) + (weight ? backward_weight : 0);
    const double waits = (first ? forward_gaps : 0) + (input ? input_gaps : 0) + (weight ? weight_gaps : 0);
    return all > 0 ? waits / all : 0;
  }
};

// A way from one rank to another.
struct wire {
  double latency = 0;
  double bytes_per_second = 0;  // 0: any number of bytes takes no time
  constexpr double seconds(double bytes) const { return bytes_per_second > 0 ? bytes / bytes_per_second : 0; }
  friend constexpr bool operator==(const wire&, const wire&) = default;
};

// Ranks in nodes. Inside a node every pair has a wire of its own; between nodes, all ranks of a node share
// its way out and its way in.
struct network {
  wire inside, between;
  std::int32_t ranks_per_node = 0;  // 0: all ranks in one node
  constexpr std::int32_t node(std::int32_t rank) const {
    return ranks_per_node > 0 ? rank / ranks_per_node : 0;
  }
};

// The table has what the instructions of a program take.
struct cost_table {
  list<stage_cost> stages;  // of each of the program's places
  // of each (stage, microbatch) cell; empty: 1 for all. For microbatches of unequal size
  list<double> scale;
  // The bytes that each instruction sends; empty: those of its stage, as if all modules cut samples evenly.
  list<double> messages;
  list<double> joins;    // of each join
  list<double> updates;  // of each of the program's places; empty: `update` for all
  // of each of the program's places; empty: `reduction` for all. Of those who meet, the longest counts
  list<double> reductions;
  double overlapped = 0;  // of an overlapped pair of a whole device; 0: the sum of its parts
  double reduction = 0, update = 0, gather = 0, load = 0, copy = 0;  // of a stage or a microbatch
  double offload_bytes_per_second =
      0;  // of what is kept, out of the device's memory or back; 0: `copy` alone
  network wires;
  // Lanes that compute on one rank share its device while several are busy: by these shares, even ones where
  // there are none, and each at this speed for what the others take from it in memory and caches, 1 where
  // nothing is known. A lane by itself has the device whole, or this part of it where it has no more threads.
  list<double> shares, beside_others, by_itself;
  // Lanes that are threads of no processor in particular: so many processors are divided evenly among all
  // that are busy, of whatever rank, and none has more than one. 0: lanes of a rank share its device alone.
  double processors = 0;
  double jitter = 0;  // every computation takes up to this share longer
  std::uint64_t seed = 0;

  constexpr double seconds(const program& of, const instruction& it) const {
    switch (it.what) {
      case op::join: return joins.empty() ? 0 : joins[it.voice];
      case op::reduce_gradient:
        return reductions.empty() ? reduction : reductions[of.voices[it.voice].first_place + it.stage];
      case op::optimizer_step:
        return updates.empty() ? update : updates[of.voices[it.voice].first_place + it.stage];
      case op::gather_parameters: return gather;
      case op::load: return load;
      case op::offload:
      case op::fetch: {
        const voice& sings = of.voices[it.voice];
        const double bytes = stages[sings.first_place + it.stage].kept_bytes * factor(sings, it);
        return copy + (offload_bytes_per_second > 0 ? bytes / offload_bytes_per_second : 0);
      }
      default: break;
    }
    if (!is_compute(it.what)) return 0;
    const voice& sings = of.voices[it.voice];
    const stage_cost& own = stages[sings.first_place + it.stage];
    const double times = factor(sings, it);
    if (is_forward(it.what)) return own.forward * times;
    if (it.what == op::backward_input) return own.backward_input * times;
    if (it.what == op::backward_weight) return own.backward_weight * times;
    return (own.backward_input + own.backward_weight) * times;
  }
  // Instruction i sends so many bytes; `even` says what is there of a microbatch's rows, where the table does
  // not.
  constexpr double bytes(const program& of, std::int32_t i, const message_shares& even) const {
    const instruction& it = of.instructions[i];
    const voice& sings = of.voices[it.voice];
    const double times = factor(sings, it);
    if (!messages.empty()) return messages[i] * times;
    const stage_cost& own = stages[sings.first_place + it.stage];
    return (it.what == op::send_backward ? own.backward_bytes : own.forward_bytes) * times * even.share(it);
  }
  // Its microbatch is so many times as large as usual.
  constexpr double factor(const voice& sings, const instruction& it) const {
    return scale.empty() ? 1 : scale[sings.cell(it.stage, it.microbatch)];
  }
  // Instruction i takes so many times as long as usual.
  constexpr double stretch(std::int32_t i) const {
    return jitter > 0 ? 1 + jitter * detail::chance(seed, static_cast<std::uint64_t>(i)) : 1;
  }
  // How fast a lane computes while those of `busy` do, a bit for each, and so many lanes of other ranks.
  constexpr double speed(std::int32_t lane, std::uint32_t busy, std::int32_t elsewhere = 0) const {
    const auto number = [](const list<double>& of, std::int32_t each) {
      return each < of.size() ? of[each] : 1.0;
    };
    const bool alone = busy == std::uint32_t{1} << lane;
    if (processors > 0) {
      const double each = processors / (std::popcount(busy) + elsewhere);
      return (each < 1 ? each : 1) * (alone ? 1 : number(beside_others, lane));
    }
    if (alone) return number(by_itself, lane);
    double all = 0;
    for (std::int32_t each = 0; busy >> each != 0; ++each)
      if ((busy >> each & 1) != 0) all += number(shares, each);
    return number(shares, lane) / all * number(beside_others, lane);
  }
  constexpr wire between(std::int32_t from, std::int32_t to) const {
    return wires.node(from) == wires.node(to) ? wires.inside : wires.between;
  }
};

// Every device of a voice has the same numbers, divided evenly over its chunks.
constexpr cost_table even_costs(const program& of, const stage_cost& device, double join = 0) {
  cost_table made;
  for (const voice& each : of.voices) {
    const double chunks = each.chunks;
    for (std::int32_t s = 0; s < each.stages; ++s)
      made.stages.push({device.forward / chunks, device.backward_input / chunks,
                        device.backward_weight / chunks, device.kept_bytes / chunks, device.forward_bytes,
                        device.backward_bytes, device.forward_gaps / chunks, device.input_gaps / chunks,
                        device.weight_gaps / chunks});
  }
  made.joins.resize(of.joins, join);
  return made;
}

}  // namespace motet
