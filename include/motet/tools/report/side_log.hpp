// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/atomic_file.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace motet {

// A file that a run writes beside its work, each piece at once, so that a run that is killed leaves what it
// told. A disk that is full is no reason to end the run: that is said once, pieces wait, and each next one
// tries again. Those beyond 16 MiB are lost.
class side_log {
 public:
  side_log() = default;  // writes nothing
  // The file begins with `kept`.
  explicit side_log(std::filesystem::path path, std::string_view kept = {}) : path_(std::move(path)) {
    std::error_code ignored;
    if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), ignored);
    write_file(path_, kept);
    if (!append()) refuse_to_write(path_, errno);
  }

  void write(std::string_view piece) {
    if (path_.empty()) return;
    if (constexpr std::size_t room = std::size_t{1} << 24; waiting_.size() < room) waiting_ += piece;
    if (append()) {
      told_ = false;
      return;
    }
    if (!std::exchange(told_, true))
      std::fprintf(stderr,
                   "motet: %s cannot be written (%s); the run goes on, and tries again at each line\n",
                   path_.c_str(), std::strerror(errno));
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  // Appends what waits, as far as there is room. The file is made again where it was removed; whatever else
  // is in its place is left alone (a pipe that nobody reads).
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
