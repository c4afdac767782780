// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

// Pieces of an SVG, for drawings.
namespace motet {
namespace detail {

// Pieces of an SVG. Lengths are whole hundredths of a pixel, so that what touches in time touches in the
// picture, and nothing overlaps by rounding.
class svg_writer {
 public:
  static std::int64_t hundredths(double pixels) { return std::llround(100 * pixels); }

  const std::string& text() const { return out_; }
  svg_writer& operator<<(std::string_view raw) {
    out_ += raw;
    return *this;
  }
  svg_writer& operator<<(double pixels) {
    put(hundredths(pixels));
    return *this;
  }
  svg_writer& operator<<(std::int64_t whole) {
    char text[32];
    out_.append(text, std::to_chars(text, text + sizeof text, whole).ptr);
    return *this;
  }
  svg_writer& operator<<(int whole) { return *this << std::int64_t{whole}; }

  svg_writer& escaped(std::string_view text) {
    for (const char c : text) {
      switch (c) {
        case '&': out_ += "&amp;"; break;
        case '<': out_ += "&lt;"; break;
        case '>': out_ += "&gt;"; break;
        case '"': out_ += "&quot;"; break;
        default: out_ += c;
      }
    }
    return *this;
  }
  // " x=.. y=.. width=.. height=..": from the left end to the right end, in hundredths.
  svg_writer& box(std::int64_t left, std::int64_t right, double top, double height) {
    out_ += " x=\"";
    put(left);
    *this << "\" y=\"" << top << "\" width=\"";
    put(right - left);
    return *this << "\" height=\"" << height << "\"";
  }
  svg_writer& box(double left, double top, double width, double height) {
    return box(hundredths(left), hundredths(left + width), top, height);
  }
  svg_writer& words(double x, double y, std::string_view kind, std::string_view text) {
    *this << "<text class=\"" << kind << "\" x=\"" << x << "\" y=\"" << y << "\">";
    return escaped(text) << "</text>";
  }

 private:
  void put(std::int64_t value) {
    if (value < 0) out_ += '-';
    value = value < 0 ? -value : value;
    *this << value / 100;
    if (value % 100 == 0) return;
    out_ += '.';
    out_ += static_cast<char>('0' + value / 10 % 10);
    if (value % 10 != 0) out_ += static_cast<char>('0' + value % 10);
  }

  std::string out_;
};

}  // namespace detail
}  // namespace motet
