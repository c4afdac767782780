// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/csv/csv_cells.hpp>

#include <doctest/doctest.h>

#include <vector>

using motet::op;
using motet::detail::csv_lexer;

namespace {

std::vector<std::vector<std::string>> rows_of(std::string_view text) {
  std::vector<std::vector<std::string>> rows;
  csv_lexer lexer(text);
  while (lexer.next_row()) {
    rows.emplace_back();
    while (lexer.next_cell()) {
      rows.back().emplace_back(lexer.cell());
      CHECK(lexer.row() == static_cast<int>(rows.size()));
      CHECK(lexer.column() == static_cast<int>(rows.back().size()));
    }
    CHECK_FALSE(lexer.next_cell());
  }
  return rows;
}
using table = std::vector<std::vector<std::string>>;

}  // namespace

TEST_CASE("rows and cells are those of Python's csv module") {
  CHECK(rows_of("") == table{});
  CHECK(rows_of("a,b\r\nc\r\n") == table{{"a", "b"}, {"c"}});
  CHECK(rows_of("a,b\nc") == table{{"a", "b"}, {"c"}});
  CHECK(rows_of("a\rb\r") == table{{"a"}, {"b"}});
  CHECK(rows_of(",a,,\n") == table{{"", "a", "", ""}});
  CHECK(rows_of("a\n\nb\n") == table{{"a"}, {}, {"b"}});
  CHECK(rows_of("\n\n") == table{{}, {}});
  CHECK(rows_of(" a\t, b ") == table{{"a", "b"}});
}

TEST_CASE("quoted cells") {
  CHECK(rows_of("\"(0F7;7B3)OVERLAP_F_B\",\"\"\r\n\"\"") == table{{"(0F7;7B3)OVERLAP_F_B", ""}, {""}});
  CHECK(rows_of("\"a,\"\"b\"\"\r\nc\",d") == table{{"a,\"b\"\r\nc", "d"}});
  CHECK(rows_of("\" a \"") == table{{" a "}});
  CHECK_THROWS_WITH_AS(rows_of("a\nb,\"c"), doctest::Contains("row 2, column 2: got \"\"c\""), motet::error);
  CHECK_THROWS_WITH_AS(rows_of("\"a\"b"), doctest::Contains("[MT-P57]"), motet::error);
}

TEST_CASE("what is shown of a cell is short and can be printed") {
  CHECK(motet::detail::csv_shown("0F7") == "\"0F7\"");
  CHECK(motet::detail::csv_shown(std::string_view("\x00\xff\n", 3)) == "\"\\x00\\xff\\x0a\"");
  CHECK(motet::detail::csv_shown(std::string(50, 'x')) == "\"" + std::string(40, 'x') + "...\"");
}

TEST_CASE("every operation has one word, and torch reads none of ours as its own") {
  using namespace motet::detail;
  for (int i = 0; i < motet::op_count; ++i) CHECK(csv_word_of(static_cast<op>(i)).what == static_cast<op>(i));
  for (const csv_word& each : csv_words) {
    CHECK(find_csv_word(each.text) == &each);
    // torch takes the first word that fits at the front, so ours must not begin with one of its words.
    for (const csv_word& other : csv_words)
      CHECK_FALSE((!each.torch && other.torch && each.text.starts_with(other.text)));
  }
  CHECK(find_csv_word("SEND") == nullptr);
  CHECK_FALSE(csv_word_of(op::reduce_gradient).has_microbatch());
  CHECK_FALSE(csv_word_of(op::optimizer_step).has_microbatch());
  CHECK(csv_word_of(op::join).has_microbatch());
  CHECK(csv_word_of(op::load).has_microbatch());
}
