// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/local/local_group.hpp>

#include <reduction_laws.hpp>

#include "rank_threads.hpp"

namespace motet::laws {

// Calls rank(endpoint, cut group, shared group) on a thread for each rank; returns what the first of them
// throws.
template <class Rank>
std::string run_reduction(const made_ranks& ranks, std::int32_t in_flight, Rank rank) {
  local::world world(ranks.size(), 0, {});
  const auto lists = ranks.groups();
  local::group_set set(world, lists, {.in_flight = in_flight});
  return thrown_by_ranks(world, [&](std::int32_t r) {
    local::endpoint end(world, r);
    local::group cut(set, r % ranks.tensor, end), shared(set, ranks.tensor, end);
    rank(end, ranks.replicas > 1 ? &cut : nullptr, ranks.size() > 1 ? &shared : nullptr);
  });
}

}  // namespace motet::laws
