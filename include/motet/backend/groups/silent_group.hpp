// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/collectives.hpp>

#include <algorithm>

namespace motet {

// A seat in a group whose other members are not there, to time what one rank computes between its exchanges:
// calls take and leave numbers as those of a group do, and own numbers stand for the others'. They cost the
// time of moving these within the rank.
class silent_group {
 public:
  silent_group(std::int32_t size, std::int32_t member) : size_(size), member_(member) {}

  std::int32_t size() const { return size_; }
  std::int32_t member() const { return member_; }
  bool test(ticket) const { return true; }
  void wait(ticket) const {}

  template <class T>
  ticket all_reduce_sum(T*, isize) const {
    return 0;
  }
  template <class T>
  ticket reduce_scatter_sum(const T* from, T* to, std::span<const isize> counts,
                            std::span<const isize> places = {}) const {
    const T* const own = from + begin_of(counts, places, member_);
    if (own != to) std::copy_n(own, counts[seat()], to);
    return 0;
  }
  ticket all_gather(const std::byte* own, std::byte* all, std::span<const isize> bytes,
                    std::span<const isize> places = {}) const {
    const isize mine = bytes[seat()], at = begin_of(bytes, places, member_);
    if (all + at != own) std::copy_n(own, mine, all + at);
    for (std::int32_t m = 0; m < size_; ++m)
      if (m != member_) repeat(own, mine, all + begin_of(bytes, places, m), bytes[as_size(m)]);
    return 0;
  }
  ticket all_to_all(const std::byte* from, std::span<const isize> from_bytes, std::byte* to,
                    std::span<const isize> to_bytes) const {
    const std::byte* const own = from + before(from_bytes, member_);
    for (std::int32_t m = 0; m < size_; ++m)
      repeat(own, from_bytes[seat()], to + before(to_bytes, m), to_bytes[as_size(m)]);
    return 0;
  }
  ticket broadcast(std::byte*, isize, std::int32_t) const { return 0; }
  ticket barrier() const { return 0; }

 private:
  std::size_t seat() const { return as_size(member_); }
  static isize before(std::span<const isize> counts, std::int32_t member) {
    isize sum = 0;
    for (std::int32_t m = 0; m < member; ++m) sum += counts[as_size(m)];
    return sum;
  }
  static isize begin_of(std::span<const isize> counts, std::span<const isize> places, std::int32_t member) {
    return places.empty() ? before(counts, member) : places[as_size(member)];
  }
  // Fills `to` from the beginning of `from`, again and again; zeros when there is nothing.
  static void repeat(const std::byte* from, isize count, std::byte* to, isize wanted) {
    if (count == 0) {
      std::fill_n(to, wanted, std::byte{});
      return;
    }
    for (isize done = 0; done < wanted; done += count)
      std::copy_n(from, std::min(count, wanted - done), to + done);
  }

  std::int32_t size_ = 1, member_ = 0;
};

}  // namespace motet
