// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/make/set_folder.hpp>

#include <unit/data/pairs.hpp>

using namespace motet;

TEST_CASE("nothing has its name before commit; what was not made again is removed") {
  const scratch folder;
  const auto at = folder / "set";
  {
    set_folder made(at, "tester");
    made.shard("train-000.tar").finish();
    made.text("tokenizer.json", "{}");
    CHECK(folder.names("set").size() == 2);  // under temporary names
    CHECK(!std::filesystem::exists(at / "tokenizer.json"));
  }
  CHECK(folder.names("set").empty());
  {
    set_folder made(at, "tester");
    for (const char* name : {"train-000.tar", "train-001.tar"}) made.shard(name).finish();
    made.text("classes.json", "{}");
    made.commit(json{{"seed", 3}});
  }
  CHECK(folder.names("set") ==
        std::set<std::string>{"about.json", "classes.json", "train-000.tar", "train-001.tar"});
  {
    set_folder made(at, "tester");
    made.shard("train-000.tar").finish();
    made.commit(json{{"seed", 4}});
  }
  CHECK(folder.names("set") == std::set<std::string>{"about.json", "train-000.tar"});
  CHECK(code_of([&] { set_folder(at, "another"); }) == "MT-D16");
  write_file(at / "mine.txt", "mine");
  CHECK(code_of([&] { set_folder(at, "tester"); }) == "MT-D16");
  CHECK(read_text((at / "mine.txt").string()) == "mine");
  std::filesystem::remove(at / "mine.txt");
  write_file(at / ".train-000.tar.tmp-1-1", "of a killed run");
  set_folder(at, "tester");
  CHECK(folder.names("set").size() == 2);
  write_file(at / "about.json", "{");
  CHECK(code_of([&] { set_folder(at, "tester"); }) == "MT-D16");
  CHECK(code_of([&] { set_folder("/dev/null/x", "tester"); }) == "MT-F05");
}

TEST_CASE("numbers in names") {
  CHECK(padded(7, 3) == "007");
  CHECK(padded(12345, 3) == "12345");
}
