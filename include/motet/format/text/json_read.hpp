// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json.hpp>
#include <motet/format/text/utf8.hpp>

#include <charconv>
#include <cmath>

namespace motet {

struct json_limits {
  int depth = 128;  // of nested arrays and objects; the reader recurses
};

namespace detail {

class json_reader {
 public:
  json_reader(std::string_view text, std::string_view origin, json_limits limits)
      : text_(text), origin_(origin), limits_(limits) {}

  json whole() {
    json value = read(0);
    skip_space();
    if (at_ != text_.size()) refuse("something follows the value");
    return value;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    std::size_t line = 1, start = 0;
    for (std::size_t i = 0; i < at_ && i < text_.size(); ++i) {
      if (text_[i] == '\n') ++line, start = i + 1;
    }
    fail(json_malformed, sentence({origin_, " line ", line, " column ", at_ - start + 1, ": ", why}));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) refuse("wanted a value");
    at_ += word.size();
  }

  json read(int depth) {
    if (depth > limits_.depth) refuse("nested deeper than " + std::to_string(limits_.depth));
    skip_space();
    if (at_ >= text_.size()) refuse("the text ends where a value should be");
    switch (peek()) {
      case '{': return read_object(depth);
      case '[': return read_array(depth);
      case '"': return json(read_string());
      case 't': expect("true"); return json(true);
      case 'f': expect("false"); return json(false);
      case 'n': expect("null"); return json();
      default: return read_number();
    }
  }

  json read_array(int depth) {
    ++at_;
    json::array items;
    skip_space();
    if (take(']')) return json(std::move(items));
    while (true) {
      items.push_back(read(depth + 1));
      skip_space();
      if (take(']')) return json(std::move(items));
      if (!take(',')) refuse("wanted , or ] in an array");
    }
  }

  json read_object(int depth) {
    ++at_;
    json::object members;
    skip_space();
    if (take('}')) return json(std::move(members));
    while (true) {
      skip_space();
      if (peek() != '"') refuse("wanted the name of a member in quotes");
      const std::size_t start = at_;
      std::string name = read_string();
      skip_space();
      if (!take(':')) refuse("wanted : after a member's name");
      json value = read(depth + 1);
      if (!members.insert(name, std::move(value))) {
        at_ = start;
        refuse("the member \"" + name + "\" occurs twice");
      }
      skip_space();
      if (take('}')) return json(std::move(members));
      if (!take(',')) refuse("wanted , or } in an object");
    }
  }

  std::uint32_t read_hex() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) refuse("wanted four hexadecimal digits after \\u");
      value = value * 16 + static_cast<std::uint32_t>(digit);
    }
    return value;
  }

  void read_escape(std::string& out) {
    const char c = peek();
    ++at_;
    switch (c) {
      case '"': out += '"'; return;
      case '\\': out += '\\'; return;
      case '/': out += '/'; return;
      case 'b': out += '\b'; return;
      case 'f': out += '\f'; return;
      case 'n': out += '\n'; return;
      case 'r': out += '\r'; return;
      case 't': out += '\t'; return;
      case 'u': break;
      default: --at_; refuse("an unknown escape after \\");
    }
    std::uint32_t point = read_hex();
    if (point >= 0xdc00 && point <= 0xdfff) refuse("the second half of a surrogate pair stands alone");
    if (point >= 0xd800 && point <= 0xdbff) {
      if (text_.substr(at_, 2) != "\\u") refuse("the first half of a surrogate pair stands alone");
      at_ += 2;
      const std::uint32_t low = read_hex();
      if (low < 0xdc00 || low > 0xdfff) refuse("the first half of a surrogate pair stands alone");
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(out, point);
  }

  std::string read_string() {
    ++at_;
    std::string out;
    while (true) {
      std::size_t end = at_;
      while (end < text_.size()) {
        const auto c = static_cast<unsigned char>(text_[end]);
        if (c == '"' || c == '\\' || c < 0x20) break;
        if (c < 0x80) {
          ++end;
          continue;
        }
        const std::size_t length = utf8_length(text_, end);
        if (length == 0) {
          at_ = end;
          refuse("bytes that are not UTF-8");
        }
        end += length;
      }
      out.append(text_, at_, end - at_);
      at_ = end;
      if (at_ >= text_.size()) refuse("the text ends inside a string");
      if (take('"')) return out;
      if (!take('\\')) refuse("a control character inside a string");
      read_escape(out);
    }
  }

  bool digits() {
    const std::size_t from = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ != from;
  }

  json read_number() {
    const std::size_t from = at_;
    const bool negative = take('-');
    bool whole = true;
    if (take('0')) {
      if (peek() >= '0' && peek() <= '9') refuse("a number must not begin with 0");
    } else if (!digits()) {
      refuse(negative ? "wanted digits after -" : "wanted a value");
    }
    if (take('.')) {
      whole = false;
      if (!digits()) refuse("wanted digits after the point of a number");
    }
    if (take('e') || take('E')) {
      whole = false;
      if (!take('+')) take('-');
      if (!digits()) refuse("wanted digits in the exponent of a number");
    }
    const char *first = text_.data() + from, *last = text_.data() + at_;
    // -0 keeps its sign only as a real number.
    if (whole && std::string_view(first, last) != "-0") {
      std::int64_t value = 0;
      if (std::from_chars(first, last, value).ec == std::errc{}) return json(value);
      std::uint64_t large = 0;
      if (!negative && std::from_chars(first, last, large).ec == std::errc{}) return json(large);
    }
    double value = 0;
    if (std::from_chars(first, last, value).ec == std::errc{}) return json(value);
    // Too small for a double is zero, too large is refused; the wider type tells them apart.
    long double wide = 0;
    if (std::from_chars(first, last, wide).ec == std::errc{} && std::fabs(wide) < 1)
      return json(static_cast<double>(wide));
    at_ = from;
    refuse("a number beyond the range of 64-bit floating point");
  }

  std::string_view text_, origin_;
  json_limits limits_;
  std::size_t at_ = 0;
};

}  // namespace detail

// Strict RFC 8259: UTF-8, no comments, no trailing comma, nothing after the value, no name twice in an
// object. `origin` stands in the message (MT-F01), e.g. the file's path.
// Asks for: one JSON value in UTF-8, nested no deeper than the limit.
// Memory: the value.
// Errors: MT-F01
// Example:
//   const json value = read_json(R"({"batch": 64})", "settings.json");
inline json read_json(std::string_view text, std::string_view origin = "JSON text", json_limits limits = {}) {
  return detail::json_reader(text, origin, limits).whole();
}

}  // namespace motet
