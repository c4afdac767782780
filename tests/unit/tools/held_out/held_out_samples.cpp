// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/held_out/held_out_samples.hpp>

#include <motet/tools/held_out/open_held_out.hpp>

#include "unit/tools/data_folders.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("samples that end with a text that is asked for, by the pictures that they have") {
  const scratch folder;
  write_mixed(folder, "train-000.tar", 0, 5);
  write_mixed(folder, "test-000.tar", 0, 10);
  write_vocabulary(folder);
  data_folder from({.data = folder.path().string(), .batch = 4}, piece_shape());
  const auto test = open_held_out(from, 0);
  REQUIRE(test != nullptr);
  CHECK(test->size() == 6);
  plain_model model(from.words());
  const test_result found = test->test(model);
  CHECK(model.asked == 10);
  CHECK(found.captions.pictures == 6);
  CHECK(found.several.pictures == 2);
  CHECK(found.texts.pictures == 2);
  CHECK(found.captions.exact == 0);
  const auto shown = test->pictures_told(NAN);
  REQUIRE(shown.size() == 10);
  CHECK(shown[0].guesses[0].caption == "a picture");
  CHECK(shown[0].guesses[0].share == report_guess::alone);
  CHECK(test->note().starts_with("10 of 10 samples that training never saw"));
}

TEST_CASE("sounds that were never heard are counted apart from pictures, and shown as they are heard") {
  const scratch folder;
  write_heard(folder, "train-000.tar", 6);
  write_heard(folder, "test-000.tar", 9);
  write_vocabulary(folder);
  sample_shape hears = piece_shape();
  hears.heard = {.most = 2, .rows = 3, .bins = 6, .frames = 5};
  data_folder from({.data = folder.path().string(), .batch = 4}, hears);
  CHECK(from.describe().starts_with("6 samples with 2 pictures and 8 sounds in "));
  const auto test = open_held_out(from, 0);
  REQUIRE(test != nullptr);
  CHECK(test->size() == 3);
  plain_model model(from.words());
  const test_result found = test->test(model);
  CHECK(found.captions.pictures == 0);
  CHECK(found.sounds.pictures == 3);
  CHECK(found.several.pictures == 6);
  CHECK(model.sounds == 3 + 3 + 2 * 3);
  const auto* const samples = dynamic_cast<const held_out_samples*>(test.get());
  REQUIRE(samples != nullptr);
  const bitmap alone = samples->shot(0), both = samples->shot(3);
  CHECK(alone.width == 5);
  CHECK(alone.height == 6);
  CHECK(*std::min_element(alone.pixels.begin(), alone.pixels.end()) == 0);
  CHECK(*std::max_element(alone.pixels.begin(), alone.pixels.end()) == 255);
  CHECK(both.width == 9 + 4 + 5);
  json line(json::object{});
  add_shares(line, found);
  CHECK(line.find("sound_accuracy") != nullptr);
  CHECK(sentences_of(found, 7, 0).front().starts_with("sound accuracy 0.00 % after step 7 (0 of 3 held-out"));
}
