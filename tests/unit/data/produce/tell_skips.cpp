// SPDX-License-Identifier: Apache-2.0
#include <motet/data/produce/tell_skips.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("samples that were skipped are told by their numbers, each once and in turn") {
  skip_log skips;
  skips.report(skip::bad_shard, "a.tar", "place 7");
  skips.report(skip::bad_picture, "a.tar: 3", "cut", 3);
  skips.report(skip::too_long, "a.tar: 5", "", 5);
  skips.report(skip::bad_picture, "a.tar: 3", "cut", 3);
  skips.report_resampled("a.tar: 4", "8000 to 16000", 4);
  const auto all = skips.reports(0, 10);
  REQUIRE(all.size() == 3);
  CHECK(skips.reports(0, 1).size() == 1);
  CHECK(skips.reports(1, 10).front().sample == 5);
  CHECK(skips.reports(3, 10).empty());
  CHECK(skips.reports(9, 10).empty());
  const auto again = read_skips(write_skips(all), 6);
  REQUIRE(again.size() == 3);
  CHECK(again[0].why == skip::bad_picture);
  CHECK(again[0].sample == 3);
  CHECK(again[0].detail == "cut");
  CHECK(again[1].why == skip::too_long);
  CHECK(again[1].detail.empty());
  CHECK_FALSE(again[2].why);
  CHECK(again[2].sample == 4);
  CHECK(again[2].detail == "8000 to 16000");
  CHECK(read_skips(write_skips({}), 6).empty());
}

TEST_CASE("what no producer says is damage") {
  for (const char* const text :
       {"", "{}", "[3]", R"([{"why": 3}])", R"([{"why": 99, "sample": 1}])", R"([{"why": -1, "sample": 1}])",
        R"([{"why": 3, "sample": 6}])", R"([{"why": 3, "sample": -1}])", R"([{"why": "x", "sample": 1}])",
        R"([{"sample": 6}])"})
    CHECK_THROWS_WITH_AS(read_skips(text, 6), doctest::Contains("MT-D23"), error);
}
