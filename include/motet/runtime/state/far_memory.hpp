// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/messages.hpp>
#include <motet/tensor/arena.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace motet {

// Memory in which what backward needs waits until it comes back: the process's own, or, in a folder, a file
// that has no name any more, so that the operating system may leave it on the disk and nothing stays behind.
// All of it is there before the first step.
// Asks for: a folder that the process may write to; none: its own memory.
// Memory: so many bytes, of the process or of the folder's disk.
// Errors: MT-R70
// Example:
//   void out_and_back(std::byte* kept, isize bytes) {
//     far_memory far(bytes, "/var/tmp");
//     far.put(0, kept, bytes);
//     far.get(0, kept, bytes);
//   }
class far_memory {
 public:
  far_memory() = default;
  explicit far_memory(isize bytes, const std::string& folder = {}) : size_(bytes) {
    if (bytes == 0) return;
    if (folder.empty()) {
      own_ = buffer<std::byte>(bytes);
      return;
    }
    where_ = folder;
    std::string name = folder + "/motet-offload-XXXXXX";
    file_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (file_ < 0) refuse(errno);
    ::unlink(name.c_str());
    // Now, and not in the middle of a step, a disk says that it is full.
    if (const int why = ::posix_fallocate(file_, 0, bytes); why != 0) {
      ::close(std::exchange(file_, -1));
      refuse(why);
    }
  }
  far_memory(far_memory&& other) noexcept { *this = std::move(other); }
  far_memory& operator=(far_memory&& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(own_, other.own_);
    std::swap(where_, other.where_);
    std::swap(file_, other.file_);
    return *this;
  }
  ~far_memory() {
    if (file_ >= 0) ::close(file_);
  }

  isize size() const { return size_; }
  void put(isize at, const std::byte* from, isize bytes) {
    if (file_ < 0) std::memcpy(own_.data() + at, from, as_size(bytes));
    else
      all_of(bytes,
             [&](isize done) { return ::pwrite(file_, from + done, as_size(bytes - done), at + done); });
  }
  void get(isize at, std::byte* to, isize bytes) const {
    if (file_ < 0) std::memcpy(to, own_.data() + at, as_size(bytes));
    else
      all_of(bytes, [&](isize done) { return ::pread(file_, to + done, as_size(bytes - done), at + done); });
  }

 private:
  // A call moves fewer bytes than it was asked to when a signal comes, or more than 2 GiB were asked for.
  template <class Call>
  void all_of(isize bytes, Call&& call) const {
    for (isize done = 0; done < bytes;) {
      const ssize_t now = call(done);
      if (now < 0 && errno == EINTR) continue;
      if (now <= 0) refuse(now < 0 ? errno : EIO);
      done += now;
    }
  }
  [[noreturn]] void refuse(int why) const {
    fail(far_memory_missing, sentence({size_, " bytes in ", where_, ": ", std::strerror(why)}));
  }

  isize size_ = 0;
  buffer<std::byte> own_;
  std::string where_;
  int file_ = -1;
};

// What backward needs of a microbatch goes there, or comes back.
struct far_move {
  far_memory* far = nullptr;
  isize at = 0;
  std::byte* here = nullptr;
  isize bytes = 0;
  bool out = true;
  void run() const {
    if (out) far->put(at, here, bytes);
    else far->get(at, here, bytes);
  }
};

}  // namespace motet
