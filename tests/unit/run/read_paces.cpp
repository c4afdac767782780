// SPDX-License-Identifier: Apache-2.0
#include <motet/run/read_paces.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("modules have rates, and schedules of their own where they say anything of one") {
  const rate_schedule all{rate_kind::cosine, 1e-3, 10, 100, 0.0};
  CHECK(read_paces("", all).empty());
  const std::vector<named_pace> found =
      read_paces("eye=0.1,talk=0.5:decay=0.01:warmup=200:layer-rate=0.9,glue=1:schedule=linear:delay=7", all);
  REQUIRE(found.size() == 3);
  CHECK(found[0].module == "eye");
  CHECK(found[0].rate == 0.1);
  CHECK_FALSE(found[0].decay);
  CHECK_FALSE(found[0].schedule);
  CHECK(found[1].decay == 0.01);
  CHECK(found[1].layers == 0.9);
  REQUIRE(found[1].schedule);
  CHECK(found[1].schedule->warmup == 200);
  CHECK(found[1].schedule->kind == rate_kind::cosine);
  CHECK(found[1].schedule->steps == 100);
  REQUIRE(found[2].schedule);
  CHECK(found[2].schedule->kind == rate_kind::linear);
  CHECK(found[2].schedule->delay == 7);
  CHECK(found[2].schedule->warmup == 10);
}

TEST_CASE("other words are refused, and the message says what is wanted") {
  for (const char* words : {"eye", "=0.1", "eye=", "eye=x", "eye=-1", "eye=0.1x", "eye=0.1:decay",
                            "eye=0.1:speed=2", "eye=0.1:warmup=1.5", "eye=0.1:schedule=round", ",eye=1"}) {
    CAPTURE(words);
    CHECK_THROWS_WITH_AS(read_paces(words, {}), doctest::Contains("--rates wants MODULE=SHARE"), error);
  }
}
