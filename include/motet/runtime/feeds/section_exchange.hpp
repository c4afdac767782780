// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/concepts.hpp>
#include <motet/tensor/arena.hpp>

#include <vector>

namespace motet {

// The members of a meeting bring blocks to an exchange, each of the same sections in its own sizes; this
// knows who needs which. Each member gets one range of every other's block, from the first section that it
// needs to the last; so sections lie well when those that are needed together are neighbours.
class section_exchange {
 public:
  section_exchange() = default;  // of no members
  // bytes(member, section); needs(who, member, section).
  template <class Bytes, class Needs>
  section_exchange(isize members, std::int32_t me, isize sections, Bytes bytes, Needs needs)
      : me_(me), sections_(sections), out_(as_size(members)), in_(out_.size()), firsts_(out_.size()) {
    starts_.reserve(as_size(members * (sections + 1)));
    for (isize m = 0; m < members; ++m) {
      isize at = 0;
      for (isize s = 0; s < sections; ++s) {
        starts_.push_back(at);
        at += round_up(bytes(m, s), arena::alignment);
      }
      starts_.push_back(at);
    }
    std::vector<isize> own;  // bytes of each section
    for (isize s = 0; s < sections; ++s) own.push_back(bytes(me, s));
    const auto range = [&](isize who, isize from) {
      byte_range found;
      isize end = 0;
      for (isize s = 0; s < sections; ++s) {
        const isize size = from == me ? own[as_size(s)] : bytes(from, s);
        if (size == 0 || !needs(who, from, s)) continue;
        if (end == 0) found.offset = start(from, s);
        end = start(from, s) + size;
      }
      found.bytes = end - found.offset;
      return found;
    };
    for (isize m = 0; m < members; ++m) {
      if (m == me) continue;
      const auto at = as_size(m);
      out_[at] = range(m, me);
      const byte_range theirs = range(me, m);
      firsts_[at] = theirs.offset;
      in_[at] = {received_, theirs.bytes};
      received_ += round_up(theirs.bytes, arena::alignment);
    }
  }

  bool empty() const { return starts_.empty(); }
  // These are the bytes of this member's block, and of all that comes.
  isize own_bytes() const { return start(me_, sections_); }
  isize received_bytes() const { return received_; }
  // A section lies here, in the own block or in what came.
  std::byte* at(std::byte* own, std::byte* received, isize member, isize section) const {
    const auto m = as_size(member);
    if (member == me_) return own + start(me_, section);
    // Of whom nothing comes, nothing may have room here at all.
    return in_[m].bytes == 0 ? received : received + (in_[m].offset + start(member, section) - firsts_[m]);
  }
  // It lies here within one range that came.
  std::byte* in_range(std::byte* range, isize member, isize section) const {
    return range + (start(member, section) - firsts_[as_size(member)]);
  }
  // The largest range that comes from one member.
  isize largest() const {
    isize most = 0;
    for (const byte_range& each : in_) most = most < each.bytes ? each.bytes : most;
    return round_up(most, arena::alignment);
  }
  std::span<const byte_range> out() const { return out_; }
  std::span<const byte_range> in() const { return in_; }

 private:
  isize start(isize member, isize section) const {
    return starts_[as_size(member * (sections_ + 1) + section)];
  }

  std::int32_t me_ = 0;
  isize sections_ = 0, received_ = 0;
  std::vector<isize> starts_;  // of each member's sections, and the end
  std::vector<byte_range> out_, in_;
  std::vector<isize> firsts_;  // where in each member's block its range begins
};

}  // namespace motet
