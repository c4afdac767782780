// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/report/side_log.hpp>

#include <motet/format/files/file.hpp>

#include <unit/format/scratch.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("pieces are there at once; those that cannot be written wait, and come in order") {
  const scratch folder;
  const auto path = folder / "deep" / "log";
  side_log out(path, "begin ");
  out.write("one ");
  CHECK(mapped_file(path).text() == "begin one ");
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  out.write("two ");
  out.write("three ");
  std::filesystem::remove(path);
  out.write("four");
  CHECK(mapped_file(path).text() == "two three four");
  side_log().write("nowhere");
  std::filesystem::create_directory(folder / "taken");
  CHECK_THROWS_AS(side_log(folder / "taken"), error);
}
