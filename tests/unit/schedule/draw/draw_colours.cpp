// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/draw/draw_colours.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <set>

using namespace motet;
using namespace motet::detail;

namespace {
// Relative luminance as accessibility rules define it.
double luminance(const std::string& colour) {
  double sum = 0;
  const double parts[] = {0.2126, 0.7152, 0.0722};
  for (std::size_t k = 0; k < 3; ++k) {
    const double value =
        static_cast<double>(std::strtol(colour.substr(1 + 2 * k, 2).c_str(), nullptr, 16)) / 255;
    sum += parts[k] * (value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4));
  }
  return sum;
}
double contrast(double a, double b) { return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05); }
}  // namespace

TEST_CASE("colours of known points") {
  CHECK(hex_colour(1, 0, 0) == "#ffffff");
  CHECK(hex_colour(0, 0, 0) == "#000000");
  CHECK(hex_colour(0.6279553606, 0.2576833077, 29.2338802) == "#ff0000");
  CHECK(hex_colour(0.8664396115, 0.2948272403, 142.4953389) == "#00ff00");
  CHECK(hex_colour(0.4520137184, 0.3132143717, 264.0520206) == "#0000ff");
}

TEST_CASE("looks have one number each, and come back from it") {
  for (int number = 0; number < look::count; ++number) CHECK(look(number).number() == number);
  CHECK(look(3, op::backward, 1, 2).level == look::levels - 1);
  CHECK(look(3, op::backward, 1, 4).level == 1);
  CHECK(look(3, op::send_forward, 1, 2).level == 0);
  CHECK(look(3, op::receive_replay, 0, 1).number() == look(3, op::send_forward, 0, 1).number());
  CHECK(look(3, op::receive_backward, 0, 1).number() == look(3, op::send_backward, 0, 1).number());
  CHECK(look(3, op::join, 0, 1).number() == look(5, op::join, 0, 1).number());
  CHECK(look(3, op::forward, 0, 1).number() == look(3 + look::hues, op::forward, 0, 1).number());
}

TEST_CASE("computations of eight modules look different, and their labels are readable") {
  std::set<std::string> colours;
  int count = 0;
  const double ink = luminance("#16202e");
  for (int module = 0; module < look::hues; ++module) {
    for (const op each : {op::forward, op::forward_only, op::re_forward, op::backward, op::backward_input,
                          op::backward_weight}) {
      for (int level = 0; level < look::levels; ++level) {
        look kind(module, each, 0, 1);
        kind.level = level;
        colours.insert(kind.colour());
        ++count;
        CHECK(contrast(luminance(kind.colour()), kind.dark() ? 1 : ink) > 3.6);
      }
    }
  }
  CHECK(static_cast<int>(colours.size()) == count);
}

TEST_CASE("a set of looks") {
  looks shown;
  const look later(2, op::forward, 1, 2), first(2, op::forward, 0, 2);
  shown.add(later);
  CHECK(shown.has(later));
  CHECK_FALSE(shown.has(first));
  CHECK(shown.has_any_level(first));
  CHECK_FALSE(shown.has_any_level(look(1, op::forward, 0, 1)));
}
