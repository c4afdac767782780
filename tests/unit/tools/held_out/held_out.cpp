// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/held_out/held_out.hpp>

#include "unit/tools/data_folders.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE(
    "held-out pairs are looked for among each other, damaged ones drop out, and what is found is shown") {
  const scratch folder;
  write_pairs(folder, "train-000.tar", 0, 4);
  write_pairs(folder, "test-000.tar", 10, 9, [](motet::isize i, made_sample& made) {
    if (i == 12) made.picture.resize(40);
    if (i == 14) made.caption = "a picture of number 13";  // as another one is called
  });
  write_vocabulary(folder);
  data_folder from({.data = folder.path().string(), .batch = 4}, pair_shape());
  held_out_pairs test(from, plain_model::width);
  CHECK(test.size() == 9);
  plain_model model(from.words());
  const test_result found = test.test(model);
  CHECK(found.any());
  CHECK(found.classes.pictures == 0);
  CHECK(found.pairs.samples == 8);
  CHECK(test.size() == 8);
  CHECK(from.skips().count() == 1);
  // 13 and 14 have the same words: samples 2 and 3 by now.
  CHECK(test.is_right(2, 3));
  CHECK_FALSE(test.is_right(2, 4));
  CHECK(found.pairs.picture_share(2) == 1);  // among ten of eight
  const auto shown = test.pictures_told(10);
  REQUIRE(shown.size() == 8);
  CHECK(shown[0].source.starts_with("data:image/"));
  CHECK(shown[0].caption == "a picture of number 10");
  CHECK(shown[0].guesses.size() == 3);
  double sum = 0;
  for (const report_guess& each : test.best_captions(0, 10, 8)) sum += each.share;
  CHECK(sum == doctest::Approx(1));
  CHECK(test.note().starts_with(
      "8 of 8 pictures that training never saw, each with the three nearest of 8 held-out"));
}

TEST_CASE("where there are classes, only their pictures are asked, each for its class") {
  const scratch folder;
  write_pairs(folder, "train-000.tar", 0, 4);
  write_pairs(folder, "test-000.tar", 10, 4);
  write_vocabulary(folder);
  write_file(
      folder / "classes.json",
      R"({"classes": [{"name": "picture", "caption": "a picture"}, {"name": "two", "caption": "on the left"}],
                 "samples": {"pair10": 0, "pair12": 1, "pair13": 1}})");
  data_folder from({.data = folder.path().string(), .batch = 4}, pair_shape());
  held_out_pairs test(from, plain_model::width);
  CHECK(test.size() == 3);
  plain_model model(from.words());
  const test_result found = test.test(model);
  CHECK(found.classes.pictures == 3);
  CHECK(found.captions.pictures == 0);
  CHECK(test.answers() == 2);
  CHECK(test.answer(1) == "on the left");
  CHECK(test.is_right(1, 1));
  CHECK(test.note().find("one for each class") != std::string::npos);
  // One that says captions as well says "a picture" of each, which is what one of them is.
  model.heard = true;
  const test_result both = test.test(model);
  CHECK(both.classes.pictures == 3);
  CHECK(both.captions.pictures == 3);
  CHECK(both.captions.right == 1);
  CHECK(both.captions.exact == 0);
  CHECK(model.asked == 3);
  write_file(folder / "classes.json",
             R"({"classes": [{"name": "one", "caption": "a"}], "samples": {"none": 0}})");
  CHECK(code_of([&] { held_out_pairs(from, plain_model::width); }) == no_held_out.code);
}
