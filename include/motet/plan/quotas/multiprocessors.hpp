// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/cluster.hpp>
#include <motet/plan/describe/messages.hpp>

#include <string>
#include <string_view>

namespace motet {

// What a device can be split into: disjoint shares of a whole number of steps. Those who share it have so
// many steps together; who has it alone has all of it.
struct multiprocessors {
  std::int32_t all = 132, step = 8, steps = 15;
  std::int32_t most_beside = 3;  // modules at once on one device

  // Quotas are rungs of a ladder, from 1 on: so many steps, and the last one all of the device.
  constexpr std::int32_t rungs() const { return steps + 1; }
  constexpr std::int32_t quota(std::int32_t rung) const { return rung > steps ? all : rung * step; }
  friend constexpr bool operator==(const multiprocessors&, const multiprocessors&) = default;
};

// Devices of this name split like that: on an H200 the driver gave 15 shares of 8 and a rest that is none of
// them, and an H100 has as many multiprocessors. Throws MT-P100 for others.
inline multiprocessors multiprocessors_of(const device_facts& on) {
  const std::string_view name = on.name.view();
  if (name.starts_with("H100") || name.starts_with("H200")) return {};
  fail(quotas_unknown, std::string(name) + ", wanted one of H100 and H200");
}

}  // namespace motet
