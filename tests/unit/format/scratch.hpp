// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

// A folder of its own for one test, removed at the end.
class scratch {
 public:
  scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "motet-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  // Names in the folder, hidden ones too.
  std::set<std::string> names(const std::string& below = "") const {
    std::set<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(path_ / below))
      out.insert(entry.path().filename().string());
    return out;
  }

 private:
  std::filesystem::path path_;
};
