// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/held_out/validation.hpp>

#include "unit/tools/data_folders.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("the loss of a few held-out samples is the mean of batches as training has them") {
  for (const sample_shape& shape : {pair_shape(), piece_shape()}) {
    CAPTURE(shape.pieces);
    const scratch folder;
    for (const char* name : {"train.tar", "test.tar"}) {
      if (shape.pieces) write_mixed(folder, name, 0, 10);
      else write_pairs(folder, name, 0, 10);
    }
    write_vocabulary(folder);
    data_folder from({.data = folder.path().string(), .batch = 4}, shape);
    plain_model model(from.words());
    const validation some(from, 4);
    CHECK(some.samples() == 8);
    CHECK(some.loss(model) == 1.5);  // of losses 1 and 2
    CHECK(model.seen == std::vector<motet::isize>{4, 4});
    CHECK(validation(from, 100).samples() == 10);
  }
}
