// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/any_group.hpp>
#include <motet/backend/transport/local/local_group.hpp>

#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

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
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (std::int32_t m = 0; m < members; ++m)
    threads.emplace_back([&, m] {
      try {
        local::endpoint end(world, m);
        local::group group(set, 0, end);
        if constexpr (std::is_invocable_v<Body&, std::int32_t, const any_group&, local::endpoint&>)
          body(m, any_group(group), end);
        else body(m, any_group(group));
      } catch (const local::world::stopped&) {
      } catch (...) {
        {
          const std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
        }
        world.stop();
      }
    });
  for (std::thread& each : threads) each.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace motet::laws
