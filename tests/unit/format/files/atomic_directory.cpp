// SPDX-License-Identifier: Apache-2.0
#include <motet/format/files/atomic_directory.hpp>
#include <motet/format/files/file.hpp>

#include <doctest/doctest.h>

#include "unit/format/scratch.hpp"

using names = std::set<std::string>;

TEST_CASE("a directory appears when it is committed, with all that is in it") {
  const scratch folder;
  {
    motet::atomic_directory made(folder / "a/b/result");
    motet::write_file(made.path() / "one", "1");
    motet::write_file(made.path() / "two", "2");
    CHECK_FALSE(std::filesystem::exists(folder / "a/b/result"));
    made.commit();
  }
  CHECK(folder.names("a/b") == names{"result"});
  CHECK(folder.names("a/b/result") == names{"one", "two"});
}

TEST_CASE("without commit the older directory stays and nothing is left") {
  const scratch folder;
  std::filesystem::create_directory(folder / "result");
  motet::write_file(folder / "result/old", "old");
  {
    motet::atomic_directory made(folder / "result");
    motet::write_file(made.path() / "new", "new");
    CHECK(folder.names("result") == names{"old"});
  }
  CHECK(folder.names() == names{"result"});
  CHECK(folder.names("result") == names{"old"});
}

TEST_CASE("an older directory is replaced whole") {
  const scratch folder;
  std::filesystem::create_directory(folder / "result");
  motet::write_file(folder / "result/old", "old");
  motet::atomic_directory made(folder / "result/");
  motet::write_file(made.path() / "new", "new");
  made.commit();
  CHECK(folder.names() == names{"result"});
  CHECK(folder.names("result") == names{"new"});
}

TEST_CASE("one that others have filled appears the same way") {
  const scratch folder;
  const auto fill = [&](const char* name) {
    std::filesystem::create_directory(folder / ".shared");
    motet::write_file(folder / ".shared" / name, "by somebody");
  };
  fill("first");
  { const motet::atomic_directory dropped(folder / "result", folder / ".shared"); }
  CHECK(folder.names().empty());
  fill("one");
  motet::atomic_directory(folder / "result", folder / ".shared").commit();
  fill("two");
  motet::atomic_directory(folder / "result", folder / ".shared").commit();
  CHECK(folder.names() == names{"result"});
  CHECK(folder.names("result") == names{"two"});
}

TEST_CASE("a place that cannot be written is refused at once") {
  const scratch folder;
  motet::write_file(folder / "file", "");
  CHECK_THROWS_AS(motet::atomic_directory(folder / "file/result"), motet::error);
}
