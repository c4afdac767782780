// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/transport/meet/token_file.hpp>

#include <doctest/doctest.h>

using motet::token_file;

namespace {

const std::uint32_t here = 0x7f000001;
// As no port has it, no run meets there.
const std::uint16_t port = 0;

TEST_CASE("tokens are long, and no two are equal") {
  CHECK(motet::fresh_token().size() == 32);
  CHECK(motet::fresh_token() != motet::fresh_token());
}

TEST_CASE("a token is there while its file lives, for its user alone") {
  const std::string path = token_file::path(here, port);
  {
    const token_file left(here, port, "abc");
    CHECK(token_file::read(here, port) == "abc");
    CHECK((std::filesystem::status(path).permissions() & std::filesystem::perms::all) ==
          (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
    // Others may not have written it.
    std::filesystem::permissions(path, std::filesystem::perms(0644));
    CHECK(token_file::read(here, port).empty());
  }
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(token_file::read(here, port).empty());
}

TEST_CASE("what a killed run left is replaced; what is no file is refused") {
  const std::string path = token_file::path(here, port);
  REQUIRE(::symlink("/dev/null", path.c_str()) == 0);
  CHECK(token_file::read(here, port).empty());
  {
    const token_file left(here, port, "new");
    CHECK(token_file::read(here, port) == "new");
  }
  REQUIRE(std::filesystem::create_directory(path));
  CHECK_THROWS_WITH_AS(token_file(here, port, "new"),
                       doctest::Contains("cannot leave a token for the others"), motet::error);
  std::filesystem::remove(path);
}

}  // namespace
