// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/front/feed/production.hpp>

#include "unit/front/producers.hpp"

using namespace motet;
using namespace produced_tests;

TEST_CASE("where producers are is read, or refused with what was wanted") {
  CHECK_THROWS_WITH_AS(read_producer_address("here"), doctest::Contains("wanted HOST:PORT"), error);
  CHECK_THROWS_WITH_AS(read_producer_address("here:70000"), doctest::Contains("MT-D13"), error);
  CHECK(read_producer_address("10.0.0.7:29600").port == 29600);
  const auto all = read_producer_addresses("node3:1,127.0.0.1:65535");
  REQUIRE(all.size() == 2);
  CHECK(all[0].text() == "node3:1");
  CHECK(all[1].text() == "127.0.0.1:65535");
  for (const char* const each : {"", ",", "a:1,", ":1", "a:0", "a:", "a:1x"})
    CHECK(code_of([&] { read_producer_addresses(each); }) == "MT-D13");
}

TEST_CASE("what decides steps comes through as it was, and the first that differs is named") {
  produced_set set(true);
  set.wishes.windows = {.steps = 4, .together = 2};
  run own(set);
  const json all = production_of(set.wishes, set.shape, own.data);
  const json read = read_json(write_json(all));
  CHECK(first_difference(read, all).empty());
  const data_wishes wishes = wishes_in(read, set.wishes.data, 1);
  const sample_shape shape = shape_in(read);
  CHECK(first_difference(production_of(wishes, shape, own.data), all).empty());
  data_wishes other = wishes;
  other.smallest_crop = 0.61;
  CHECK(first_difference(production_of(other, shape, own.data), all) ==
        "smallest_crop: got 0.61, wanted 0.6");
  other = wishes;
  other.windows.together = 3;
  CHECK(first_difference(production_of(other, shape, own.data), all) == "window_together: got 3, wanted 2");
  CHECK(all.find("fingerprint of sizes") != nullptr);
  CHECK(first_difference(json(json::object{}), all).starts_with("version: got nothing, wanted \"motet "));
}

TEST_CASE("a place comes through as it was") {
  const data_position from{3, 4, 5, 40, {31, 38}, std::uint64_t{1} << 63};
  data_position to{3, 4, 5, 0, {}};
  read_place(read_json(write_json(place_of(from))), to);
  CHECK(to == from);
}

TEST_CASE("words and pictures of a step may be asked for apart, and nothing else of it") {
  for (const asked_parts parts : {asked_parts::words, asked_parts::pictures}) {
    json request;
    request.set("parts", json_of(parts));
    CHECK(parts_in(request) == parts);
  }
  json plain;
  plain.set("step", 1);
  CHECK(parts_in(plain) == asked_parts::all);
  json other;
  other.set("parts", "sounds");
  CHECK_THROWS_WITH_AS(parts_in(other), doctest::Contains("a request for \"sounds\" of a step"), error);
}
