// SPDX-License-Identifier: Apache-2.0
#include <motet/meta/short_text.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <type_traits>

using namespace motet;

namespace {

constexpr short_text of_number(motet::isize number) {
  short_text out;
  out += number;
  return out;
}

struct sentence_of_names {
  static constexpr short_text value =
      std::string_view("captoin; there are picture, caption; did you mean caption");
};

}  // namespace

static_assert(of_number(0).view() == "0" && of_number(-70).view() == "-70" &&
              of_number(1205).view() == "1205");
static_assert(of_number(std::numeric_limits<motet::isize>::min()).view() == "-9223372036854775808");
// A computed static_assert asks these of its message.
static_assert(std::is_convertible_v<decltype(short_text().data()), const char*>);
static_assert(std::is_convertible_v<decltype(short_text().size()), std::size_t>);

constexpr bool pieces_are_words() {
  return pieces("") == 0 && pieces("a") == 1 && pieces(sentence_of_names::value.view()) == 2 &&
         piece_of<sentence_of_names, 0>().view() == "captoin; there are picture," &&
         piece_of<sentence_of_names, 1>().view() == "caption; did you mean caption";
}
static_assert(pieces_are_words());
TEST_CASE("a text in pieces, as an argument of a template each") { CHECK(pieces_are_words()); }

TEST_CASE("the pieces of a text are all of its words, and short") {
  for (const std::size_t room : {5u, 8u, 32u})
    for (const std::string text :
         {"one two three", "averylongwordthatfitsnopiece", "a bb ccc dddd eeeee ffffff", "ends "}) {
      std::string joined;
      std::size_t number = 0;
      for (std::size_t begin = 0; begin < text.size(); begin = piece_begin(text, number, room)) {
        const std::size_t end = piece_begin(text, ++number, room);
        REQUIRE(end > begin);
        CHECK(end - begin <= room + 1);
        joined += text.substr(begin, end - begin);
      }
      CHECK(joined == text);
    }
}

TEST_CASE("what is beyond the room of a text is left out") {
  short_text out(std::string(short_text::most - 1, 'x'));
  out += "yz";
  CHECK(out.size() == short_text::most);
  CHECK(out.view().back() == 'y');
}
