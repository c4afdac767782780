// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/messages.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace motet {

// An error of the system, by its number (errno), becomes one of ours.
[[noreturn]] inline void refuse_to_write(const std::filesystem::path& path, int why) {
  const bool full = why == ENOSPC || why == EDQUOT || why == EFBIG;
  fail(full ? disk_full : file_unwritable, path.string() + ": " + std::strerror(why));
}

namespace detail {

inline std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

// Unlike any other name of this process, beside the target so that a rename does not cross file systems.
inline std::filesystem::path temporary_beside(const std::filesystem::path& target) {
  static std::atomic<unsigned> count{0};
  return folder_of(target) / (sentence({".", target.filename().string(), ".tmp-", ::getpid(), "-", count++}));
}

// A rename is on the disk only when the folder is.
inline void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) refuse_to_write(folder, errno);
  const int failed = ::fsync(descriptor) != 0 ? errno : 0;
  ::close(descriptor);
  // Some network file systems cannot sync a folder; they order renames themselves.
  if (failed != 0 && failed != EINVAL && failed != ENOTSUP) refuse_to_write(folder, failed);
}

}  // namespace detail

// A file that appears complete or not at all. It is written under a temporary name in the same folder;
// commit() syncs it, renames it over the target and syncs the folder. Without commit() the temporary file is
// removed and an older target stays as it was.
// Devices and pipes (/dev/stdout) are written directly.
// Asks for: a folder that can be written, with room for the new file beside the old one.
// Memory: none; what is written goes to the system.
// Errors: MT-F05, MT-F06
// Example:
//   void replace(const std::string& path) {
//     atomic_file file(path);
//     file.write("all of it\n");
//     file.commit();
//   }
class atomic_file {
 public:
  explicit atomic_file(std::filesystem::path target) : target_(std::move(target)) {
    std::error_code ignored;
    if (std::filesystem::is_symlink(target_, ignored) && std::filesystem::exists(target_, ignored))
      target_ = std::filesystem::canonical(target_);
    const auto status = std::filesystem::status(target_, ignored);
    if (std::filesystem::is_directory(status)) refuse_to_write(target_, EISDIR);
    direct_ = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
    do {
      written_to_ = direct_ ? target_ : detail::temporary_beside(target_);
      descriptor_ =
          ::open(written_to_.c_str(), O_WRONLY | O_CLOEXEC | (direct_ ? 0 : O_CREAT | O_EXCL), 0666);
    } while (descriptor_ < 0 && errno == EEXIST);
    if (descriptor_ < 0) refuse_to_write(target_, errno);
  }
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;
  ~atomic_file() { abandon(); }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) bytes = bytes.subspan(advance(::write(descriptor_, bytes.data(), bytes.size())));
  }
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  // Writes at a place of its own, in any order; what was never written reads as zero.
  void write_at(std::size_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::size_t count =
          advance(::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset)));
      bytes = bytes.subspan(count);
      offset += count;
    }
  }

  void commit() {
    if (!direct_ && ::fsync(descriptor_) != 0) refuse(errno);
    const int closed = ::close(descriptor_);
    descriptor_ = -1;
    if (closed != 0 && errno != EINTR) refuse(errno);
    if (direct_) return;
    if (std::rename(written_to_.c_str(), target_.c_str()) != 0) refuse(errno);
    written_to_.clear();
    detail::sync_folder(detail::folder_of(target_));
  }

 private:
  std::size_t advance(ssize_t count) {
    if (count < 0 && errno != EINTR) refuse(errno);
    return count < 0 ? 0 : static_cast<std::size_t>(count);
  }
  [[noreturn]] void refuse(int why) {
    abandon();
    refuse_to_write(target_, why);
  }
  void abandon() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!direct_ && !written_to_.empty()) ::unlink(written_to_.c_str());
    descriptor_ = -1;
    written_to_.clear();
  }
  std::filesystem::path target_, written_to_;
  int descriptor_ = -1;
  bool direct_ = false;
};

inline void write_file(const std::filesystem::path& target, std::string_view text) {
  atomic_file file(target);
  file.write(text);
  file.commit();
}

}  // namespace motet
