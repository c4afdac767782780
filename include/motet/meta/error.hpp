// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace motet {

// A part of a sentence: text, a letter or a number. Conversions are wanted, so that numbers stand
// between words as they are.
struct sentence_part {
  std::string is;
  sentence_part(std::string_view text) : is(text) {}
  sentence_part(const std::string& text) : is(text) {}
  sentence_part(const char* text) : is(text) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  sentence_part(T number) {
    if constexpr (std::is_same_v<T, char>) is = number;
    else is = std::to_string(number);
  }
};

// sentence({"rank ", 2, " of ", ranks}): one function for all costs a compiler less than sums of strings.
inline std::string sentence(std::initializer_list<sentence_part> parts) {
  std::string out;
  for (const sentence_part& each : parts) out += each.is;
  return out;
}

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
