// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/files/memory.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("what fits into memory under data parallelism") {
  const data_parallel_memory got = read_data_parallel_memory(R"([{"moe_1B_8": [-1, 20, 0]}])", "m.json");
  CHECK_FALSE(got.fits("moe_1B_8", 1, 1e9));
  CHECK(got.fits("moe_1B_8", 2, 24));
  CHECK_FALSE(got.fits("moe_1B_8", 2, 23.9));
  CHECK(got.fits("moe_1B_8", 4, 1));
  CHECK_FALSE(got.fits("moe_1B_8", 8, 1e9));
  CHECK_FALSE(got.fits("other_1B_8", 1, 1e9));
  CHECK(data_parallel_memory().fits("other", 1, 1));
}

TEST_CASE("a table of memory that is none") {
  for (const char* const bad : {"3", "[]", R"({"a": 3})", R"({"a": ["x"]})"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(read_data_parallel_memory(bad, "m.json"), error);
  }
}
