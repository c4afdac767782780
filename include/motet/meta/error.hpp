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
  // Where bare numbers would leave a question, what they count: "{where}: {got} rank{s}"; see numbers_of().
  const char* numbers = nullptr;
};

// The whole of what is said of a broken rule, by an error and by the compiler alike. `detail` says what,
// where, got and wanted.
template <class Text>
constexpr void put_message(Text& to, const message& row, std::string_view detail) {
  for (const std::string_view part :
       {std::string_view("motet: "), std::string_view(row.sentence),
        std::string_view(detail.empty() ? "" : ": "), detail, std::string_view(". "),
        std::string_view(row.remedy), std::string_view(" ["), std::string_view(row.code),
        std::string_view("]")})
    to += part;
}

class error : public std::runtime_error {
 public:
  error(const message& row, const std::string& detail) : error(said(row, detail), row.code, {}) {}
  // The same error, and where it happened.
  error(const error& from, const std::string& place)
      : error(from.what() + (" at " + place), from.code_, {}) {}
  const char* code() const noexcept { return code_; }

 protected:
  struct whole {};
  error(const std::string& text, std::string_view code, whole) : std::runtime_error(text) {
    code.copy(code_, sizeof code_ - 1);
  }

 private:
  static std::string said(const message& row, const std::string& detail) {
    std::string out;
    put_message(out, row, detail);
    return out;
  }
  char code_[16] = "";
};

// A rank ends by this when another one failed. Its code is the one of what failed there, so that all ranks
// end alike; empty where that had none.
class stopped_elsewhere : public error {
 public:
  explicit stopped_elsewhere(std::string_view why)
      : error("motet: stopped, as " + std::string(why), code_in(why), {}) {}

 private:
  static std::string_view code_in(std::string_view text) {
    const std::size_t begin = text.find("[MT-");
    const std::size_t end = begin == text.npos ? begin : text.find(']', begin);
    return end == text.npos ? std::string_view() : text.substr(begin + 1, end - begin - 1);
  }
};

// `detail` says what, where, got and wanted; the row says the rule and the remedy.
[[noreturn]] inline void fail(const message& row, const std::string& detail = {}) {
  throw error(row, detail);
}

}  // namespace motet
