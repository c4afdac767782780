// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace motet {

// A warning tells of work that goes on, but slower than it could, or not as it was asked for. It is said on
// stderr, once in a process for each row and kind of it; MOTET_QUIET=1 says nothing.
class warnings {
 public:
  static warnings& of_process() {
    static warnings one;
    return one;
  }
  // `kind` tells one cause from another, `detail` is of this case. The result says whether it was news.
  bool say(const message& row, const std::string& kind, const std::string& detail) {
    const std::lock_guard lock(mutex_);
    if (!kinds_.insert(std::string(row.code) + ' ' + kind).second) return false;
    said_.emplace_back(error(row, detail).what());
    const char* const quiet = std::getenv("MOTET_QUIET");
    if (quiet == nullptr || std::string_view(quiet) == "0")
      std::fprintf(stderr, "%s\n", said_.back().c_str());
    return true;
  }
  // Tells also what MOTET_QUIET kept back.
  std::vector<std::string> said() const {
    const std::lock_guard lock(mutex_);
    return said_;
  }
  // From now on all is news again.
  void forget() {
    const std::lock_guard lock(mutex_);
    kinds_.clear();
    said_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::string> kinds_;
  std::vector<std::string> said_;
};

}  // namespace motet
