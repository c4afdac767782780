// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/watch/line_feed.hpp>

#include <doctest/doctest.h>

#include <fstream>

using namespace motet;

TEST_CASE("lines come whole, whatever pieces they arrive in") {
  const std::string text = "one\n\ntwo\r\n" + std::string(longest_line + 5, 'x') + "\nthree\nop";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{4096}, text.size()}) {
    line_splitter lines("f");
    std::vector<fed_line> got;
    for (std::size_t at = 0; at < text.size(); at += piece)
      lines.add(std::string_view(text).substr(at, piece), got);
    REQUIRE(got.size() == 4);
    CHECK(got[0].text == "one");
    CHECK(got[1].text == "two");
    CHECK(got[1].number == 3);
    CHECK(got[2].cut);
    CHECK(got[2].text.size() == longest_line);
    CHECK(got[3].text == "three");
    CHECK(got[3].end == text.size() - 2);
    CHECK(lines.has_open());
  }
}

TEST_CASE("files are read on from where they were read up to, and trouble is told once") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("motet-feed-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "pipe.events");
  const auto append = [&](const char* name, const char* text) {
    std::ofstream(folder / name, std::ios::app) << text;
  };
  append("b.events", "b1\nb2\nb");
  append("a.events", "a1\n");
  append("other.txt", "no\n");
  std::vector<std::string> trouble;
  line_feed feed(folder);
  feed.begin_at("b.events", 1, 3);
  std::vector<fed_line> got = feed.take(trouble);
  REQUIRE(got.size() == 2);
  CHECK(got[0].text == "a1");
  CHECK(got[1].text == "b2");
  CHECK(got[1].number == 2);
  CHECK(trouble.size() == 1);
  append("b.events", "3\n");
  got = feed.take(trouble);
  REQUIRE(got.size() == 1);
  CHECK(got[0].text == "b3");
  CHECK(trouble.size() == 1);
  std::filesystem::resize_file(folder / "b.events", 2);
  CHECK(feed.take(trouble).empty());
  CHECK(feed.take(trouble).empty());
  CHECK(trouble.size() == 2);
  std::filesystem::remove_all(folder);
}
