// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>

namespace motet {

// Ends whose rank only begins what a device does. One thread begins the work of all of the rank's lanes: it
// enters a lane, which returns the one that it leaves, and what it begins goes to the lane's own queue. Lanes
// meet, or one follows what another told by a number: then what it begins comes behind that.
template <class End>
concept stream_lanes = requires(End& end) {
  requires End::lanes_are_streams;
  { end.enter(0) } -> std::same_as<std::int32_t>;
  end.meet_lanes();
  end.tell(0);
  end.follow(0);
};

// body() while the end is in this lane.
template <class End, class Body>
auto in_lane([[maybe_unused]] End& end, [[maybe_unused]] std::int32_t lane, Body&& body) {
  if constexpr (stream_lanes<End>) {
    struct stay {
      End& of;
      std::int32_t before;
      ~stay() { of.enter(before); }
    } const here{end, end.enter(lane)};
    return body();
  } else return body();
}
// Lanes of a rank that wait on the host have met already.
template <class End>
void meet_lanes([[maybe_unused]] End& end) {
  if constexpr (stream_lanes<End>) end.meet_lanes();
}

}  // namespace motet
