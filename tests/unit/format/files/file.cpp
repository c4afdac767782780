// SPDX-License-Identifier: Apache-2.0
#include <motet/format/files/atomic_file.hpp>
#include <motet/format/files/file.hpp>

#include <doctest/doctest.h>

#include "unit/format/scratch.hpp"

TEST_CASE("a mapped file shows the bytes of the file") {
  const scratch folder;
  motet::write_file(folder / "some", std::string_view("ab\0c", 4));
  motet::mapped_file file(folder / "some");
  CHECK(file.text() == std::string_view("ab\0c", 4));
  CHECK(file.bytes().size() == 4);
  motet::mapped_file moved = std::move(file);
  CHECK(moved.text() == std::string_view("ab\0c", 4));
  CHECK(file.bytes().empty());
  motet::write_file(folder / "other", std::string_view("other"));
  moved = motet::mapped_file(folder / "other");
  CHECK(moved.text() == "other");
  motet::write_file(folder / "none", "");
  CHECK(motet::mapped_file(folder / "none").bytes().empty());
}

TEST_CASE("what cannot be read is refused with its path and the reason") {
  const scratch folder;
  CHECK_THROWS_WITH_AS(motet::mapped_file(folder / "absent"), doctest::Contains("absent: No such file"),
                       motet::error);
  CHECK_THROWS_WITH_AS(motet::mapped_file(folder.path()), doctest::Contains("Is a directory"), motet::error);
}
