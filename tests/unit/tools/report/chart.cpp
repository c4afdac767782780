// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/report/chart.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}
}  // namespace

TEST_CASE("a chart is one well-formed drawing, whatever the numbers") {
  const chart_points cases[] = {{},
                                {{1, 2}},
                                {{1, 3}, {2, 3}},
                                {{1, NAN}, {2, 1}, {3, INFINITY}},
                                {{1, -1e30}, {2, 1e30}},
                                {{1, 1e-30}, {2, 2e-30}}};
  for (const chart_points& each : cases) {
    const std::string svg = chart_svg({{each}}, {"a < b", "y"});
    CHECK(svg.starts_with("<svg"));
    CHECK(svg.ends_with("</svg>"));
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("inf") == std::string::npos);
    CHECK(count(svg, "<text") < 40);
    CHECK(svg.find("a &lt; b") != std::string::npos);
  }
}

TEST_CASE("a long run becomes a short line that keeps its ends' values") {
  chart_points many;
  for (int i = 0; i < 100000; ++i) many.emplace_back(i, i < 50000 ? 1 : 0);
  CHECK(chart_svg({{many}}, {"t", "y"}).size() < 20000);
  const chart_points few = detail::thinned(many, 100);
  CHECK(few.size() == 100);
  CHECK(few.front().second == 1);
  CHECK(few.back().second == 0);
  CHECK(detail::smoothed(few).size() == few.size());
}

TEST_CASE("a curve's first point is where the axes say") {
  const std::string svg = chart_svg({{.points = {{0, 0}, {10, 1}}, .dots = true}},
                                    {.title = "t", .y = "y", .low = 0, .high = 1, .percent = true});
  CHECK(svg.find("points=\"56.0,242.0 626.0,16.0 \"") != std::string::npos);
  CHECK(svg.find(">100%<") != std::string::npos);
  CHECK(count(svg, "<circle") == 2);
}

TEST_CASE("several curves share the axes, and each has its colour and its name") {
  const std::string svg = chart_svg({{.points = {{0, 0}, {5, 1}}, .name = "one & all"},
                                     {.points = {}, .name = "nothing"},
                                     {.points = {{5, 1}, {10, 2}}, .name = "other", .smooth = true}},
                                    {.title = "t", .y = "y"});
  CHECK(svg.find("class=\"curve\" points=\"56.0,242.0 341.0,129.0 \"") != std::string::npos);
  CHECK(svg.find("class=\"curve series2\" points=\"341.0,129.0 626.0,16.0 \"") != std::string::npos);
  CHECK(svg.find("class=\"faint series2\"") != std::string::npos);
  CHECK(svg.find(">one &amp; all<") != std::string::npos);
  CHECK(svg.find(">other<") != std::string::npos);
  CHECK(svg.find("nothing") == std::string::npos);
}
