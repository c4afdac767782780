// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/strategy/weighted_shares.hpp>
#include <motet/tensor/share.hpp>

namespace motet {

// Samples of a step belong to the replicas and microbatches of a module: groups come first (one for each
// join), each over the replicas, each part over the microbatches of a group. Uneven counts are fine, and a
// part may be empty.
struct sample_split {
  isize samples = 0;
  isize groups = 1;
  isize replicas = 1;
  isize microbatches = 1;  // of one replica in one group
  // where the replicas' parts begin within a group, and the end: of the larger groups, then of the others.
  // Empty: even parts
  list<isize> bounds{};

  constexpr interval of(isize group, isize replica, isize microbatch) const {
    const isize begin = share(samples, groups, group).begin;
    const interval own = replica_part(group, replica);
    const interval part = share(own.size(), microbatches, microbatch);
    return {begin + own.begin + part.begin, begin + own.begin + part.end};
  }
  // A replica has this part of a group, counted within the group.
  constexpr interval replica_part(isize group, isize replica) const {
    if (bounds.empty()) return share(share(samples, groups, group).size(), replicas, replica);
    const isize* const own = bounds.data() + (group < samples % groups ? 0 : replicas + 1) + replica;
    return {own[0], own[1]};
  }

  // Gives replicas samples in proportion to their weights: each at least one in a microbatch, where there are
  // enough, and none more than `most` in a group. Equal weights change nothing.
  constexpr sample_split weighted(const list<isize>& weights, isize most = share_bounds{}.most) const {
    sample_split out{samples, groups, replicas, microbatches, {}};
    for (const isize size : {samples / groups + 1, samples / groups}) {
      out.bounds.push(0);
      for (const isize each : weighted_shares(size, weights, {microbatches, most}))
        out.bounds.push(out.bounds.back() + each);
    }
    return out;
  }
};

}  // namespace motet
