// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/messages.hpp>
#include <motet/meta/config.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// Reads rows of separated values one after another. With commas, or any separator but a tab, a cell may stand
// in quotes, which may then hold separators, line ends and doubled quotes (RFC 4180). With tabs a quote is a
// letter like any other. Lines end with LF or CR LF; empty ones are passed over.
class csv_rows {
 public:
  // The text outlives the reader. `origin` is named in refusals: a path, for example.
  csv_rows(std::string_view text, std::string origin, char separator = ',')
      : text_(text), origin_(std::move(origin)), separator_(separator) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
  }

  // The cells of the next row; false at the end. Throws MT-F15.
  bool next(std::vector<std::string>& cells) {
    cells.clear();
    while (at_ < text_.size()) {
      first_ = line_;
      if (end_of_line()) continue;
      while (true) {
        cells.push_back(quotes() && peek() == '"' ? quoted(cells.size()) : plain());
        if (at_ >= text_.size() || end_of_line()) return true;
        ++at_;  // behind the separator
      }
    }
    first_ = line_;
    return false;
  }
  // The row that `next` gave begins in this line, from 1.
  isize line() const { return first_; }
  const std::string& origin() const { return origin_; }

 private:
  bool quotes() const { return separator_ != '\t'; }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool end_of_line() {
    const std::size_t length = text_.substr(at_, 2) == "\r\n"         ? 2
                               : peek() == '\n' && at_ < text_.size() ? 1
                                                                      : 0;
    at_ += length;
    line_ += length > 0 ? 1 : 0;
    return length > 0;
  }
  std::string plain() {
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n') ++at_;
    std::size_t end = at_;
    if (peek() == '\n' && end > from && text_[end - 1] == '\r') --end, --at_;
    return std::string(text_.substr(from, end - from));
  }
  std::string quoted(std::size_t column) {
    const isize opened = line_;
    std::string out;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        out += text_[at_];
      } else if (text_.substr(at_, 2) == "\"\"") {
        out += text_[at_++];
      } else {
        ++at_;
        if (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n' &&
            text_.substr(at_, 2) != "\r\n")
          refuse(line_, column,
                 "something follows the closing quote; a quote inside of quotes is written twice");
        return out;
      }
    }
    refuse(opened, column, "the quote that begins here is not closed");
  }
  [[noreturn]] void refuse(isize line, std::size_t column, const char* why) const {
    fail(csv_malformed, sentence({origin_, ", line ", line, ", cell ", column + 1, ": ", why}));
  }

  std::string_view text_;
  std::string origin_;
  char separator_;
  std::size_t at_ = 0;
  isize line_ = 1, first_ = 1;
};

// The text as a cell in quotes, which holds anything.
inline std::string csv_cell(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

}  // namespace motet
