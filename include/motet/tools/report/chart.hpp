// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace motet {

using chart_points = std::vector<std::pair<double, double>>;

inline std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

namespace detail {

// 1, 2 or 5 times a power of ten: about `count` of them between low and high.
inline double tick_step(double low, double high, int count) {
  const double rough = (high - low) / count;
  if (!(rough > 0)) return 1;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

inline std::string number_text(double value) {
  char out[32];
  std::snprintf(out, sizeof out, std::fabs(value) >= 1e5 ? "%.3g" : "%.6g",
                std::fabs(value) < 1e-12 ? 0.0 : value);
  return out;
}

// At most `most` points stay: means of equal groups, so that a long run stays a small page.
inline chart_points thinned(const chart_points& from, std::size_t most) {
  if (from.size() <= most) return from;
  chart_points out;
  for (std::size_t i = 0; i < most; ++i) {
    const std::size_t first = from.size() * i / most, last = from.size() * (i + 1) / most;
    double x = 0, y = 0;
    for (std::size_t k = first; k < last; ++k) x += from[k].first, y += from[k].second;
    const auto count = static_cast<double>(last - first);
    out.emplace_back(x / count, y / count);
  }
  return out;
}
inline chart_points smoothed(const chart_points& from) {
  const auto reach = static_cast<std::ptrdiff_t>(from.size() / 40);
  chart_points out;
  for (std::ptrdiff_t i = 0; i < std::ssize(from); ++i) {
    const auto own = std::min({reach, i, std::ssize(from) - 1 - i});
    double sum = 0;
    for (std::ptrdiff_t k = i - own; k <= i + own; ++k) sum += from[as_size(k)].second;
    out.emplace_back(from[as_size(i)].first, sum / static_cast<double>(2 * own + 1));
  }
  return out;
}

}  // namespace detail

// Series have as many colours; more begin again.
inline constexpr std::size_t chart_colours = 4;

struct chart_config {
  std::string title;
  std::string y;                 // what the vertical axis shows
  double low = NAN, high = NAN;  // of the vertical axis; from the points when not given
  bool percent = false;          // values from 0 to 1 are shown as percentages
};

// A curve of a chart.
struct chart_series {
  chart_points points;
  std::string name = {};  // told where a chart has several
  bool smooth = false;    // a thick smoothed line over the thin one
  bool dots = false;      // mark every point
};

// Curves over the same axes as inline SVG. Colours come from the page's style, one after the other.
inline std::string chart_svg(const std::vector<chart_series>& all, const chart_config& config) {
  constexpr double width = 640, height = 280, left = 56, right = 14, top = 16, bottom = 38;
  std::vector<chart_points> drawn;
  double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;
  for (const chart_series& each : all) {
    chart_points finite;
    for (const auto& at : each.points)
      if (std::isfinite(at.first) && std::isfinite(at.second)) finite.push_back(at);
    for (const auto& [x, y] : drawn.emplace_back(detail::thinned(finite, 600)))
      x0 = std::min(x0, x), x1 = std::max(x1, x), y0 = std::min(y0, y), y1 = std::max(y1, y);
  }
  std::string out =
      "<svg viewBox=\"0 0 640 280\" role=\"img\" aria-label=\"" + escape_html(config.title) + "\">";
  if (x1 < x0)
    return out + "<text x=\"320\" y=\"140\" class=\"tick\" text-anchor=\"middle\">no values</text></svg>";
  if (std::isfinite(config.low)) y0 = config.low;
  if (std::isfinite(config.high)) y1 = config.high;
  if (x1 <= x0) x0 -= 1, x1 += 1;
  const double y_step = detail::tick_step(y0, y1, 5), x_step = std::max(1.0, detail::tick_step(x0, x1, 7));
  if (!std::isfinite(config.low)) y0 = std::floor(y0 / y_step) * y_step;
  if (!std::isfinite(config.high)) y1 = std::ceil(y1 / y_step) * y_step;
  if (y1 <= y0) y1 = y0 + 1;
  const auto at_x = [&](double x) { return left + (x - x0) / (x1 - x0) * (width - left - right); };
  const auto at_y = [&](double y) {
    return height - bottom - (std::clamp(y, y0, y1) - y0) / (y1 - y0) * (height - top - bottom);
  };
  char text[200];
  for (double y = std::ceil(y0 / y_step) * y_step; y <= y1 + y_step * 1e-6; y += y_step) {
    std::snprintf(text, sizeof text, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
                  left, width - right, at_y(y), at_y(y));
    out += text;
    std::snprintf(text, sizeof text,
                  "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s%s</text>", left - 8,
                  at_y(y) + 4, detail::number_text(config.percent ? 100 * y : y).c_str(),
                  config.percent ? "%" : "");
    out += text;
  }
  for (double x = std::ceil(x0 / x_step) * x_step; x <= x1 + x_step * 1e-6; x += x_step) {
    std::snprintf(text, sizeof text,
                  "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>", at_x(x),
                  height - bottom + 18, detail::number_text(x).c_str());
    out += text;
  }
  std::snprintf(text, sizeof text,
                "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">step</text>",
                (left + width - right) / 2, height - 4);
  out += text;
  const auto line = [&](const chart_points& of, const std::string& kind) {
    out += "<polyline class=\"" + kind + "\" points=\"";
    for (const auto& [x, y] : of) {
      std::snprintf(text, sizeof text, "%.1f,%.1f ", at_x(x), at_y(y));
      out += text;
    }
    out += "\"/>";
  };
  double named = left + 8;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (drawn[i].empty()) continue;
    const std::string which = i == 0 ? "" : " series" + std::to_string(i % chart_colours);
    line(drawn[i], (all[i].smooth ? "faint" : "curve") + which);
    if (all[i].smooth) line(detail::smoothed(drawn[i]), "curve" + which);
    for (const auto& [x, y] : all[i].dots ? drawn[i] : chart_points{}) {
      std::snprintf(text, sizeof text,
                    "<circle class=\"dot%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"><title>step %s: "
                    "%s%s</title></circle>",
                    which.c_str(), at_x(x), at_y(y), detail::number_text(x).c_str(),
                    detail::number_text(config.percent ? 100 * y : y).c_str(), config.percent ? "%" : "");
      out += text;
    }
    if (all.size() == 1) continue;
    std::snprintf(text, sizeof text,
                  "<circle class=\"dot%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/><text class=\"tick\" x=\"%.1f\" "
                  "y=\"%.1f\">",
                  which.c_str(), named, top - 6, named + 8, top - 2);
    out += text + escape_html(all[i].name) + "</text>";
    named += 30 + 7.0 * static_cast<double>(all[i].name.size());
  }
  return out + "</svg>";
}

}  // namespace motet
