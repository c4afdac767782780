// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/dealt_by_shares.hpp>
#include <motet/backend/groups/stream_lanes.hpp>
#include <motet/backend/groups/turns.hpp>
#include <motet/runtime/messages.hpp>
#include <motet/schedule/core/program.hpp>

#include <algorithm>
#include <vector>

namespace motet {

// How many threads each lane of a rank computes with: its share of the rank's, one at least. A rank on which
// modules of one lane alone compute gives that lane all of them. The first lane is there on every rank, for
// losses and updates, when others have nothing to do.
class lane_shares {
 public:
  // shares: of each lane; none, or not so many: even ones.
  lane_shares(const program& of, std::vector<double> shares)
      : shares_(std::move(shares)), computing_(as_size(of.ranks())) {
    for (const voice& each : of.voices)
      for (std::int32_t s = 0; s < each.stages; ++s) {
        std::vector<bool>& own = computing_[as_size(of.place(each, s))];
        if (static_cast<std::int32_t>(own.size()) <= each.lane) own.resize(as_size(each.lane) + 1, false);
        own[as_size(each.lane)] = true;
      }
  }

  std::int32_t lanes(std::int32_t rank) const {
    return std::max(1, static_cast<std::int32_t>(computing_[as_size(rank)].size()));
  }
  // Lanes of the rank in which something computes.
  isize computing(std::int32_t rank) const {
    const std::vector<bool>& own = computing_[as_size(rank)];
    return std::count(own.begin(), own.end(), true);
  }
  // The shares of a rank's lanes; a lane in which nothing computes there has none.
  std::vector<double> shares_on(std::int32_t rank) const {
    const std::vector<bool>& own = computing_[as_size(rank)];
    std::vector<double> shares;
    for (std::size_t l = 0; l < own.size(); ++l) shares.push_back(own[l] ? share(l) : 0);
    return shares;
  }
  int threads(std::int32_t rank, std::int32_t lane, int of_rank) const {
    const std::vector<bool>& own = computing_[as_size(rank)];
    if (as_size(lane) >= own.size() || !own[as_size(lane)]) return lane == 0 ? of_rank : 1;
    const std::vector<double> shares = shares_on(rank);
    return dealt_by_shares(shares, of_rank)[as_size(lane)];
  }

 private:
  double share(std::size_t lane) const { return lane < shares_.size() ? shares_[lane] : 1.0; }

  std::vector<double> shares_;
  std::vector<std::vector<bool>> computing_;  // of each rank, which of its lanes do
};

// Refuses a program with several lanes on a rank where the ranks' end of the transport is neither for several
// threads nor has a stream for each lane.
template <class Endpoint>
void require_lanes(const program& of) {
  if constexpr (!takes_turns<Endpoint> && !stream_lanes<Endpoint>)
    for (const voice& each : of.voices)
      if (each.lane > 0)
        fail(lanes_not_there, sentence({"module ", each.module, " computes in lane ", each.lane}));
}

}  // namespace motet
