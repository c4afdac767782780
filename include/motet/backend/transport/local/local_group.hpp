// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/core/posted_group.hpp>
#include <motet/backend/transport/local/local.hpp>

namespace motet::local {

class group;

class group_set : public transports::posted_groups<group, world, transports::call> {
 public:
  using posted_groups::posted_groups;
};

// One member's end. Data goes straight from the memory of one thread to that of another; of a sum each member
// takes a slice.
class group : public transports::posted_group<group, world, endpoint, transports::call> {
 public:
  group(group_set& set, std::int32_t number, endpoint& own) : posted_group(set, number, own) {}
  ~group() { end_calls(); }

 private:
  friend posted_group;
  using call = transports::call;

  void posts(call&) {}
  void perform(const std::vector<call>& posts) {
    const call& own = posts[as_size(member())];
    switch (own.what) {
      case transports::call_kind::barrier: break;
      case transports::call_kind::all_reduce:
      case transports::call_kind::reduce_scatter:
        the_sum(posts, [&](const std::byte* const* parts, std::byte* const* outs, isize count, interval at) {
          own.sum(parts, size(), outs, count, at);
        });
        break;
      default:
        each_copy(posts, [](std::byte* to, const std::byte* from, isize bytes) {
          if (bytes > 0 && to != from) std::memcpy(to, from, as_size(bytes));
        });
    }
  }
  void performed(call&) {}
  void completes(const std::vector<call>&) {}
  void leaves(const std::vector<call>&) {}
};

static_assert(collective_group<group>, "motet: threads of a group offer every collective");

}  // namespace motet::local
