// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/backend/core/warnings.hpp>
#include <motet/backend/cuda/products/product_choices.hpp>
#include <motet/format/files/atomic_file.hpp>
#include <motet/format/files/file.hpp>
#include <motet/tensor/random.hpp>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace motet::cuda {

// Choices of products that outlive a program: a file for each GPU, driver and version of the library, which
// programs on one machine share. It is written anew under another name and renamed, by one program at a time,
// each of which first reads what the others found. A file that cannot be read is said so once, with its line,
// and counts as empty until the next choice takes its place; one that cannot be written costs the choices,
// not the run.
class product_cache {
 public:
  // MOTET_CACHE, else motet in XDG_CACHE_HOME, else ~/.cache/motet. Empty, as MOTET_CACHE may be: nowhere.
  static std::filesystem::path usual_folder() {
    const auto set = [](const char* name) -> std::filesystem::path {
      const char* const value = std::getenv(name);
      return value != nullptr ? value : "";
    };
    if (std::getenv("MOTET_CACHE") != nullptr) return set("MOTET_CACHE");
    if (const auto cache = set("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "motet";
    if (const auto home = set("HOME"); home.is_absolute()) return home / ".cache" / "motet";
    return {};
  }

  // `machine` is of printable characters.
  product_cache(const std::filesystem::path& folder, std::string machine) {
    known_.machine = std::move(machine);
    if (folder.empty()) return;
    const std::uint64_t name = random_stream::hash(known_.machine);
    std::string digits;
    for (int shift = 60; shift >= 0; shift -= 4) digits += product_digits[name >> shift & 15];
    file_ = folder / ("products-" + digits + ".txt");
    learn();
  }

  const std::filesystem::path& file() const { return file_; }
  const product_algorithm* find(std::string_view shape) const {
    const auto found = known_.of.find(shape);
    return found != known_.of.end() ? &found->second : nullptr;
  }
  // The algorithm takes the place of another one of this shape.
  void keep(const std::string& shape, const product_algorithm& algorithm) {
    known_.of.insert_or_assign(shape, algorithm);
    if (file_.empty()) return;
    try {
      std::filesystem::create_directories(file_.parent_path());
      const in_turn alone(file_);
      learn();
      known_.of.insert_or_assign(shape, algorithm);
      write_file(file_, format_product_choices(known_));
    } catch (const std::exception& problem) {
      warnings::of_process().say(product_choices_unwritten, file_.string(), problem.what());
    }
  }

 private:
  // While it lives, no other program writes the file; a program that ends lets go. Where files cannot be
  // locked, a choice of another one may be lost.
  class in_turn {
   public:
    explicit in_turn(const std::filesystem::path& file)
        : lock_(::open((file.string() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
      while (lock_ >= 0 && ::flock(lock_, LOCK_EX) != 0 && errno == EINTR) {
      }
    }
    in_turn(const in_turn&) = delete;
    in_turn& operator=(const in_turn&) = delete;
    ~in_turn() {
      if (lock_ >= 0) ::close(lock_);
    }

   private:
    int lock_;
  };

  // Learns from the file what this program did not know.
  void learn() {
    std::error_code none;
    if (!std::filesystem::exists(file_, none)) return;
    try {
      const mapped_file now(file_);
      product_choices there;
      std::string wrong = now.text().size() > most_bytes ? "line 1: too much to be choices"
                                                         : parse_product_choices(now.text(), there);
      if (wrong.empty() && there.machine != known_.machine)
        wrong = "line 2: got '" + there.machine + "', wanted '" + known_.machine + "'";
      if (wrong.empty()) known_.of.merge(there.of);
      else ignore(wrong);
    } catch (const error& problem) {
      ignore(problem.what());
    }
  }
  void ignore(const std::string& why) const {
    warnings::of_process().say(product_choices_unreadable, file_.string(), file_.string() + ", " + why);
  }

  static constexpr std::size_t most_bytes = std::size_t{16} << 20;
  std::filesystem::path file_;
  product_choices known_;
};

}  // namespace motet::cuda
