// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/files/columns.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
std::string said(std::string_view text, double most = 10) {
  try {
    named_columns rows(text, "t.csv", {"name", "count"}, {"more"});
    while (rows.next()) rows.real(1, 0, most, "a number from 0 to 10");
  } catch (const error& problem) {
    return problem.what();
  }
  return "";
}
bool says(const std::string& text, const char* what) { return text.find(what) != std::string::npos; }
}  // namespace

TEST_CASE("columns stand in any order, and some may be left out") {
  named_columns rows("count,name\n3,a\n\n4,\"b,c\"\n", "t.csv", {"name", "count"}, {"more"});
  REQUIRE(rows.next());
  CHECK(rows.text(0) == "a");
  CHECK(rows.whole(1, 0, 9, "a digit") == 3);
  CHECK_FALSE(rows.has(2));
  CHECK(rows.text(2).empty());
  REQUIRE(rows.next());
  CHECK(rows.line() == 4);
  CHECK(rows.text(0) == "b,c");
  CHECK_FALSE(rows.next());
}

TEST_CASE("what does not fit is told with line and column, got and wanted") {
  CHECK(says(said(""), "is empty"));
  CHECK(says(said("name\n"), "no column count"));
  CHECK(says(said("name,cuont\n"), "did you mean count"));
  CHECK(says(said("name,name,count\n"), "a second time"));
  CHECK(says(said("name,count\na\n"), "line 2: got 1 cells, wanted 2"));
  CHECK(says(said("name,count\na,1\nb,x\n"),
             "t.csv, line 3, column count: got \"x\", wanted a number from 0 to 10"));
  for (const char* const bad : {"-1", "11", "1e9", "nan", "inf", "1 ", ""})
    CHECK(says(said(std::string("name,count\na,") + bad + "\n"), "[MT-J02]"));
  CHECK(said("name,count\na,1\n").empty());
}
