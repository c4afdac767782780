// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/held_out/caption_test.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a sentence names what has all of its words, in any order and with endings") {
  CHECK(names_all("a photo of three Red stars, at the top", "red star"));
  CHECK(names_all("boxes, all green", "green box"));
  CHECK(names_all("anything", ""));
  CHECK_FALSE(names_all("a red starfish", "red star"));
  CHECK_FALSE(names_all("a blue star", "red star"));
  CHECK_FALSE(names_all("", "red"));
  CHECK_FALSE(names_all("redder star", "red star"));
  CHECK(names_all("ein grüner Kreis", "grüner kreis"));
}

TEST_CASE("right sentences and very captions are counted") {
  caption_result found;
  CHECK_EQ(found.accuracy(), 0);
  found.add("a red star", "red star", "A red star.");
  found.add("two red stars", "red star", "a red star");
  found.add("a ring", "red star", "a red star");
  found.add("a ring", "ring", "a ring ring");
  CHECK_EQ(found.pictures, 4);
  CHECK_EQ(found.right, 3);
  CHECK_EQ(found.exact, 1);
  CHECK_EQ(found.accuracy(), 0.75);
  CHECK_EQ(found.exact_share(), 0.25);
}
