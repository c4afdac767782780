// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/gradients/gradient_buckets.hpp>
#include <motet/runtime/state/held_runs.hpp>
#include <motet/runtime/state/initialise.hpp>
#include <motet/runtime/state/optimizer.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace motet {

// Parameters that a rank holds together in a flat buffer: a stage, or the numbers of a loss. What does not
// learn has weights only; moments exist for the elements that this rank updates.
template <class Master>
struct parameter_piece {
  isize size = 0;
  std::span<const parameter> parameters{};  // with their offsets in the buffer, and what is held of them
  Master *weights = nullptr, *gradients = nullptr, *first = nullptr, *second = nullptr;
  std::vector<parameter_run> runs{};  // treated alike
  // gradients are there for what this rank updates, in the order of moments
  bool sums_only = false;
  bool shares_only = false;  // likewise weights
  // which elements this rank updates and which it counts as its own; null: all
  const update_share* share = nullptr;
  module_pace pace{};         // its decay and schedule; runs have the rest
  Master* average = nullptr;  // that follows the weights, where moments are; null: none does
  std::int32_t loss = -1;     // whose numbers these are; -1: a stage's
  std::int32_t lane = 0;      // in which its gradients are summed

  // An element that this rank updates has its weight here.
  Master* weight(const owned_elements& of, isize element) const {
    return weights + element + (shares_only ? of.moments - of.at.begin : 0);
  }
};

// A rank's part of the gradients of the numbers of a loss.
template <class Master>
struct loss_gradients {
  const Master* from = nullptr;
  interval at;         // among the numbers of all losses
  bool owned = false;  // the numbers are here
};

// Every element, updated and counted here.
inline update_share whole_share(isize size) { return {{{{0, size}, 0, 0}}, {{0, size}}, size, size}; }

// Elements of a share that have no second moment under an optimizer are set apart, and take no room.
inline update_share with_moments_of(update_share share, std::span<const parameter> parameters,
                                    optimizer_kind by) {
  if (by == optimizer_kind::adamw) return share;
  std::vector<owned_elements> owned;
  share.seconds = 0;
  for (const owned_elements& each : share.owned) {
    const auto push = [&](interval at, bool second) {
      if (at.size() <= 0) return;
      if (!owned.empty() && owned.back().at.end == at.begin && at.begin > each.at.begin &&
          (owned.back().seconds >= 0) == second)
        owned.back().at.end = at.end;
      else owned.push_back({at, each.moments + at.begin - each.at.begin, second ? share.seconds : -1});
      if (second) share.seconds = owned.back().seconds + round_up(owned.back().at.size(), 16);
    };
    if (by == optimizer_kind::lion) {
      push(each.at, false);
      continue;
    }
    // Gaps go with the parameter before them.
    isize at = each.at.begin;
    for (const parameter& one : parameters) {
      const interval own = intersection(each.at, {at, one.offset + parameter_space(one.held())});
      if (own.size() <= 0) continue;
      push(own, has_second_moment(one, by));
      at = own.end;
    }
    push({at, each.at.end}, true);
  }
  share.owned = std::move(owned);
  return share;
}

// Calls visit(parameter, offset in the buffer, offset within the whole tensor, count) for what a rank counts
// as its own, so that over all ranks each element of the model comes once.
template <class Master, class Visit>
void each_own_run(const parameter_piece<Master>& piece, Visit&& visit) {
  const interval all{0, piece.size};
  const std::span<const interval> counted =
      piece.share != nullptr ? std::span<const interval>(piece.share->counted) : std::span(&all, 1);
  for (const parameter& each : piece.parameters)
    each_run(each, [&](isize at, isize element, isize count) {
      for (const interval own : counted)
        if (const interval both = intersection(own, {at, at + count}); both.size() > 0)
          visit(each, both.begin, element + both.begin - at, both.size());
    });
}
// The moments of an element that this rank updates are here; below 0: it has none.
template <class Master>
isize moments_of(const parameter_piece<Master>& piece, isize at,
                 isize owned_elements::*which = &owned_elements::moments) {
  if (piece.share == nullptr) return at;
  for (const owned_elements& each : piece.share->owned)
    if (at >= each.at.begin && at < each.at.end)
      return each.*which < 0 ? -1 : each.*which + at - each.at.begin;
  return -1;
}
// Of `count` elements from `at` on, so many have moments one behind the other, or have none.
template <class Master>
isize moments_together(const parameter_piece<Master>& piece, isize at, isize count) {
  if (piece.share == nullptr) return count;
  for (const owned_elements& each : piece.share->owned) {
    if (at >= each.at.begin && at < each.at.end) return std::min(count, each.at.end - at);
    if (each.at.begin > at) count = std::min(count, each.at.begin - at);
  }
  return count;
}

// The weight of an element lies here; null: others have it.
template <class Master>
Master* weight_of(const parameter_piece<Master>& piece, isize at) {
  if (!piece.shares_only) return piece.weights + at;
  const isize own = moments_of(piece, at);
  return own >= 0 ? piece.weights + own : nullptr;
}

// Gives weights the numbers that they begin with; where weights are kept in shares, this rank's alone. All of
// a team call it.
template <class Context, class Master>
void initialise(Context& ctx, const parameter_piece<Master>& piece, std::uint64_t seed) {
  if (!piece.shares_only) return initialise(ctx, piece.parameters, seed, piece.weights, piece.size);
  zero(ctx, piece.weights, piece.share->moments);
  for (const parameter& each : piece.parameters)
    for (const owned_elements& own : piece.share->owned)
      initialise(ctx, each, seed, own.at, piece.weight(own, own.at.begin));
}

// The average, where there is one, is as the weights are now. Waits for that.
template <class Context, class Master>
void begin_average(Context& ctx, const parameter_piece<Master>& piece) {
  if (piece.average == nullptr) return;
  const update_share share = piece.share != nullptr ? *piece.share : whole_share(piece.size);
  for (const owned_elements& each : share.owned)
    copy(ctx, static_cast<const Master*>(piece.weight(each, each.at.begin)), piece.average + each.moments,
         each.at.size());
  finish(ctx);
}

}  // namespace motet
