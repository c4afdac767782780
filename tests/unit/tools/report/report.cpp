// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/report/report.hpp>

#include <motet/format/files/file.hpp>

#include <unit/format/scratch.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a page is whole, closed and needs nothing from elsewhere") {
  const scratch folder;
  report_page page;
  page.title = "A <run>";
  page.headline = {{"97 %", "accuracy"}};
  page.charts = {{{"Loss", "loss"}, {{{{1, 2}, {2, 1}}}}}};
  page.sections = {{"blocks", 3}, {"loss", 1}};
  page.pictures = {
      {"data:image/png;base64,AAAA", "a & b", {{"a photo", 0.75, true}, {"no photo", 0.25, false}}}};
  page.facts = {{"machine", "this \"one\""}};
  write_report(folder / "report" / "index.html", page);
  const mapped_file file(folder / "report" / "index.html");
  const std::string text(file.text());
  CHECK(text.starts_with("<!doctype html>"));
  CHECK(text.ends_with("</html>\n"));
  CHECK(text.find("A &lt;run&gt;") != std::string::npos);
  CHECK(text.find("a &amp; b") != std::string::npos);
  CHECK(text.find("75.0%") != std::string::npos);
  CHECK(text.find("class=\"right\">a photo 75%") != std::string::npos);
  CHECK(text.find("http") == std::string::npos);
  CHECK(text.find("<script") == std::string::npos);
  for (const char* tag :
       {"div", "section", "ol", "li", "table", "tr", "td", "svg", "main", "body", "style", "text"}) {
    std::size_t opened = 0, closed = 0;
    for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
      const std::string name = text.substr(at + 1, text.find_first_of(" >", at) - at - 1);
      opened += name == tag ? 1 : 0;
      closed += name == std::string("/") + tag ? 1 : 0;
    }
    CAPTURE(tag);
    CHECK(opened == closed);
  }
  CHECK(folder.names("report").size() == 1);  // no temporary file is left
}
