// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/ranks/score_sheets.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace motet;

TEST_CASE("between steps another sheet takes its place, and each stays where it lies") {
  const pipeline_shape shape{.stages = 3, .microbatches = 6};
  std::vector<program> all = only(compile(one_f_one_b::write(shape)));
  all.push_back(compile(gpipe::write(shape)));
  score_sheets sheets(all);
  REQUIRE(sheets.size() == 2);
  CHECK(sheets.playing() == 0);
  for (const std::int32_t k : {1, 0, 1}) {
    sheets.play(k);
    CHECK(sheets.playing() == k);
    CHECK(&sheets.now() == &sheets[k]);
    CHECK(sheets.now().of == all[static_cast<std::size_t>(k)]);
  }
  CHECK(sheets.messages() == std::max(sheets[0].messages, sheets[1].messages));
  // Who meets whom is the cast's.
  CHECK(sheets[0].graph.computations == sheets[1].graph.computations);
}
