// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/draw/svg_writer.hpp>

#include <doctest/doctest.h>

using motet::detail::svg_writer;

namespace {
std::string pixels(double value) {
  svg_writer out;
  out << value;
  return out.text();
}
}  // namespace

TEST_CASE("lengths have two decimals at most") {
  CHECK(pixels(0) == "0");
  CHECK(pixels(12) == "12");
  CHECK(pixels(1.5) == "1.5");
  CHECK(pixels(1.05) == "1.05");
  CHECK(pixels(-0.256) == "-0.26");
  CHECK(pixels(-0.001) == "0");
  CHECK(pixels(1234567.891) == "1234567.89");
}

TEST_CASE("whole numbers, text and names") {
  svg_writer out;
  out << 7 << " " << std::int64_t{-12} << " " << std::string("x");
  out.escaped("<a & \"b\">'");
  CHECK(out.text() == "7 -12 x&lt;a &amp; &quot;b&quot;&gt;'");
}

TEST_CASE("boxes that touch share an edge") {
  svg_writer out;
  for (int i = 0; i < 3; ++i)
    out.box(svg_writer::hundredths(10 * i / 3.0), svg_writer::hundredths(10 * (i + 1) / 3.0), 2, 4);
  CHECK(out.text() ==
        " x=\"0\" y=\"2\" width=\"3.33\" height=\"4\" x=\"3.33\" y=\"2\" width=\"3.34\" height=\"4\" "
        "x=\"6.67\" y=\"2\" width=\"3.33\" height=\"4\"");
  svg_writer words;
  words.words(1, 2.25, "n e", "a<b");
  CHECK(words.text() == "<text class=\"n e\" x=\"1\" y=\"2.25\">a&lt;b</text>");
}
