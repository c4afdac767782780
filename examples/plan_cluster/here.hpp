// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/files/cluster_json.hpp>

#include <charconv>

// --cluster here: the machine at hand, measured, with as many ranks as processors; here:RANKS shares them
// among so many. All else is a name or a file.
namespace motet::plan_cluster {

cluster_facts measure_here(std::int32_t ranks);  // 0: as many as processors

inline cluster_facts cluster_of(const std::string& text) {
  constexpr std::int32_t most_ranks = 4096;
  if (text == "here") return measure_here(0);
  if (!text.starts_with("here:")) return choose_cluster(text);
  std::int32_t ranks = 0;
  const char* const end = text.data() + text.size();
  const auto [next, problem] = std::from_chars(text.data() + 5, end, ranks);
  if (problem != std::errc{} || next != end || ranks < 1 || ranks > most_ranks)
    fail(cluster_of_no_size, "got \"" + text + "\", wanted here:RANKS with 1 to " +
                                 std::to_string(most_ranks) + " ranks on this one node");
  return measure_here(ranks);
}

}  // namespace motet::plan_cluster
