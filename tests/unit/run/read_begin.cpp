// SPDX-License-Identifier: Apache-2.0
#include <motet/run/read_begin.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a run begins with weights of other runs, of all their modules or of one") {
  CHECK(read_begin("").empty());
  const std::vector<begin_source> found = read_begin("pairs/run,eye=clip/run:picture,talk=words,a/b=c:d");
  REQUIRE(found.size() == 4);
  CHECK(found[0].run == "pairs/run");
  CHECK(found[0].module.empty());
  CHECK(found[1].run == "clip/run");
  CHECK(found[1].module == "eye");
  CHECK(found[1].as == "picture");
  CHECK(found[2].run == "words");
  CHECK(found[2].module == "talk");
  CHECK(found[2].as.empty());
  CHECK(found[3].run == "a/b=c:d");
  CHECK(found[3].module.empty());
}

TEST_CASE("other words to begin with are refused, and the message says what is wanted") {
  for (const char* words : {"eye=", "=run", "eye=run:", "eye=:picture", ",run", "run,,run"}) {
    CAPTURE(words);
    CHECK_THROWS_WITH_AS(read_begin(words), doctest::Contains("--begin wants RUN, MODULE=RUN"), error);
  }
}
