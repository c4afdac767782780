// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>
#include <motet/meta/error.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace motet {

// The commit that is checked out in the Git repository that a folder belongs to, as 40 hexadecimal digits;
// empty where there is none. It reads Git's own files, so no Git is needed; changes that are not committed
// are not seen.
inline std::string commit_of(const std::filesystem::path& folder) {
  namespace files = std::filesystem;
  std::error_code ignored;
  const auto text_of = [](const files::path& path) {
    std::ifstream from(path);
    std::ostringstream all;
    if (from) all << from.rdbuf();
    return all.str();
  };
  const auto line_of = [&](const files::path& path) {
    const std::string all = text_of(path);
    return all.substr(0, all.find_first_of("\r\n"));
  };
  const auto is_commit = [](const std::string& text) {
    return text.size() >= 40 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  };
  files::path above = files::weakly_canonical(folder, ignored);
  while (!files::exists(above / ".git", ignored)) {
    if (!above.has_relative_path()) return {};
    above = above.parent_path();
  }
  // A worktree has a file that names its folder, which names the one that all worktrees share.
  files::path git = above / ".git";
  if (files::is_regular_file(git, ignored)) {
    const std::string line = line_of(git), key = "gitdir: ";
    if (!line.starts_with(key)) return {};
    git = above / line.substr(key.size());
  }
  const std::string shared = line_of(git / "commondir");
  const files::path common = shared.empty() ? git : git / shared;
  std::string head = line_of(git / "HEAD");
  for (int links = 0; head.starts_with("ref: ") && links < 5; ++links) {
    const std::string name = head.substr(5);
    head = line_of(git / name);
    if (head.empty()) head = line_of(common / name);
    if (!head.empty()) continue;
    std::istringstream packed(text_of(common / "packed-refs"));
    for (std::string line; std::getline(packed, line);)
      if (line.size() > 41 && line.substr(41) == name) head = line.substr(0, 40);
  }
  return is_commit(head) ? head : std::string();
}

// Names the library that a program was built with, and the commit of the folder that it runs in, where that
// is one of a Git repository's: "0.1.0, run at commit 0123...".
inline std::string version_of_run() {
  std::error_code ignored;
  const std::string commit = commit_of(std::filesystem::current_path(ignored));
  return sentence({isize{MOTET_VERSION_MAJOR}, ".", isize{MOTET_VERSION_MINOR}, ".",
                   isize{MOTET_VERSION_PATCH}, commit.empty() ? "" : ", run at commit " + commit});
}

}  // namespace motet
