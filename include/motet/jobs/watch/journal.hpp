// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/atomic_file.hpp>
#include <motet/format/files/checksum.hpp>
#include <motet/format/files/file.hpp>
#include <motet/format/text/json_read.hpp>
#include <motet/format/text/json_write.hpp>
#include <motet/jobs/messages.hpp>
#include <motet/meta/config.hpp>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace motet {

// Sixteen hexadecimal digits of what noticed damage.
inline std::string checksum_text(std::string_view of) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  const std::uint64_t sum = checksum(std::as_bytes(std::span(of)));
  for (int shift = 60; shift >= 0; shift -= 4) out += digits[(sum >> shift) & 15];
  return out;
}

// A file to which text is only ever appended.
class appended_file {
 public:
  explicit appended_file(std::filesystem::path path) : path_(std::move(path)) {
    handle_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (handle_ < 0) refuse_to_write(path_, errno);
  }
  appended_file(const appended_file&) = delete;
  appended_file& operator=(const appended_file&) = delete;
  ~appended_file() { ::close(handle_); }

  void append(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::write(handle_, text.data(), text.size());
      if (count < 0 && errno != EINTR) refuse_to_write(path_, errno);
      if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  void sync() {
    if (::fdatasync(handle_) != 0 && errno != EINVAL) refuse_to_write(path_, errno);
  }
  void cut(std::size_t size) {
    if (::ftruncate(handle_, static_cast<off_t>(size)) != 0) refuse_to_write(path_, errno);
  }

 private:
  std::filesystem::path path_;
  int handle_ = -1;
};

// Written behind its state, with which a journal begins anew.
inline constexpr isize usual_journal_bytes = isize{4} << 20;

// A journal says what happened, in records that are whole or not there: each is a line of a checksum and
// JSON. A record that a killed writer left half done at the end is cut off; it was never answered. Damage
// before the end is refused (MT-J42). It may begin anew with records from which the others follow: a new file
// takes the place of the old one when it is on the disk, so that one of the two is there at any moment.
class job_journal {
 public:
  explicit job_journal(std::filesystem::path of) : path(std::move(of)) {
    // That there is a file is on the disk before anything stands in it.
    if (!std::filesystem::exists(path)) write_file(path, "");
    file_.emplace(path);
    const mapped_file now(path);
    const std::string_view text = now.text();
    std::size_t at = 0, line = 1;
    for (; at < text.size(); ++line) {
      const std::size_t end = text.find('\n', at);
      const std::string_view record = text.substr(at, end == text.npos ? end : end - at);
      const bool whole =
          end != text.npos && record.size() > 17 && record.substr(0, 16) == checksum_text(record.substr(17));
      if (!whole) {
        if (end != text.npos && end + 1 != text.size())
          fail(jobs_journal_damaged,
               sentence({path.string(), ", line ", line, " does not fit its checksum"}));
        break;
      }
      records_.push_back(read_json(record.substr(17), path.string()));
      at = end + 1;
    }
    if (at < text.size()) file_->cut(at);
    bytes_ = at;
  }

  const std::filesystem::path path;

  // Takes the records that were there when it was opened; the caller has them afterwards.
  std::vector<json> take_records() { return std::move(records_); }
  // Added in memory; they are there when commit() has returned.
  void add(const json& record) { waiting_ += line_of(record); }
  void commit() {
    if (waiting_.empty()) return;
    file_->append(waiting_);
    file_->sync();
    bytes_ += waiting_.size();
    waiting_.clear();
  }
  // All that was committed follows from these.
  void begin_anew(std::initializer_list<json> records) {
    std::string text;
    for (const json& each : records) text += line_of(each);
    write_file(path, text);
    file_.emplace(path);
    bytes_ = text.size();
  }
  std::size_t bytes() const { return bytes_; }

 private:
  static std::string line_of(const json& record) {
    const std::string text = write_json(record);
    return checksum_text(text) + " " + text + "\n";
  }

  std::optional<appended_file> file_;
  std::vector<json> records_;
  std::string waiting_;
  std::size_t bytes_ = 0;
};

}  // namespace motet
