// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <concepts>
#include <cstddef>
#include <span>

namespace motet {

// Some of the bytes of a buffer.
struct byte_range {
  isize offset = 0, bytes = 0;
};

// The ends of a message are the ranks that it goes from and to.
struct message_ends {
  std::int32_t from = 0, to = 0;
};

// A transport carries messages between the ranks of a program. A message has a tag of its own, one number for
// each send of the program, so nothing is matched by order. No call blocks but pause(). Memory is where the
// ranks compute; where they only begin that, what a call says is there or taken is so for all that this rank
// begins after it. Bytes that a send reads stay as they are until sent(tag); those that a gather or an
// exchange reads, until the next step.
template <class T>
concept transport = requires(T& t, std::int32_t peer, std::int32_t tag, const std::byte* from, std::byte* to,
                             isize bytes, std::uint32_t seen, std::span<const byte_range> of_each) {
  { t.rank() } -> std::convertible_to<std::int32_t>;
  { t.ranks() } -> std::convertible_to<std::int32_t>;
  // Tags may be used again: all ranks are through the step before.
  t.begin_step();
  // Begins it.
  t.send(tag, peer, from, bytes);
  // The result says whether the rows were taken, by the other rank or by the transport.
  { t.sent(tag) } -> std::convertible_to<bool>;
  // The result is false where it is not there yet: call again.
  { t.receive(tag, peer, to, bytes) } -> std::convertible_to<bool>;
  // A gather takes the bytes of all members of meeting `tag`, in their order, as many from each; this rank is
  // its member number `peer`. The bytes are in the host's memory on every transport. The result is false
  // where some are not there yet.
  { t.gather(tag, peer, from, bytes, to) } -> std::convertible_to<bool>;
  // In an exchange members bring and need different things: of `from` each member gets its range, and what a
  // member has for this one goes to that member's range of `to`. This one's own range counts too. The ranges,
  // too, stay as they are until the next step.
  { t.exchange(tag, peer, from, of_each, to, of_each) } -> std::convertible_to<bool>;
  // A member without room for all fetches from one member at a time: so many bytes from the second `peer`. A
  // fetch of no bytes only shows what this member has, and is true at once.
  { t.fetch(tag, peer, from, of_each, peer, to, bytes) } -> std::convertible_to<bool>;
  // A number that changes when something arrives or was taken.
  { t.observe() } -> std::same_as<std::uint32_t>;
  // Sleeps until it differs from `seen`; throws when the ranks were told to stop.
  t.pause(seen);
};

// Says whether an end has no fetch of one member's rows alone: rows of all members come at once.
template <class End>
bool brings_all([[maybe_unused]] const End& end) {
  if constexpr (requires { end.brings_all(); }) return end.brings_all();
  else return false;
}

}  // namespace motet
