// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <string>

// The rows of a floor's rules: each has a code of its own with the floor's letter, and its words have room.
template <class Table>
void check_rule_table(const Table& table, char letter) {
  std::set<std::string> codes;
  for (const motet::message& row : table) {
    CAPTURE(row.code);
    CHECK(codes.insert(row.code).second);
    CHECK(std::string(row.code).rfind(std::string("MT-") + letter, 0) == 0);
    // The compiler prints the sentence on one line with numbers around it.
    CHECK(std::strlen(row.sentence) <= 140);
    // The remedy has room beside the sentence in the compiler's text.
    CHECK(std::strlen(row.sentence) + std::strlen(row.remedy) <= 300);
  }
}
