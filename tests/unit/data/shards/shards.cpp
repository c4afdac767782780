// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/shards/shards.hpp>
#include <motet/format/files/atomic_file.hpp>

#include <fuzz/data_targets.hpp>
#include <fuzz/mutate.hpp>
#include <unit/format/scratch.hpp>

using namespace motet;
using list = std::vector<std::string>;

TEST_CASE("ranges keep their zeros and may count down") {
  CHECK(expand_braces("train-{000..002}.tar") == list{"train-000.tar", "train-001.tar", "train-002.tar"});
  CHECK(expand_braces("{8..11}") == list{"8", "9", "10", "11"});
  CHECK(expand_braces("{08..11}") == list{"08", "09", "10", "11"});
  CHECK(expand_braces("{2..0}") == list{"2", "1", "0"});
  CHECK(expand_braces("{7..7}") == list{"7"});
  CHECK(expand_braces("plain.tar") == list{"plain.tar"});
}

TEST_CASE("several braces, lists, and braces within") {
  CHECK(expand_braces("{a,b}{0..1}") == list{"a0", "a1", "b0", "b1"});
  CHECK(expand_braces("x{a,b{1..3},}y") == list{"xay", "xb1y", "xb2y", "xb3y", "xy"});
  CHECK(expand_braces("{{0..1},{8..9}}") == list{"0", "1", "8", "9"});
}

TEST_CASE("what is no pattern is refused") {
  for (const char* bad :
       {"{0..1", "0..1}", "{a..b}", "{single}", "{}", "a}b{0..1}", "{0..}", "{..3}", "{-1..3}",
        "{0..99999999}", "{0..9999}{0..9999}", "{1..2..3}", "{0..99999999999999999999}"}) {
    CAPTURE(bad);
    CHECK_THROWS_WITH_AS(expand_braces(bad), doctest::Contains("MT-D03"), error);
  }
  CHECK_THROWS_AS(expand_braces(std::string(1000, '{')), error);
}

TEST_CASE("a folder means its shards in order, a split those of its name") {
  const scratch folder;
  for (const char* name : {"train-001.tar", "train-000.tar", "test-000.tar", "notes.txt"})
    write_file(folder / name, "");
  const std::string at = folder.path().string() + "/";
  CHECK(list_shards(folder.path().string()) ==
        list{at + "test-000.tar", at + "train-000.tar", at + "train-001.tar"});
  CHECK(list_shards(folder.path().string(), "train") == list{at + "train-000.tar", at + "train-001.tar"});
  CHECK(list_shards(folder.path().string(), "other").size() == 3);
  CHECK(list_shards(at + "train-{000..001}.tar") == list{at + "train-000.tar", at + "train-001.tar"});
  CHECK(list_shards(at + "train-001.tar," + at + "test-{000..000}.tar") ==
        list{at + "train-001.tar", at + "test-000.tar"});
}

TEST_CASE("missing and empty sets are told apart") {
  const scratch folder;
  CHECK_THROWS_WITH_AS(list_shards((folder / "none").string()), doctest::Contains("MT-D01"), error);
  CHECK_THROWS_WITH_AS(list_shards((folder / "t-{0..1}.tar").string()), doctest::Contains("t-0.tar"), error);
  CHECK_THROWS_WITH_AS(list_shards(folder.path().string()), doctest::Contains("MT-D02"), error);
  CHECK_THROWS_WITH_AS(list_shards(""), doctest::Contains("MT-D02"), error);
}

TEST_CASE("a pattern that names more shards than were made is told how many there are") {
  const scratch folder;
  const std::string pattern = (folder / "train-{000..003}.tar").string();
  write_file(folder / "train-000.tar", "");
  const auto refuses = [&](const char* with) {
    CHECK_THROWS_WITH_AS(list_shards(pattern), doctest::Contains(with), error);
  };
  refuses("train-{000..003}.tar\": 1 of 4 is there, ");
  refuses("train-001.tar is not");
  refuses("MT-D28");
  write_file(folder / "train-002.tar", "");
  refuses("2 of 4 are there, ");
}

TEST_CASE("mutations are expanded or refused") {
  const list seeds{"train-{000..007}.tar", "{a,b{1..3},}{x,y}", "{2..0},{{0..1},z}"};
  motet::isize accepted = 0, refused = 0;
  for (std::uint64_t run = 0; run < 3000; ++run) ++(fuzz_braces(mutated(seeds, run)) ? accepted : refused);
  CHECK(accepted > 100);
  CHECK(refused > 100);
}
