// SPDX-License-Identifier: Apache-2.0
#include <motet/run/producers_needed.hpp>

#include "run_parts.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("as many producers as prepare a step while another one runs") {
  CHECK(producers_needed(0.01, 0.1, 1) == 1);
  CHECK(producers_needed(0.25, 0.1, 1) == 3);
  CHECK(producers_needed(0.25, 0.1, 2) == 2);
  CHECK(producers_needed(0.25, 0.1, 4) == 1);
  CHECK(producers_needed(1, 0, 1) == 1);
  CHECK(words_on_producers(0.25, 0.1, 1) ==
        "producers 3 keep up with the steps (--producers 3): one thread of this machine prepares the samples "
        "of a step in 250.00 ms, a producer has 1 of them, and a step takes 100.00 ms by forecast");
  CHECK(holds(words_on_producers(0.01, 0.1, 1), "producers 1 keeps up"));
}

TEST_CASE("what a thread takes for a step is measured") {
  const scratch folder;
  write_pairs(folder, "train-000.tar", 0, 12);
  write_vocabulary(folder);
  const std::string data = folder.path().string();
  const run_settings s = settings_of({"--data", data.c_str(), "--batch", "4"});
  CHECK(measure_preparing(s, pair_shape()) > 0);
}
