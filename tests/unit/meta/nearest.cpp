// SPDX-License-Identifier: Apache-2.0
#include <motet/meta/nearest.hpp>

#include <doctest/doctest.h>

#include <array>

using namespace motet;

namespace {

constexpr std::array<std::string_view, 3> names{"picture", "caption", "sound"};

}  // namespace

static_assert(letters_between("", "abc") == 3 && letters_between("abc", "") == 3 &&
              letters_between("", "") == 0);
static_assert(letters_between("kitten", "sitting") == 3 && letters_between("caption", "captoin") == 2);
static_assert(nearest("captoin", names) == "caption" && nearest("suond", names) == "sound");
static_assert(nearest("audio", names).empty());

TEST_CASE("who writes a name that there is not is told which there are, and the one that was meant") {
  CHECK(not_among("captoin", names).view() ==
        "captoin; there are picture, caption, sound; did you mean caption");
  CHECK(not_among("language", names).view() == "language; there are picture, caption, sound");
  CHECK(not_among("a", {}).view() == "a");
}
