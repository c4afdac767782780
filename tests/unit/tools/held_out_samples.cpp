// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/held_out_samples.hpp>

#include <motet/tools/open_held_out.hpp>

#include "data_folders.hpp"

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
