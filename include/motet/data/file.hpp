// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/messages.hpp>
#include <motet/meta/config.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace motet {

// A file that several threads read at once: every read names its place, so there is no position to share. A
// pipe of that name is refused, not waited for.
class input_file {
 public:
  input_file() = default;
  explicit input_file(const std::string& path)
      : handle_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    if (handle_ < 0) fail(data_unreadable, path + " (" + std::strerror(errno) + ")");
    struct stat facts {};
    if (::fstat(handle_, &facts) != 0 || !S_ISREG(facts.st_mode)) {
      ::close(handle_);
      fail(data_unreadable, path + " (not a regular file)");
    }
    size_ = static_cast<isize>(facts.st_size);
  }
  input_file(input_file&& other) noexcept
      : handle_(std::exchange(other.handle_, -1)), size_(std::exchange(other.size_, 0)) {}
  input_file& operator=(input_file&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~input_file() {
    if (handle_ >= 0) ::close(handle_);
  }

  isize size() const { return size_; }

  // The result is the count of bytes that were read: fewer than asked only at the end of the file or on a
  // failing device.
  isize read(isize offset, std::span<std::uint8_t> into) const {
    isize done = 0;
    while (done < static_cast<isize>(into.size())) {
      const auto got = ::pread(handle_, into.data() + done, into.size() - as_size(done),
                               static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<isize>(got);
    }
    return done;
  }

 private:
  int handle_ = -1;
  isize size_ = 0;
};

// The whole of a small file.
inline std::string read_text(const std::string& path, isize limit = isize{1} << 28) {
  const input_file file(path);
  if (file.size() > limit) fail(data_unreadable, sentence({path, " (larger than ", limit, " bytes)"}));
  std::string text(as_size(file.size()), '\0');
  const isize got = file.read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  if (got != file.size()) fail(data_unreadable, path + " (cut short while reading)");
  return text;
}

}  // namespace motet
