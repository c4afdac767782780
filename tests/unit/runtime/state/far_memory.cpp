// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/state/far_memory.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace motet;

TEST_CASE("what is put there comes back, from memory and from a file that leaves nothing behind") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "motet_far_memory";
  std::filesystem::create_directory(folder);
  for (const std::string& where : {std::string(), folder.string()}) {
    far_memory far(1000, where);
    std::vector<std::byte> kept(300), back(300);
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = static_cast<std::byte>(i * 7);
    const far_move out{&far, 700, kept.data(), 300, true}, in{&far, 700, back.data(), 300, false};
    out.run();
    in.run();
    CHECK(back == kept);
    far_memory other = std::move(far);
    other.get(700, back.data(), 300);
    CHECK(back == kept);
    CHECK(other.size() == 1000);
    CHECK(std::filesystem::is_empty(folder));
  }
  std::filesystem::remove(folder);
  CHECK(far_memory(0, "/nowhere").size() == 0);
}

TEST_CASE("a folder that is not there is named, with what was wanted of it") {
  try {
    const far_memory far(1000, "/nowhere");
    FAIL("it is there");
  } catch (const error& problem) {
    CHECK(std::string(problem.what()).find("1000 bytes in /nowhere: No such file or directory") !=
          std::string::npos);
    CHECK(std::string(problem.what()).find("MT-R70") != std::string::npos);
  }
}
