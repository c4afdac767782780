// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/words/lower_case.hpp>

using namespace motet;

namespace {
std::string lower(std::string_view text) {
  std::string out;
  append_lower_case(out, text);
  return out;
}
}  // namespace

TEST_CASE("Latin, Greek and Cyrillic capitals") {
  CHECK(lower("A Red CIRCLE, No. 7") == "a red circle, no. 7");
  CHECK(lower("ÀÖØÞ×ß÷ÿ") == "àöøþ×ß÷ÿ");
  CHECK(lower("ĀĂĮĲŁŊŶŸŹŽ") == "āăįĳłŋŷÿźž");
  CHECK(lower("ΑΩΣ") == "αωσ");
  CHECK(lower("АЯЁЉ") == "аяёљ");
  CHECK(lower("中文 😀 ı ĸ ŉ ſ") == "中文 😀 ı ĸ ŉ ſ");
}

TEST_CASE("bytes that are not UTF-8 stay as they are") {
  CHECK(lower("\xff"
              "A\xc3\xe4\xb8") ==
        "\xff"
        "a\xc3\xe4\xb8");
}
