// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/gradients/gradient_buckets.hpp>
#include <motet/runtime/state/held_runs.hpp>
#include <motet/runtime/state/optimizer.hpp>

#include <span>
#include <vector>

namespace motet {

// Parameters that a rank holds together in a flat buffer: a stage, or the numbers of the loss. What does not
// learn has weights only; moments exist for the elements that this rank updates.
template <class Master>
struct parameter_piece {
  index size = 0;
  std::span<const parameter> parameters{};  // with their offsets in the buffer, and what is held of them
  Master *weights = nullptr, *gradients = nullptr, *first = nullptr, *second = nullptr;
  std::vector<parameter_run> runs{};  // treated alike
  // gradients are there for what this rank updates, in the order of moments
  bool sums_only = false;
  // which elements this rank updates and which it counts as its own; null: all
  const update_share* share = nullptr;
};

// Every element, updated and counted here.
inline update_share whole_share(index size) { return {{{{0, size}, 0}}, {{0, size}}, size}; }

// Calls visit(parameter, offset in the buffer, offset within the whole tensor, count) for what a rank counts
// as its own, so that over all ranks each element of the model comes once.
template <class Master, class Visit>
void each_own_run(const parameter_piece<Master>& piece, Visit&& visit) {
  const interval all{0, piece.size};
  const std::span<const interval> counted =
      piece.share != nullptr ? std::span<const interval>(piece.share->counted) : std::span(&all, 1);
  for (const parameter& each : piece.parameters)
    each_run(each, [&](index at, index element, index count) {
      for (const interval own : counted)
        if (const interval both = intersection(own, {at, at + count}); both.size() > 0)
          visit(each, both.begin, element + both.begin - at, both.size());
    });
}
// Where the moments of an element are that this rank updates.
template <class Master>
index moments_of(const parameter_piece<Master>& piece, index at) {
  if (piece.share == nullptr) return at;
  for (const owned_elements& each : piece.share->owned)
    if (at >= each.at.begin && at < each.at.end) return each.moments + at - each.at.begin;
  return -1;
}

}  // namespace motet
