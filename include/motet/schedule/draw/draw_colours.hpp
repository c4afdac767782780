// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/instruction.hpp>

#include <cmath>
#include <string>

// Colours of drawings: a hue for each module, a shade for each operation.

namespace motet {
namespace detail {

// "#rrggbb" of a colour in Oklch (Ottosson, 2020), where equal lightness looks equally light whatever the
// hue.
inline std::string hex_colour(double light, double chroma, double hue) {
  const double a = chroma * std::cos(hue * 0.017453292519943295),
               b = chroma * std::sin(hue * 0.017453292519943295);
  const auto cube = [](double x) { return x * x * x; };
  const double l = cube(light + 0.3963377774 * a + 0.2158037573 * b),
               m = cube(light - 0.1055613458 * a - 0.0638541728 * b),
               s = cube(light - 0.0894841775 * a - 1.2914855480 * b);
  const double linear[] = {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
                           -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
                           -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
  std::string out = "#";
  for (const double each : linear) {
    const double inside = each < 0 ? 0 : each > 1 ? 1 : each;
    const auto byte =
        std::lround(255 * (inside <= 0.0031308 ? 12.92 * inside : 1.055 * std::pow(inside, 1 / 2.4) - 0.055));
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

// Kinds that look alike have one number.
struct look {
  static constexpr int hues = 8, levels = 4;
  static constexpr int count = hues * op_count * levels;

  int hue = 0;
  op what = op::forward;
  int level = 0;  // lighter for later chunks of a rank

  constexpr look() = default;
  constexpr look(int module, op of, int chunk, int chunks)
      : hue(of == op::join ? 0 : module % hues),
        what(family(of)),
        level(chunks > 1 && is_compute(of) ? chunk * (levels - 1) / (chunks - 1) : 0) {}
  constexpr explicit look(int number)
      : hue(number / levels / op_count),
        what(static_cast<op>(number / levels % op_count)),
        level(number % levels) {}
  constexpr int number() const { return (hue * op_count + static_cast<int>(what)) * levels + level; }

  std::string colour() const {
    if (what == op::join) return hex_colour(0.6, 0.21, 12);
    constexpr double angles[hues] = {255, 60, 155, 310, 205, 100, 345, 280};
    const shade own = shade_of(what);
    return hex_colour(own.light + 0.035 * level, own.chroma * (1 - 0.05 * level), angles[hue]);
  }
  // Text on it is white where this holds.
  constexpr bool dark() const { return what == op::join || shade_of(what).light + 0.035 * level < 0.6; }

 private:
  struct shade {
    double light, chroma;
  };
  static constexpr shade shade_of(op of) {
    switch (of) {
      case op::forward: return {0.77, 0.105};
      case op::forward_only: return {0.9, 0.05};
      case op::re_forward: return {0.68, 0.13};
      case op::backward: return {0.55, 0.14};
      case op::backward_input: return {0.61, 0.14};
      case op::backward_weight: return {0.43, 0.11};
      case op::send_forward: return {0.75, 0.09};
      case op::send_backward: return {0.5, 0.12};
      case op::optimizer_step: return {0.3, 0.05};
      case op::reduce_gradient: return {0.4, 0.05};
      case op::gather_parameters: return {0.5, 0.05};
      default: return {0.62, 0.05};
    }
  }
  // Messages differ by direction alone.
  static constexpr op family(op of) {
    return !is_transfer(of) ? of : of >= op::send_backward ? op::send_backward : op::send_forward;
  }
};

// The looks that a picture shows.
class looks {
 public:
  void add(look kind) { shown_[kind.number()] = true; }
  bool has(look kind) const { return shown_[kind.number()]; }
  bool has_any_level(look kind) const {
    for (kind.level = 0; kind.level < look::levels; ++kind.level)
      if (has(kind)) return true;
    return false;
  }

 private:
  bool shown_[look::count] = {};
};

}  // namespace detail
}  // namespace motet
