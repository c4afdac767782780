// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/dtype.hpp>

#include <concepts>
#include <span>

namespace motet {

// Some ranks of a program that compute together. All members make the same calls on a group in the same
// order. A call begins its work and returns at once; what it was given stays as it is, and what it writes is
// not looked at, until test(ticket) has said true. Parts lie one behind the other, in the order of members,
// and may be empty; who is given counts keeps them as long.
using ticket = std::uint64_t;

struct group_options {
  std::int32_t in_flight = 4;  // calls under way at a time; a further one waits for the oldest
  isize sum_bytes = 0;         // of the largest sum, so that nothing is allocated later
};

// A rank that waits with wait() loses the chance to compute meanwhile.
template <class G>
concept rank_group = requires(G& g, ticket which) {
  { g.size() } -> std::convertible_to<std::int32_t>;
  { g.member() } -> std::convertible_to<std::int32_t>;  // own number in the group
  { g.test(which) } -> std::same_as<bool>;
  g.wait(which);
};

// The sum of all members' numbers in everyone's place. It is taken in the order of members, bf16 in float, so
// that it has the same bits everywhere, always.
template <class G, class T>
concept all_reduces = rank_group<G> && requires(G& g, T* numbers, isize count) {
  { g.all_reduce_sum(numbers, count) } -> std::same_as<ticket>;
};
// Member m gets part m of the sum; `to` may lie in its place within `from`.
template <class G, class T>
concept reduce_scatters =
    rank_group<G> && requires(G& g, const T* from, T* to, std::span<const isize> counts) {
      { g.reduce_scatter_sum(from, to, counts) } -> std::same_as<ticket>;
    };
// Everyone gets all parts; `own` may lie in its place within `all`.
template <class G>
concept all_gathers =
    rank_group<G> && requires(G& g, const std::byte* own, std::byte* all, std::span<const isize> bytes) {
      { g.all_gather(own, all, bytes) } -> std::same_as<ticket>;
    };
// Part p of `from` goes to member p; part p of `to` comes from it.
template <class G>
concept all_to_alls =
    rank_group<G> && requires(G& g, const std::byte* from, std::span<const isize> from_bytes, std::byte* to,
                              std::span<const isize> to_bytes) {
      { g.all_to_all(from, from_bytes, to, to_bytes) } -> std::same_as<ticket>;
    };
template <class G>
concept broadcasts = rank_group<G> && requires(G& g, std::byte* data, isize bytes, std::int32_t root) {
  { g.broadcast(data, bytes, root) } -> std::same_as<ticket>;
};
// A barrier is done when all members have come.
template <class G>
concept has_barrier = rank_group<G> && requires(G& g) {
  { g.barrier() } -> std::same_as<ticket>;
};

// Parts of a gather (where they go) and of a scattered sum (where they come from) may lie at places of their
// own, so that a piece of each member's part is a call: places of all members, in elements; none: one behind
// the other. Members may have unlike places.
template <class G>
concept takes_places = requires(G& g, const float* from, float* to, const std::byte* own, std::byte* all,
                                std::span<const isize> counts, std::span<const isize> places) {
  { g.all_gather(own, all, counts, places) } -> std::same_as<ticket>;
  { g.reduce_scatter_sum(from, to, counts, places) } -> std::same_as<ticket>;
};

template <class G>
concept collective_group =
    all_reduces<G, float> && all_reduces<G, double> && all_reduces<G, bf16> && reduce_scatters<G, float> &&
    reduce_scatters<G, double> && reduce_scatters<G, bf16> && all_gathers<G> && all_to_alls<G> &&
    broadcasts<G> && has_barrier<G>;

}  // namespace motet
