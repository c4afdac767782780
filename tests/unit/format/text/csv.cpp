// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/format/text/csv.hpp>

#include <fuzz/data_targets.hpp>
#include <fuzz/mutate.hpp>
#include <unit/data/pairs.hpp>

using namespace motet;
using row = std::vector<std::string>;

static std::vector<row> rows_of(std::string_view text, char separator = ',') {
  csv_rows from(text, "t.csv", separator);
  std::vector<row> out;
  for (row cells; from.next(cells);) out.push_back(cells);
  return out;
}

TEST_CASE("cells, quotes, line ends") {
  CHECK(rows_of("a,b\n1,2\n") == std::vector<row>{{"a", "b"}, {"1", "2"}});
  CHECK(rows_of("\xef\xbb\xbf"
                "a,b\r\n\r\n,\r\nx") == std::vector<row>{{"a", "b"}, {"", ""}, {"x"}});
  CHECK(rows_of("\"one, two\",\"say \"\"hi\"\"\"\n\"two\nlines\",\"\"\n") ==
        std::vector<row>{{"one, two", "say \"hi\""}, {"two\nlines", ""}});
  CHECK(rows_of("a \"quoted\" word,b") == std::vector<row>{{"a \"quoted\" word", "b"}});
  CHECK(rows_of("a;b,c\n", ';') == std::vector<row>{{"a", "b,c"}});
  // With tabs a quote is a letter.
  CHECK(rows_of("\"a\tb\" c\n", '\t') == std::vector<row>{{"\"a", "b\" c"}});
  CHECK(rows_of("a,").back() == row{"a", ""});
  CHECK(rows_of("").empty());
  CHECK(rows_of("\"\"") == std::vector<row>{{""}});
}

TEST_CASE("rows know the lines they begin in; faults are named by line and cell") {
  csv_rows from("a\n\"b\nc\"\n\nd\n", "t.csv");
  row cells;
  std::vector<motet::isize> lines;
  while (from.next(cells)) lines.push_back(from.line());
  CHECK(lines == std::vector<motet::isize>{1, 2, 5});
  const auto said = [](std::string_view text) {
    try {
      rows_of(text);
    } catch (const error& problem) {
      return std::string(problem.what());
    }
    return std::string();
  };
  CHECK(said("a\nb,\"c\nd").find("t.csv, line 2, cell 2: the quote that begins here is not closed") !=
        std::string::npos);
  CHECK(said("a\n\"b\"c").find("t.csv, line 2, cell 1: something follows the closing quote") !=
        std::string::npos);
}

TEST_CASE("what csv_cell writes is read as it was; mutations are read or refused") {
  std::string text;
  std::vector<row> wanted;
  for (const char* each : {"", "a,b", "\"", "\"\"", "x\ny", "\r\n", "plain"}) {
    text += csv_cell(each) + "," + csv_cell("2") + "\n";
    wanted.push_back({each, "2"});
  }
  CHECK(rows_of(text) == wanted);
  int refused = 0;
  for (std::uint64_t run = 0; run < 5000; ++run)
    refused += fuzz_listing(mutated({text}, run), ".csv") ? 0 : 1;
  CHECK(refused > 100);
}
