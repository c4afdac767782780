// SPDX-License-Identifier: Apache-2.0
#include <motet/format/checkpoint/checkpoint_run.hpp>

#include <doctest/doctest.h>

#include <fstream>

#include "unit/format/scratch.hpp"

TEST_CASE("folders are named by their step, and nothing else is one") {
  CHECK(motet::detail::step_folder(0) == "step-000000");
  CHECK(motet::detail::step_folder(123) == "step-000123");
  CHECK(motet::detail::step_folder(12'345'678) == "step-12345678");
  for (const std::int64_t step : {0, 7, 999'999, 1'000'000})
    CHECK(motet::detail::folder_step(motet::detail::step_folder(step)) == step);
  for (const char* name : {"", "step-", "step-12345", "step--00001", "step-00012a", "step-0000012 ",
                           ".step-000001", "step-99999999999999999999"})
    CHECK_FALSE(motet::detail::folder_step(name));
}

TEST_CASE("the newest is what the pointer names, else the highest that has an index") {
  const scratch folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder / name) << text;
  };
  CHECK_FALSE(motet::latest_checkpoint(folder.path()));
  for (const char* step : {"step-000010", "step-000030", "step-000020"})
    std::filesystem::create_directory(folder / step);
  CHECK_FALSE(motet::latest_checkpoint(folder.path()));
  write("step-000010/index.json", "{}");
  write("step-000020/index.json", "{}");
  CHECK(motet::latest_checkpoint(folder.path()) == folder / "step-000020");
  write("latest", "step-000010\n");
  CHECK(motet::latest_checkpoint(folder.path()) == folder / "step-000010");
  // Gone as a whole, it is passed over; there without an index, it is damaged.
  write("latest", "step-000040\n");
  CHECK(motet::latest_checkpoint(folder.path()) == folder / "step-000020");
  write("latest", "step-000030\n");
  CHECK(motet::latest_checkpoint(folder.path()) == folder / "step-000030");
  write("latest", "../elsewhere\n");
  CHECK(motet::latest_checkpoint(folder.path()) == folder / "step-000020");
}
