// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/held_out/open_held_out.hpp>

#include "unit/tools/data_folders.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("without files that are held out there is no test") {
  const scratch folder;
  write_pairs(folder, "train-000.tar", 0, 4);
  write_vocabulary(folder);
  data_folder from({.data = folder.path().string(), .batch = 4}, pair_shape());
  CHECK(open_held_out(from, plain_model::width) == nullptr);
  write_pairs(folder, "test.tar", 4, 4);
  CHECK(open_held_out(from, plain_model::width)->size() == 4);
}

TEST_CASE("what is tested follows from what the model reads") {
  const scratch folder;
  write_mixed(folder, "train-000.tar", 0, 5);
  write_mixed(folder, "test-000.tar", 0, 10);
  write_vocabulary(folder);
  const data_wishes wishes{.data = folder.path().string(), .batch = 4};
  data_folder said(wishes, piece_shape());
  CHECK(open_held_out(said, 0)->size() == 6);
  sample_shape draws = piece_shape();
  draws.least_pictures = 1;
  data_folder drawn(wishes, draws);
  CHECK(open_held_out(drawn, 0)->size() == 8);
}
