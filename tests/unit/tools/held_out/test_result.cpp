// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/held_out/test_result.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("what a test found is told as shares by name, and in sentences") {
  test_result found;
  CHECK_FALSE(found.any());
  CHECK(sentences_of(found, 1, 0).empty());
  found.classes.pictures = 8;
  found.classes.right = 2;
  found.pairs.samples = 10;
  found.pairs.pictures = {1, 5, 10};
  found.pairs.captions = {2, 4, 6};
  CHECK(found.any());
  json line;
  add_shares(line, found);
  CHECK(line.at("zero_shot_accuracy").number() == 0.25);
  CHECK(line.at("caption_within_5").number() == 0.5);
  CHECK(line.at("picture_within_1").number() == 0.2);
  CHECK(line.find("caption_accuracy") == nullptr);
  const auto told = sentences_of(found, 20, 3);
  REQUIRE(told.size() == 2);
  CHECK(told[0] == "zero-shot accuracy 25.00 % after step 20 (2 of 8 held-out pictures, 3 classes)");
  CHECK(told[1] ==
        "own caption among the first 1, 5, 10: 10.0, 50.0, 100.0 %; own picture: 20.0, 40.0, 60.0 % (of 10, "
        "step 20)");
}

TEST_CASE("what a model draws") {
  test_result found;
  found.drawings = {3, {2, 1, 0}};
  CHECK(found.any());
  json line;
  add_shares(line, found);
  CHECK(line.at("drawn_nearer").number() == 0.5);
  const auto told = sentences_of(found, 7, 0);
  REQUIRE(told.size() == 1);
  CHECK(told[0].find("50.00 % nearer to the colour of their own picture") != std::string::npos);
}

TEST_CASE("what a model says about pictures, about several, and about none") {
  test_result found;
  found.captions.add("a red circle", "red circle", "a red circle");
  found.captions.add("a blue square", "red circle", "a red circle");
  found.texts.add("yes", "yes", "yes");
  json line;
  add_shares(line, found);
  CHECK(line.at("caption_accuracy").number() == 0.5);
  CHECK(line.at("caption_exact").number() == 0.5);
  CHECK(line.at("text_exact").number() == 1);
  CHECK(line.find("several_exact") == nullptr);
  const auto told = sentences_of(found, 7, 0);
  REQUIRE(told.size() == 2);
  CHECK(told[0].find("caption accuracy 50.00 % after step 7 (1 of 2 held-out pictures") == 0);
  CHECK(told[1].find("100.00 % of 1 held-out samples of text alone") != std::string::npos);
}
