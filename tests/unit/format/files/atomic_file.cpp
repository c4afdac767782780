// SPDX-License-Identifier: Apache-2.0
#include <motet/format/files/atomic_file.hpp>
#include <motet/format/files/file.hpp>

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <csignal>

#include "unit/format/scratch.hpp"

using names = std::set<std::string>;

TEST_CASE("a file appears when it is committed and not before") {
  const scratch folder;
  {
    motet::atomic_file file(folder / "result");
    file.write("hello ");
    file.write("world");
    CHECK_FALSE(std::filesystem::exists(folder / "result"));
    CHECK(folder.names().size() == 1);  // the temporary one
    file.commit();
    CHECK(motet::mapped_file(folder / "result").text() == "hello world");
  }
  CHECK(folder.names() == names{"result"});
}

TEST_CASE("without commit the older file stays and nothing is left") {
  const scratch folder;
  motet::write_file(folder / "result", "old");
  {
    motet::atomic_file file(folder / "result");
    file.write("new");
  }
  CHECK(folder.names() == names{"result"});
  CHECK(motet::mapped_file(folder / "result").text() == "old");
  motet::write_file(folder / "result", "new");
  CHECK(motet::mapped_file(folder / "result").text() == "new");
  CHECK(folder.names() == names{"result"});
}

TEST_CASE("pieces may be written in any order") {
  const scratch folder;
  motet::atomic_file file(folder / "result");
  file.write_at(3, std::as_bytes(std::span("def", 3)));
  file.write_at(0, std::as_bytes(std::span("abc", 3)));
  file.write_at(8, std::as_bytes(std::span("i", 1)));
  file.commit();
  CHECK(motet::mapped_file(folder / "result").text() == std::string_view("abcdef\0\0i", 9));
}

TEST_CASE("a link is written through, a device directly") {
  const scratch folder;
  motet::write_file(folder / "real", "old");
  std::filesystem::create_symlink(folder / "real", folder / "link");
  motet::write_file(folder / "link", "new");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(motet::mapped_file(folder / "real").text() == "new");
  CHECK_NOTHROW(motet::write_file("/dev/null", "anything"));
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("a full disk is an error and removes the temporary file") {
  if (std::filesystem::is_character_file("/dev/full")) {
    CHECK_THROWS_WITH_AS(motet::write_file("/dev/full", "x"), doctest::Contains("[MT-F06]"), motet::error);
    CHECK(std::filesystem::is_character_file("/dev/full"));
  }
  const scratch folder;
  motet::write_file(folder / "result", "old");
  // A limit of the process stands for the end of the disk; the signal that comes with it is ignored as
  // programs do.
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string code;
  try {
    motet::write_file(folder / "result", std::string(100'000, 'x'));
  } catch (const motet::error& problem) {
    code = problem.code();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(code == "MT-F06");
  CHECK(folder.names() == names{"result"});
  CHECK(motet::mapped_file(folder / "result").text() == "old");
}

TEST_CASE("a place that cannot be written is refused at once") {
  const scratch folder;
  CHECK_THROWS_WITH_AS(motet::atomic_file(folder / "absent" / "file"), doctest::Contains("[MT-F05]"),
                       motet::error);
  CHECK_THROWS_WITH_AS(motet::atomic_file(folder.path()), doctest::Contains("Is a directory"), motet::error);
}

TEST_CASE("permissions follow the mask of the process") {
  const scratch folder;
  const mode_t mask = ::umask(027);
  motet::write_file(folder / "result", "x");
  ::umask(mask);
  struct stat status {};
  REQUIRE(::stat((folder / "result").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}
