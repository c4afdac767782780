// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/file.hpp>
#include <motet/format/files/atomic_file.hpp>

#include <unit/format/scratch.hpp>

using namespace motet;

TEST_CASE("reads at any place, and says how much there was") {
  const scratch folder;
  write_file(folder / "f", "0123456789");
  const input_file file((folder / "f").string());
  CHECK(file.size() == 10);
  std::uint8_t bytes[4];
  CHECK(file.read(3, bytes) == 4);
  CHECK(std::string(bytes, bytes + 4) == "3456");
  CHECK(file.read(8, bytes) == 2);
  CHECK(file.read(10, bytes) == 0);
  CHECK(file.read(-1, bytes) == 0);
  CHECK(read_text((folder / "f").string()) == "0123456789");
}

TEST_CASE("what cannot be read is named") {
  const scratch folder;
  CHECK_THROWS_WITH_AS(input_file((folder / "none").string()),
                       doctest::Contains("none (No such file or directory)"), error);
  CHECK_THROWS_WITH_AS(input_file(folder.path().string()), doctest::Contains("not a regular file"), error);
  write_file(folder / "f", "0123456789");
  CHECK_THROWS_WITH_AS(read_text((folder / "f").string(), 9), doctest::Contains("MT-D01"), error);
}

TEST_CASE("moving a file moves its handle") {
  const scratch folder;
  write_file(folder / "f", "abc");
  input_file first((folder / "f").string());
  input_file second(std::move(first));
  std::uint8_t byte[1];
  CHECK(second.read(1, byte) == 1);
  CHECK(byte[0] == 'b');
  input_file third;
  third = std::move(second);
  CHECK(third.read(2, byte) == 1);
}
