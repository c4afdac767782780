// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/data_folder.hpp>

#include "unit/tools/data_folders.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a folder of pairs, with the vocabulary beside them") {
  const scratch folder;
  write_pairs(folder, "train-000.tar", 0, 12);
  const data_wishes wishes{.data = folder.path().string(), .batch = 4, .seed = 3, .flip = false};
  CHECK(code_of([&] { data_folder(wishes, pair_shape()); }) == data_unreadable.code);
  write_vocabulary(folder);
  const data_folder found(wishes, pair_shape());
  CHECK(found.size() == 12);
  CHECK_FALSE(found.has_pieces());
  CHECK_FALSE(found.has_classes());
  CHECK(found.most_pictures() == 1);
  CHECK(found.some_picture().height == 8);
  CHECK(found.config().batch == 4);
  CHECK(found.config().example.image == 8);
  CHECK_FALSE(found.config().augment->flip);
  CHECK(found.describe() == "12 pairs in " + folder.path().string());
  data_wishes greedy = wishes;
  greedy.batch = 13;
  CHECK(code_of([&] { data_folder(greedy, pair_shape()); }) == batch_too_large.code);
  sample_shape few = pair_shape();
  few.vocabulary = 20;
  CHECK(code_of([&] { data_folder(wishes, few); }) == vocabulary_mismatch.code);
}

TEST_CASE("samples of any pieces, whose texts teach a vocabulary where there is none") {
  const scratch folder;
  write_mixed(folder, "train-000.tar", 0, 10);
  const data_wishes wishes{.data = folder.path().string(), .batch = 4};
  data_folder found(wishes, piece_shape());
  CHECK(found.has_pieces());
  CHECK(found.size() == 10);
  CHECK(found.pictures() == 10);
  CHECK(found.most_pictures() == 2);
  CHECK(found.describe().ends_with("which has no tokenizer.json: its texts taught one"));
  CHECK(found.words().size() <= 300);
  CHECK(found.vocabulary_fingerprint() == data_folder(wishes, piece_shape()).vocabulary_fingerprint());
  write_vocabulary(folder);
  CHECK(data_folder(wishes, piece_shape()).vocabulary_fingerprint() != found.vocabulary_fingerprint());
}

TEST_CASE("a model that draws wants pictures") {
  const scratch folder;
  write_file(folder / "train.jsonl", "{\"pieces\": [{\"given\": \"well?\"}, {\"asked\": \"yes\"}]}\n");
  write_vocabulary(folder);
  sample_shape draws = piece_shape();
  draws.least_pictures = 1;
  const data_wishes wishes{.data = folder.path().string(), .batch = 1};
  CHECK(data_folder(wishes, piece_shape()).sample_config().sample.least_pictures == 0);
  CHECK_THROWS_WITH_AS(data_folder(wishes, draws),
                       doctest::Contains("has more than 0, model \"pieces\" wants 1"), error);
  write_mixed(folder, "train-000.tar", 0, 5);
  CHECK(data_folder(wishes, draws).sample_config().sample.least_pictures == 1);
}
