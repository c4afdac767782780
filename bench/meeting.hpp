// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/local/local_group.hpp>

#include <barrier>
#include <memory>
#include <numeric>
#include <vector>

namespace bench {

// What the ranks of one run share where each is a thread: a world, some groups that all are in, and where
// they wait for each other.
struct meeting {
  std::vector<std::vector<std::int32_t>> everyone;
  motet::local::world all;
  motet::local::group_set set;
  std::barrier<> together;
  explicit meeting(std::int32_t ranks, std::size_t groups = 1)
      : everyone(groups, first(ranks)), all(ranks, 0, {}), set(all, everyone), together(ranks) {}
  static std::vector<std::int32_t> first(std::int32_t ranks) {
    std::vector<std::int32_t> out(motet::as_size(ranks));
    std::iota(out.begin(), out.end(), 0);
    return out;
  }
};
inline std::unique_ptr<meeting> here;

}  // namespace bench
