// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/atomic_file.hpp>

namespace motet {

// A directory that appears complete or not at all: fill path(), then commit(). An older directory of that
// name is replaced only then, in one step where the system can exchange two names. Without commit()
// everything written is removed.
class atomic_directory {
 public:
  explicit atomic_directory(std::filesystem::path target) : target_(std::move(target)) {
    if (!target_.has_filename()) target_ = target_.parent_path();  // "folder/" is "folder"
    std::error_code failed;
    std::filesystem::create_directories(detail::folder_of(target_), failed);
    if (failed) refuse_to_write(detail::folder_of(target_), failed.value());
    while (true) {
      path_ = detail::temporary_beside(target_);
      if (std::filesystem::create_directory(path_, failed)) break;
      if (failed) refuse_to_write(target_, failed.value());
    }
  }
  // One that others have filled, at a name that they agreed on.
  atomic_directory(std::filesystem::path target, std::filesystem::path filled)
      : target_(std::move(target)), path_(std::move(filled)) {}
  atomic_directory(const atomic_directory&) = delete;
  atomic_directory& operator=(const atomic_directory&) = delete;
  ~atomic_directory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

  void commit() {
    detail::sync_folder(path_);
    std::error_code ignored;
    if (!std::filesystem::exists(std::filesystem::symlink_status(target_, ignored))) {
      if (std::rename(path_.c_str(), target_.c_str()) != 0) refuse_to_write(target_, errno);
      path_.clear();
    } else if (!exchange()) {
      const std::filesystem::path aside = detail::temporary_beside(target_);
      if (std::rename(target_.c_str(), aside.c_str()) != 0) refuse_to_write(target_, errno);
      if (std::rename(path_.c_str(), target_.c_str()) != 0) {
        const int why = errno;
        std::rename(aside.c_str(), target_.c_str());
        refuse_to_write(target_, why);
      }
      path_ = aside;
    }
    detail::sync_folder(detail::folder_of(target_));
    // After an exchange path_ names the older directory.
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    path_.clear();
  }

 private:
  bool exchange() const {
#ifdef RENAME_EXCHANGE
    return ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0;
#else
    return false;
#endif
  }
  std::filesystem::path target_, path_;
};

}  // namespace motet
