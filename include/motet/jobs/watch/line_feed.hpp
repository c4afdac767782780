// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/utf8.hpp>
#include <motet/meta/config.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace motet {

inline constexpr std::size_t longest_line = 65536;

// A line that somebody wrote, and where it stands. One that was longer than lines may be is cut.
struct fed_line {
  std::string text, origin;
  isize number = 0;     // in its origin, from 1
  std::size_t end = 0;  // bytes of the origin up to behind it
  bool cut = false;
};

// Bytes as they come, as lines: what has no end yet waits for it. Of a line that is too long the beginning is
// kept, and its end is waited for all the same.
class line_splitter {
 public:
  explicit line_splitter(std::string origin, isize lines = 0, std::size_t bytes = 0)
      : origin_(std::move(origin)), lines_(lines), bytes_(bytes) {}

  void add(std::string_view more, std::vector<fed_line>& to) {
    while (!more.empty()) {
      const std::size_t end = more.find('\n');
      const std::string_view part = more.substr(0, end);
      open_.append(part.substr(0, longest_line - std::min(longest_line, open_.size())));
      length_ += part.size();
      bytes_ += part.size();
      if (end == more.npos) return;
      more.remove_prefix(end + 1);
      ++bytes_;
      ++lines_;
      if (open_.ends_with('\r')) open_.pop_back();
      if (!open_.empty()) to.push_back({open_, origin_, lines_, bytes_, length_ > longest_line});
      open_.clear();
      length_ = 0;
    }
  }
  bool has_open() const { return length_ > 0; }
  std::size_t bytes() const { return bytes_; }
  const std::string& origin() const { return origin_; }

 private:
  std::string origin_, open_;
  std::size_t length_ = 0;  // of the open line
  isize lines_;
  std::size_t bytes_;
};

// The lines of all files of a folder whose names are UTF-8 and end in ".events", as they grow. Files are read
// in the order of their names, each from where it was read up to.
class line_feed {
 public:
  explicit line_feed(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // That much of a file was taken before.
  void begin_at(const std::string& name, isize lines, std::size_t bytes) {
    files_.insert_or_assign(name, line_splitter(name, lines, bytes));
  }
  // Takes some megabytes at a time at most; the next call reads on. What cannot be read is told in `trouble`,
  // once.
  std::vector<fed_line> take(std::vector<std::string>& trouble) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (std::filesystem::directory_iterator it(folder_, ignored), end; it != end; it.increment(ignored))
      if (std::string name = it->path().filename().string();
          name.ends_with(".events") && name.front() != '.' && utf8_first_bad(name) == name.npos)
        names.push_back(std::move(name));
    std::sort(names.begin(), names.end());
    std::vector<fed_line> out;
    for (const std::string& name : names) read(name, out, trouble);
    return out;
  }

 private:
  static constexpr std::size_t most = std::size_t{1} << 20;
  void read(const std::string& name, std::vector<fed_line>& to, std::vector<std::string>& trouble) {
    line_splitter& lines = files_.try_emplace(name, name).first->second;
    const auto tell = [&](const std::string& why) {
      std::string& told = told_[name];
      if (told != why) trouble.push_back((folder_ / name).string() + why);
      told = why;
    };
    // A pipe of that name would let us wait for ever.
    const int handle = ::open((folder_ / name).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat facts {};
    if (handle < 0 || ::fstat(handle, &facts) != 0 || !S_ISREG(facts.st_mode)) {
      if (handle >= 0) ::close(handle);
      return tell(" cannot be read, or is no file");
    }
    const auto size = static_cast<std::size_t>(facts.st_size);
    if (size < lines.bytes())
      tell(" is shorter than what was read of it; lines are appended to files, or a new file is begun");
    std::string bytes(std::min(most, size - std::min(size, lines.bytes())), '\0');
    if (!bytes.empty()) {
      const ssize_t got = ::pread(handle, bytes.data(), bytes.size(), static_cast<off_t>(lines.bytes()));
      if (got > 0) lines.add(std::string_view(bytes).substr(0, static_cast<std::size_t>(got)), to);
    }
    ::close(handle);
  }

  std::filesystem::path folder_;
  std::map<std::string, line_splitter> files_;
  std::map<std::string, std::string> told_;
};

}  // namespace motet
