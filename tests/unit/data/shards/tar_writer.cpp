// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/file.hpp>
#include <motet/data/shards/tar_writer.hpp>

#include <unit/format/scratch.hpp>

using namespace motet;

// Reading back is in tar.cpp; here is what a reader would not notice.
TEST_CASE("a shard appears with commit, complete, and not at all without it") {
  const scratch folder;
  {
    tar_writer tar((folder / "left.tar").string());
    tar.add("a.txt", "1");
    tar.finish();
    CHECK(!std::filesystem::exists(folder / "left.tar"));
  }
  CHECK(folder.names().empty());
  tar_writer tar((folder / "kept.tar").string());
  tar.add("a.txt", "1");
  tar.finish();
  tar.commit();
  CHECK(folder.names() == std::set<std::string>{"kept.tar"});
  CHECK(std::filesystem::file_size(folder / "kept.tar") == 4 * 512);
}

TEST_CASE("headers hold the fields where POSIX wants them") {
  const scratch folder;
  tar_writer tar((folder / "t.tar").string());
  tar.add("name.txt", "12345");
  tar.finish();
  tar.commit();
  const std::string bytes = read_text((folder / "t.tar").string());
  CHECK(bytes.substr(0, 8) == "name.txt");
  CHECK(bytes.substr(100, 8) == std::string("0000644\0", 8));
  CHECK(bytes.substr(124, 12) == std::string("00000000005\0", 12));
  CHECK(bytes.substr(136, 12) == std::string("00000000000\0", 12));
  CHECK(bytes.substr(257, 8) == std::string("ustar\0"
                                            "00",
                                            8));
  CHECK(bytes.substr(512, 6) == std::string("12345\0", 6));
}

TEST_CASE("a folder that does not exist is told") {
  const scratch folder;
  CHECK_THROWS_AS(tar_writer((folder / "none/t.tar").string()), error);
}
