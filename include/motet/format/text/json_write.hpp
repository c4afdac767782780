// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json.hpp>
#include <motet/format/text/utf8.hpp>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <type_traits>

namespace motet {

inline void append_json_string(std::string& out, std::string_view text) {
  if (const std::size_t bad = utf8_first_bad(text); bad != std::string_view::npos) {
    fail(json_not_text, sentence({"byte ", bad, " of \"", std::string(text.substr(0, bad)), "\"..."}));
  }
  constexpr char digits[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += digits[static_cast<unsigned char>(c) >> 4];
          out += digits[static_cast<unsigned char>(c) & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

namespace detail {

template <class Number>
void append_json_number(std::string& out, Number value) {
  char buffer[32];
  const auto [end, failed] = std::to_chars(buffer, buffer + sizeof buffer, value);
  const std::string_view text(buffer, end);
  out += text;
  // A real number stays one when it is read again.
  if constexpr (std::is_floating_point_v<Number>) {
    if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
  }
}

inline void append_json(std::string& out, const json& value, int indentation, int depth) {
  const auto new_line = [&](int level) {
    if (indentation <= 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(indentation * level), ' ');
  };
  value.visit([&](const auto& held) {
    using held_type = std::remove_cvref_t<decltype(held)>;
    if constexpr (std::is_same_v<held_type, std::nullptr_t>) {
      out += "null";
    } else if constexpr (std::is_same_v<held_type, bool>) {
      out += held ? "true" : "false";
    } else if constexpr (std::is_same_v<held_type, double>) {
      if (std::isfinite(held)) {
        append_json_number(out, held);
      } else {
        out += "null";
      }
    } else if constexpr (std::is_same_v<held_type, std::string>) {
      append_json_string(out, held);
    } else if constexpr (std::is_same_v<held_type, json::array>) {
      out += '[';
      bool first = true;
      for (const json& item : held) {
        if (!first) out += indentation > 0 ? "," : ", ";
        first = false;
        new_line(depth + 1);
        append_json(out, item, indentation, depth + 1);
      }
      if (!held.empty()) new_line(depth);
      out += ']';
    } else if constexpr (std::is_same_v<held_type, json::object>) {
      out += '{';
      bool first = true;
      for (const json::member item : held) {
        if (!first) out += indentation > 0 ? "," : ", ";
        first = false;
        new_line(depth + 1);
        append_json_string(out, item.name);
        out += ": ";
        append_json(out, item.value, indentation, depth + 1);
      }
      if (!held.empty()) new_line(depth);
      out += '}';
    } else {
      append_json_number(out, held);
    }
  });
}

}  // namespace detail

// On one line, or with `indentation` spaces for each level. Real numbers take the fewest digits that read
// back to the same value; NaN and infinities, which JSON does not have, become null.
// Asks for: texts in UTF-8.
// Memory: the text.
// Errors: MT-F03
// Example:
//   const std::string text = write_json({{"batch", 64}}, 2);
inline std::string write_json(const json& value, int indentation = 0) {
  std::string out;
  detail::append_json(out, value, indentation, 0);
  return out;
}

}  // namespace motet
