// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/messages.hpp>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace motet {

// A file's bytes, mapped for reading: nothing is copied until it is touched.
class mapped_file {
 public:
  mapped_file() = default;
  explicit mapped_file(const std::filesystem::path& path) {
    // A pipe of that name would let us wait for ever.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) refuse(path, errno);
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) refuse(path, errno, descriptor);
    if (!S_ISREG(status.st_mode)) refuse(path, S_ISDIR(status.st_mode) ? EISDIR : EINVAL, descriptor);
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ > 0) {
      void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
      if (mapped == MAP_FAILED) refuse(path, errno, descriptor);
      data_ = static_cast<const std::byte*>(mapped);
    }
    ::close(descriptor);
  }
  mapped_file(mapped_file&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  mapped_file& operator=(mapped_file&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~mapped_file() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  }

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  [[noreturn]] static void refuse(const std::filesystem::path& path, int why, int descriptor = -1) {
    if (descriptor >= 0) ::close(descriptor);
    fail(file_unreadable, path.string() + ": " + std::strerror(why));
  }
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace motet
