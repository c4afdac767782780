// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/atomic_file.hpp>
#include <motet/format/file.hpp>
#include <motet/format/json_read.hpp>
#include <motet/format/json_write.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace motet {

// One JSON object a line, written through at once, so that a run that is killed leaves what it measured.
class metrics_file {
 public:
  metrics_file() = default;  // writes nothing
  // A run that goes on after step `keep` keeps the lines up to there (those that can be read); -1 starts
  // anew.
  explicit metrics_file(const std::filesystem::path& path, std::int64_t keep = -1) : path_(path) {
    std::error_code ignored;
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
    std::string kept;
    if (keep >= 0 && std::filesystem::exists(path, ignored)) {
      for (const json& line : read_metrics(path)) {
        const json* step = line.find("step");
        if (step != nullptr && step->is_integer() && step->integer() <= keep && line.find("final") == nullptr)
          kept += write_json(line) + "\n";
      }
    }
    write_file(path, kept);
    if (!append()) refuse_to_write(path, errno);
  }

  // A disk that is full is no reason to end a run: that is told once, lines wait, and each next one tries
  // again. Those beyond 16 MiB are lost.
  void write(const json& line) {
    if (path_.empty()) return;
    if (constexpr std::size_t room = std::size_t{1} << 24; waiting_.size() < room)
      waiting_ += write_json(line) + "\n";
    if (append()) {
      told_ = false;
      return;
    }
    if (!std::exchange(told_, true))
      std::fprintf(stderr,
                   "motet: %s cannot be written (%s); the run goes on, and tries again at each line\n",
                   path_.c_str(), std::strerror(errno));
  }

  // Every line that is a whole JSON object; the last one of a killed run may not be.
  static std::vector<json> read_metrics(const std::filesystem::path& path) {
    std::vector<json> lines;
    const mapped_file file(path);
    std::string_view rest = file.text();
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
      try {
        json value = read_json(line, path.string());
        if (value.is_object()) lines.push_back(std::move(value));
      } catch (const error&) {
        continue;
      }
    }
    return lines;
  }

 private:
  // What waits, as far as there is room. The file is made again where it was removed; whatever else is in
  // its place is left alone (a pipe that nobody reads).
  bool append() {
    const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
    if (file < 0) return false;
    int why = 0;
    while (!waiting_.empty()) {
      const ssize_t count = ::write(file, waiting_.data(), waiting_.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        why = errno;
        break;
      }
      waiting_.erase(0, static_cast<std::size_t>(count));
    }
    ::close(file);
    errno = why;
    return why == 0;
  }

  std::filesystem::path path_;
  std::string waiting_;
  bool told_ = false;
};

}  // namespace motet
