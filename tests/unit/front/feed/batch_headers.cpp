// SPDX-License-Identifier: Apache-2.0
#include <motet/front/feed/batch_headers.hpp>

#include "unit/runtime/small_edges.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE(
    "headers tell the rows that samples bring to each module, and loads what share of the longest that is") {
  constexpr motet::isize samples = 6;
  small_seen_text data(samples, 3);
  std::vector<motet::isize> rows;
  for (const motet::isize each : data.picture_offsets) rows.push_back(5 * each);
  const pictured_tokens all = data.get();
  const small_fed_speech<>::batch batch{seen_pictures{all.seen, samples, all.picture_offsets},
                                        placed_tokens{all, rows.data(), all.places}};
  const step_headers of = headers_of<small_fed_speech<>>(batch, samples);
  const step_headers loads = loads_of<small_fed_speech<>>(batch, samples);
  REQUIRE(of.modules.size() == 3);
  CHECK(of.find("glue") == 1);
  const list<double> longest = longest_work<small_fed_speech<>>();
  REQUIRE(longest.size() == 3);
  for (std::int32_t s = 0; s < samples; ++s) {
    const motet::isize pictures = all.picture_offsets[s + 1] - all.picture_offsets[s];
    CHECK(of.rows_of("eye", s) == 5 * static_cast<double>(pictures));
    CHECK(of.rows_of("talk", s) == static_cast<double>(all.seq.rows_of(s)));
    for (std::int32_t k = 0; k < 3; ++k) {
      CHECK(loads.work_of(k, s) == doctest::Approx(of.work_of(k, s) / longest[k]));
      CHECK(loads.work_of(k, s) <= 1);
    }
  }
  CHECK_THROWS_WITH_AS(headers_of<small_fed_speech<>>(batch, samples + 1),
                       doctest::Contains("a batch of 6 samples, the steps have 7"), error);
}
