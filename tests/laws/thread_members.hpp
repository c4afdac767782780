// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/any_group.hpp>
#include <motet/backend/transport/local/local_group.hpp>

#include <type_traits>
#include <vector>

#include "rank_threads.hpp"

namespace motet::laws {

// Calls body(member, group), or body(member, group, end), on a thread for each member; what one throws stops
// the others and comes out here.
template <class Body>
void run_members(std::int32_t members, Body&& body) {
  local::world world(members, 0, {});
  std::vector<std::int32_t> all;
  for (std::int32_t m = 0; m < members; ++m) all.push_back(m);
  const std::vector<std::vector<std::int32_t>> lists{all};
  local::group_set set(world, lists);
  run_ranks(world, [&](std::int32_t m) {
    local::endpoint end(world, m);
    local::group group(set, 0, end);
    if constexpr (std::is_invocable_v<Body&, std::int32_t, const any_group&, local::endpoint&>)
      body(m, any_group(group), end);
    else body(m, any_group(group));
  });
}

}  // namespace motet::laws
