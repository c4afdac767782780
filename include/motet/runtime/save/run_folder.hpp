// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/atomic_file.hpp>
#include <motet/nn/core/parameter.hpp>
#include <motet/runtime/messages.hpp>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace motet {

// A checkpoint of a model takes so many bytes on the disk at most: weights, both moments and averages in
// fp32, and what names them.
inline isize checkpoint_bytes(std::span<const parameter> model) {
  isize bytes = 4096;
  for (const parameter& each : model) bytes += 4 * (4 * each.size() + 256);
  return bytes;
}

// Tries whether checkpoints of so many bytes could be written into the folder of a run, which need not be
// there yet: a small file is written, synced and renamed where the folder is or would be made, and nothing is
// left. An obstacle is told before hours of training, and not after them.
inline void probe_run_folder(const std::filesystem::path& run, isize bytes) {
  std::error_code unknown;
  std::filesystem::path nearest = std::filesystem::absolute(run);
  while (nearest.has_relative_path() && !std::filesystem::exists(nearest, unknown)) {
    // A dangling link is in the way as well, and only its own name tells which.
    if (std::filesystem::is_symlink(std::filesystem::symlink_status(nearest, unknown)))
      refuse_to_write(nearest, ENOENT);
    nearest = nearest.parent_path();
  }
  if (!std::filesystem::is_directory(nearest, unknown)) refuse_to_write(nearest, ENOTDIR);
  const std::filesystem::path probe = nearest / sentence({".probe-", ::getpid()});
  write_file(probe, "motet\n");
  std::filesystem::remove(probe, unknown);
  struct statvfs disk {};
  if (::statvfs(nearest.c_str(), &disk) != 0) return;
  // Some file systems count nothing.
  if (disk.f_blocks == 0) return;
  const double free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  if (free < static_cast<double>(bytes))
    fail(disk_full, sentence({run.string(), ": a checkpoint takes ", bytes, " bytes, and ",
                              static_cast<std::uint64_t>(free), " are free"}));
}

// The folder of a run, held by one process at a time: another that wants it is told who has it (MT-R14). The
// system lets go when the process ends, however it ends. Who holds it removes what killed writers left.
// Folders on disks that know no locks are held by whoever asks.
class run_folder {
 public:
  run_folder() = default;  // of no run
  explicit run_folder(std::filesystem::path run) : run_(std::move(run)) {
    hold();
    std::error_code ignored;
    for (std::filesystem::directory_iterator it(run_, ignored), end; it != end; it.increment(ignored)) {
      const std::string name = it->path().filename().string();
      if (name.front() == '.' && name.find(".tmp-") != std::string::npos)
        std::filesystem::remove_all(it->path(), ignored);
    }
  }
  run_folder(run_folder&& from) noexcept : run_(std::move(from.run_)), lock_(std::exchange(from.lock_, -1)) {}
  run_folder& operator=(run_folder&& from) noexcept {
    std::swap(run_, from.run_);
    std::swap(lock_, from.lock_);
    return *this;
  }
  ~run_folder() {
    if (lock_ >= 0) ::close(lock_);
  }

  // Called before something is written: a folder that was removed or renamed meanwhile is made again, and
  // held.
  void hold() {
    if (run_.empty()) return;
    const std::filesystem::path path = run_ / ".lock";
    if (lock_ >= 0 && is_at(path)) return;
    std::error_code failed;
    std::filesystem::create_directories(run_, failed);
    if (failed) refuse_to_write(run_, failed.value());
    while (true) {
      if (lock_ >= 0) ::close(lock_);
      lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
      if (lock_ < 0) refuse_to_write(path, errno);
      if (::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        const std::string by = holder();
        ::close(std::exchange(lock_, -1));
        fail(run_folder_in_use, run_.string() + " is held by " + by);
      }
      if (is_at(path)) break;
    }
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    const std::string me = sentence({"process ", ::getpid(), " on ", host, "\n"});
    // Only others read it, so a disk that is full is no reason to stop.
    if (::ftruncate(lock_, 0) != 0 || ::pwrite(lock_, me.data(), me.size(), 0) < 0) return;
  }

 private:
  bool is_at(const std::filesystem::path& path) const {
    struct stat held {
    }, there{};
    return ::fstat(lock_, &held) == 0 && ::stat(path.c_str(), &there) == 0 && held.st_ino == there.st_ino &&
           held.st_dev == there.st_dev;
  }
  std::string holder() const {
    char text[320];
    const ssize_t got = ::pread(lock_, text, sizeof text, 0);
    std::string out(text, got > 0 ? static_cast<std::size_t>(got) : 0);
    if (!out.empty() && out.back() == '\n') out.pop_back();
    return out.empty() ? "a process that has not said its name" : out;
  }

  std::filesystem::path run_;
  int lock_ = -1;
};

}  // namespace motet
