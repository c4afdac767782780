// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/files/cluster_json.hpp>
#include <motet/tools/process/this_machine.hpp>

#include <charconv>
#include <string>

namespace motet {

// A cluster as programs are told of it: "here" is the machine at hand, measured, with as many ranks as
// processors; here:RANKS shares them among so many. All else is a name or a file.
// Asks for: a Device of one thread that measures itself, such as cpu::device.
// Memory: some megabytes while it measures.
// Errors: MT-F01, MT-F04, MT-P70, MT-P71, MT-P72, MT-P75, MT-P76, MT-P77
// Example:
//   #include <motet/backend/cpu/device.hpp>
//   std::int32_t ranks_of(const std::string& text) { return cluster_of<cpu::device>(text).devices(); }
template <class Device>
cluster_facts cluster_of(const std::string& text) {
  constexpr std::int32_t most_ranks = 4096;
  if (text == "here") return this_machine<Device>();
  if (!text.starts_with("here:")) return choose_cluster(text);
  std::int32_t ranks = 0;
  const char* const end = text.data() + text.size();
  const auto [next, problem] = std::from_chars(text.data() + 5, end, ranks);
  if (problem != std::errc{} || next != end || ranks < 1 || ranks > most_ranks)
    fail(cluster_of_no_size, "got \"" + text + "\", wanted here:RANKS with 1 to " +
                                 std::to_string(most_ranks) + " ranks on this one node");
  return this_machine<Device>(ranks);
}

}  // namespace motet
