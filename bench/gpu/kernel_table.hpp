// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "activity.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <cxxabi.h>

namespace motet::bench {

// The share, from the first begin to the last end, that nothing of it covers. Pieces may overlap.
inline double uncovered(std::vector<done_work> all) {
  if (all.empty()) return 0;
  std::sort(all.begin(), all.end(), [](const done_work& a, const done_work& b) { return a.from < b.from; });
  std::uint64_t end = all.front().from, idle = 0;
  for (const done_work& each : all) {
    if (each.from > end) idle += each.from - end;
    end = std::max(end, each.to);
  }
  return static_cast<double>(idle) / static_cast<double>(end - all.front().from);
}

// A kernel's name as people write it: without what launches it, without arguments and without our own
// namespaces.
inline std::string readable_name(const std::string& compiled) {
  int status = 0;
  char* const text = abi::__cxa_demangle(compiled.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 && text != nullptr ? text : compiled;
  std::free(text);
  const auto end_of_template = [&](std::size_t at) {
    for (int depth = 1; at < name.size(); ++at)
      if ((depth += name[at] == '<' ? 1 : name[at] == '>' ? -1 : 0) == 0) break;
    return at;
  };
  constexpr std::string_view launcher = "run_kernel<";
  if (const std::size_t at = name.find(launcher); at != std::string::npos) {
    const std::size_t from = at + launcher.size();
    name = name.substr(from, end_of_template(from) - from);
  } else if (name.starts_with("void ")) {
    name.erase(0, 5);
  }
  for (const std::string_view gone : {"motet::cuda::detail::", "motet::cuda::", "motet::"})
    for (std::size_t at = 0; (at = name.find(gone, at)) != std::string::npos;) name.erase(at, gone.size());
  for (std::size_t at = 0, depth = 0; at < name.size(); ++at) {
    depth += name[at] == '<' ? 1 : 0;
    depth -= name[at] == '>' && depth > 0 ? 1 : 0;
    // A name may begin with "(anonymous namespace)", which is no list of arguments.
    if (name[at] == '(' && depth == 0 && at > 0 && name[at - 1] != ':') name.resize(at);
  }
  while (!name.empty() && name.back() == ' ') name.pop_back();
  return name;
}

struct kernel_row {
  std::string compiled;
  long count = 0;
  double seconds = 0;
};
// The kernel that takes longest comes first.
inline std::vector<kernel_row> by_kernel(const std::vector<done_work>& all) {
  std::map<std::string, kernel_row> found;
  for (const done_work& each : all) {
    kernel_row& row = found[each.name];
    row.compiled = each.name;
    ++row.count;
    row.seconds += 1e-9 * static_cast<double>(each.to - each.from);
  }
  std::vector<kernel_row> rows;
  for (auto& [name, row] : found) rows.push_back(std::move(row));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const kernel_row& a, const kernel_row& b) { return a.seconds > b.seconds; });
  return rows;
}

}  // namespace motet::bench
