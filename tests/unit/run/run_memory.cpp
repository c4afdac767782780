// SPDX-License-Identifier: Apache-2.0
#include <motet/run/run_memory.hpp>

#include "run_parts.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("memory is that of all ranks here and of the data on its way") {
  const run_settings s = settings_of({"--data", "random", "--batch", "3"});
  scripted_session model(s.request());
  const run_memory random = memory_of_run(model, s, nullptr);
  CHECK(random.training.stages.weights == 800);
  CHECK(random.training.work == 60);
  CHECK(random.training.total() == 2 * (400 + 100 + 30 + 2 * 5));
  CHECK(random.data == random_feed::bytes(3, pair_shape()));
  // Samples in another order are a copy of the batch.
  const run_settings ordered = settings_of({"--batch", "3", "--reorder", "all"}, speaking_program());
  CHECK(memory_of_run(model, ordered, nullptr).data == 2 * random.data);

  const scratch folder;
  write_pairs(folder, "train-000.tar", 0, 10);
  write_vocabulary(folder);
  const data_folder from({.data = folder.path().string(), .batch = 3}, pair_shape());
  const run_memory read = memory_of_run(model, s, &from);
  const motet::isize batch =
      3 * (packed_room(8) + 2 * 16 * static_cast<motet::isize>(sizeof(tokenizer::token)));
  CHECK(read.data > (from.config().ready + 1) * batch);
  CHECK(read.total() == read.training.total() + read.data);
}
