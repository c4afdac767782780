// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace motet {

// One row of a message table: docs/errors.md is generated from these rows, and errors carry their codes.
struct message {
  const char* code;      // "MT-D03"
  const char* sentence;  // the rule that was broken
  const char* cause;     // how one usually comes here
  const char* remedy;    // what to do
};

class error : public std::runtime_error {
 public:
  error(const message& row, const std::string& detail)
      : std::runtime_error(std::string("motet: ") + row.sentence + (detail.empty() ? "" : ": " + detail) +
                           ". " + row.remedy + " [" + row.code + "]"),
        code_(row.code) {}
  // The same error, and where it happened.
  error(const error& from, const std::string& place)
      : std::runtime_error(from.what() + (" at " + place)), code_(from.code_) {}
  const char* code() const noexcept { return code_; }

 private:
  const char* code_;
};

// `detail` says what, where, got and wanted; the row says the rule and the remedy.
[[noreturn]] inline void fail(const message& row, const std::string& detail = {}) {
  throw error(row, detail);
}

}  // namespace motet
