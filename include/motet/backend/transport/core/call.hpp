// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/backend/groups/collectives.hpp>
#include <motet/backend/groups/turns.hpp>
#include <motet/backend/transport/core/sum.hpp>

namespace motet::transports {

enum class call_kind : std::uint8_t {
  barrier,
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  broadcast
};

// One call on a group, as plain data: what every transport does with it is its own business.
struct call {
  call_kind what = call_kind::barrier;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::span<const isize> from_parts = {}, to_parts = {};  // elements of each
  // where the parts of all members begin, of a gather in `to`, of a sum in `from`; none: one behind the other
  std::span<const isize> places = {};
  isize count = 0;           // of elements, all parts together
  std::int32_t element = 1;  // its bytes
  std::int32_t root = 0;
  sum_function sum = nullptr;
};

inline std::string describe(const call& it) {
  constexpr const char* names[] = {"barrier",    "all_reduce_sum", "reduce_scatter_sum",
                                   "all_gather", "all_to_all",     "broadcast"};
  std::string text = names[static_cast<int>(it.what)];
  if (it.what != call_kind::barrier && it.what != call_kind::all_to_all)
    text += " of " + std::to_string(it.count);
  if (it.element > 1) text += " x " + std::to_string(it.element);
  if (it.what != call_kind::barrier) text += " bytes";
  if (it.what == call_kind::broadcast) text += " from member " + std::to_string(it.root);
  return text;
}

// Sleeps at a group's end until a call is done. After withdraw() nobody reads or writes the memory of this
// member's calls any more.
template <class Group>
void wait_for(Group& group, ticket which) {
  auto& end = group.end();
  [[maybe_unused]] const auto turn = turn_of(end);
  try {
    for (;;) {
      const std::uint32_t seen = end.observe();
      if (group.test(which)) return;
      end.pause(seen);
    }
  } catch (...) {
    group.withdraw();
    throw;
  }
}

// The calls of a group, made of what a transport gives: size(), end(), start(call), test(ticket), and
// withdraw().
template <class Group>
class group_calls {
 public:
  template <class T>
  ticket all_reduce_sum(T* numbers, isize count) {
    call it = sum_of<T>(call_kind::all_reduce, numbers, numbers);
    it.count = count;
    return self().start(it);
  }
  template <class T>
  ticket reduce_scatter_sum(const T* from, T* to, std::span<const isize> counts,
                            std::span<const isize> places = {}) {
    call it = sum_of<T>(call_kind::reduce_scatter, from, to);
    it.from_parts = it.to_parts = counts;
    it.places = placed(places);
    it.count = total(counts);
    return self().start(it);
  }
  ticket all_gather(const std::byte* own, std::byte* all, std::span<const isize> bytes,
                    std::span<const isize> places = {}) {
    call it{.what = call_kind::all_gather, .from = own, .to = all, .from_parts = bytes, .to_parts = bytes};
    it.places = placed(places);
    it.count = total(bytes);
    return self().start(it);
  }
  ticket all_to_all(const std::byte* from, std::span<const isize> from_bytes, std::byte* to,
                    std::span<const isize> to_bytes) {
    total(from_bytes);
    total(to_bytes);
    return self().start({.what = call_kind::all_to_all,
                         .from = from,
                         .to = to,
                         .from_parts = from_bytes,
                         .to_parts = to_bytes});
  }
  ticket broadcast(std::byte* data, isize bytes, std::int32_t root) {
    if (root < 0 || root >= self().size())
      fail(group_disagrees, sentence({"broadcast from member ", root, " of a group of ", self().size()}));
    return self().start(
        {.what = call_kind::broadcast, .from = data, .to = data, .count = bytes, .root = root});
  }
  ticket barrier() { return self().start({}); }

  void wait(ticket which) { wait_for(self(), which); }

 private:
  Group& self() { return static_cast<Group&>(*this); }
  template <class T>
  static call sum_of(call_kind what, const T* from, T* to) {
    return {.what = what,
            .from = reinterpret_cast<const std::byte*>(from),
            .to = reinterpret_cast<std::byte*>(to),
            .element = static_cast<std::int32_t>(sizeof(T)),
            .sum = sum_parts<T>};
  }
  isize total(std::span<const isize> parts) {
    if (parts.size() != as_size(self().size()))
      fail(group_disagrees, sentence({parts.size(), " counts for a group of ", self().size()}));
    isize sum = 0;
    for (const isize each : parts) {
      if (each < 0) fail(group_disagrees, "a count is " + std::to_string(each));
      sum += each;
    }
    return sum;
  }
  std::span<const isize> placed(std::span<const isize> places) {
    if (!places.empty() && places.size() != as_size(self().size()))
      fail(group_disagrees, sentence({places.size(), " places for a group of ", self().size()}));
    return places;
  }
};

}  // namespace motet::transports
