// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/meta/config.hpp>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace motet {

// A fresh token is one that nobody can guess.
inline std::string fresh_token() {
  std::random_device source;
  std::string digits;
  for (int i = 0; i < 32; ++i) digits += "0123456789abcdef"[source() % 16];
  return digits;
}

// The token of a run on one machine, in a file that only its user can read, while its ranks find each other.
// Where they meet names it, and whoever listens there is the one who writes it.
class token_file {
 public:
  token_file(std::uint32_t address, std::uint16_t port, const std::string& token)
      : path_(path(address, port)) {
    ::unlink(path_.c_str());  // of a run that was killed
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    const bool written =
        file >= 0 && ::write(file, token.data(), token.size()) == static_cast<ssize_t>(token.size());
    const std::string why = std::strerror(errno);
    if (file >= 0) ::close(file);
    if (!written) {
      if (file >= 0) ::unlink(path_.c_str());
      fail(meeting_refused,
           "rank 0 cannot leave a token for the others at " + path_ + ": " + why + "; set MOTET_TOKEN");
    }
  }
  token_file(const token_file&) = delete;
  token_file& operator=(const token_file&) = delete;
  ~token_file() { ::unlink(path_.c_str()); }

  // Empty: there is none, or not one that this user alone could have written.
  static std::string read(std::uint32_t address, std::uint16_t port) {
    const int file = ::open(path(address, port).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return {};
    struct stat is {};
    char text[64];
    ssize_t size = 0;
    if (::fstat(file, &is) == 0 && S_ISREG(is.st_mode) && is.st_uid == ::geteuid() && (is.st_mode & 077) == 0)
      size = ::read(file, text, sizeof text);
    ::close(file);
    return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
  }

  static std::string path(std::uint32_t address, std::uint16_t port) {
    std::error_code none;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(none);
    return sentence({none ? "/tmp" : folder.string(), "/motet-", ::geteuid(), "-", address, "-", port});
  }

 private:
  std::string path_;
};

}  // namespace motet
