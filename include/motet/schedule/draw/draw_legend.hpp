// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/draw/draw_colours.hpp>
#include <motet/schedule/draw/draw_names.hpp>
#include <motet/schedule/draw/svg_writer.hpp>

// The last lines of a drawing say what its colours mean.
namespace motet {
namespace detail {

// pixels of a letter and a line, at a size of 11
inline constexpr double legend_letter = 6.7, legend_line = 18;

// Voice v may be the first of its module, and that module the first of its colour.
inline bool names_colour(const program& of, std::int32_t v) {
  if (of.voices[v].module >= look::hues) return false;
  for (std::int32_t u = 0; u < v; ++u)
    if (of.voices[u].module == of.voices[v].module) return false;
  return true;
}

// Says what the colours of a picture mean, in a line for each module, and one for joins, which belong to
// none. Lines that are too long are broken. Returns the height.
inline double put_legend(svg_writer& out, const program& of, const drawn_names& names, const looks& shown,
                         double left, double width) {
  double indent = left, x = left, y = 0;
  const auto entry = [&](look kind, std::string_view words) {
    const double wide = 36 + legend_letter * static_cast<double>(words.size());
    if (x > indent && x + wide > left + width) {
      x = indent;
      y += legend_line;
    }
    const bool thin = is_transfer(kind.what);
    out << "<rect rx=\"2\" fill=\"" << kind.colour() << "\"";
    out.box(x, y + (thin ? 5 : 1), 16, thin ? 3 : 11) << "/>";
    out.words(x + 22, y + 10.5, "n", words);
    x += wide;
  };
  const auto name_of_line = [&](std::int32_t v) {
    return legend_letter * static_cast<double>(letters_in(names.module(v)));
  };
  for (std::int32_t v = 0; v < of.voices.size(); ++v)
    if (names_colour(of, v) && name_of_line(v) > 0 && left + name_of_line(v) + 16 > indent)
      indent = left + name_of_line(v) + 16;
  for (std::int32_t v = 0; v < of.voices.size(); ++v) {
    if (!names_colour(of, v)) continue;
    if (v > 0) y += legend_line;
    x = indent;
    if (indent > left) out.words(left, y + 10.5, "h", names.module(v));
    for (int what = 0; what < op_count; ++what) {
      const look kind(of.voices[v].module, static_cast<op>(what), 0, 1);
      if (kind.what != static_cast<op>(what) || kind.what == op::join || !shown.has_any_level(kind)) continue;
      entry(kind, kind.what == op::send_forward    ? "rows"
                  : kind.what == op::send_backward ? "gradients"
                                                   : words_of(kind.what));
    }
  }
  if (const look join(0, op::join, 0, 1); shown.has(join)) {
    if (of.voices.size() > 1) {
      x = left;
      y += legend_line;
    }
    entry(join, "join");
  }
  return y + legend_line;
}

}  // namespace detail
}  // namespace motet
