// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/exchange/spread_rows.hpp>
#include <motet/backend/transport/local/local_group.hpp>

#include <string>

#include "rank_threads.hpp"

namespace motet::laws {

// Runs body(spread, place) on a thread for each of tensor x context ranks, which hold one stage and share the
// microbatch `whole`. What one throws stops the others, and its text is the result.
template <class Body>
std::string run_shards(isize tensor, isize context, bool balanced, const sequences& whole, Body&& body,
                       isize long_rows = 0) {
  const auto ranks = static_cast<std::int32_t>(tensor * context);
  std::vector<std::vector<std::int32_t>> groups;  // of tensor, then of context
  for (isize c = 0; c < context; ++c) {
    groups.emplace_back();
    for (isize t = 0; t < tensor; ++t) groups.back().push_back(static_cast<std::int32_t>(c * tensor + t));
  }
  for (isize t = 0; t < tensor; ++t) {
    groups.emplace_back();
    for (isize c = 0; c < context; ++c) groups.back().push_back(static_cast<std::int32_t>(c * tensor + t));
  }
  local::world world(ranks, 0, {});
  local::group_set set(world, groups);
  return thrown_by_ranks(world, [&](std::int32_t number) {
    const isize t = number % tensor, c = number / tensor;
    local::endpoint end(world, number);
    local::group of_tensor(set, static_cast<std::int32_t>(c), end),
        of_context(set, static_cast<std::int32_t>(context + t), end);
    const spread_seat seat{tensor, t, context, c, balanced, long_rows};
    spread_rows rows(seat, whole.samples);
    microbatch_spread is;
    is.tensor = any_group(of_tensor);
    is.context = any_group(of_context);
    rows.fill(whole, is);
    body(is, seat);
  });
}

}  // namespace motet::laws
