// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/fed_inputs.hpp>

#include "unit/runtime/small_fan.hpp"

#include <doctest/doctest.h>

#include "staged_input.hpp"

using namespace motet;

namespace {

using model_type = small_fed_speech<>;
using eye = model_type::module_at<0>::net;
using glue = model_type::module_at<1>::net;
using talk = model_type::module_at<2>::net;
template <class Net>
using traits = input_traits<Net>;

}  // namespace

TEST_CASE("parts of pictures by sample") {
  const std::vector<float> pixels(4 * 16, 1);
  const std::vector<motet::isize> offsets{0, 2, 2, 4};
  const seen_pictures all{{pixels.data(), 4}, 3, offsets.data()};
  CHECK_EQ(traits<eye>::samples(all), 3);
  CHECK(traits<eye>::fits(all, 3));
  CHECK_FALSE(traits<eye>::fits(all, 2));
  CHECK_EQ(traits<eye>::unknown(all), "");
  auto room = traits<eye>::room(3);
  const seen_pictures some = traits<eye>::slice(all, 1, 2, room);
  CHECK_EQ(some.of_samples, 2);
  CHECK_EQ(some.samples, 2);
  CHECK(some.pixels == pixels.data() + 2 * 16);
  CHECK_EQ(some.before(1), 0);
  CHECK_EQ(some.before(2), 2);
  CHECK_EQ(traits<eye>::first_row(all, 2), 2 * 5);
  CHECK_EQ(traits<eye>::largest(3).samples, 6);
  seen_pictures more = all;
  more.samples = 5;
  CHECK(traits<eye>::unknown(more).find("5 pictures came, the samples have 4") != std::string::npos);
  const std::vector<motet::isize> many{0, 3, 3, 4};
  more = all;
  more.offsets = many.data();
  CHECK_FALSE(traits<eye>::fits(more, 3));
  std::vector<float> broken = pixels;
  broken[3 * 16 + 5] = std::numeric_limits<float>::quiet_NaN();
  more = all;
  more.pixels = broken.data();
  CHECK_EQ(traits<eye>::first_bad_sample(more), 2);
}

TEST_CASE("parts of rows that pass through") {
  const std::vector<motet::isize> offsets{0, 5, 5, 15};
  const through_rows all{{3, 0, offsets.data()}};
  CHECK(traits<glue>::fits(all, 3));
  auto room = traits<glue>::room(3);
  const through_rows some = traits<glue>::slice(all, 1, 2, room);
  CHECK_EQ(some.seq.samples, 2);
  CHECK_EQ(some.seq.rows(), 10);
  CHECK_EQ(traits<glue>::largest(2).seq.rows(), 20);
  const std::vector<motet::isize> long_one{0, 11, 11, 15};
  CHECK_FALSE(traits<glue>::fits({{3, 0, long_one.data()}}, 3));
  CHECK_EQ(traits<glue>::staged_bytes(all), 0);
}

TEST_CASE("parts of text with places, and what is wrong with them") {
  const small_seen_text data(6, 3);
  std::vector<motet::isize> rows;
  for (const motet::isize each : data.picture_offsets) rows.push_back(5 * each);
  const placed_tokens all{data.get(), rows.data(), data.places.data()};
  REQUIRE_EQ(traits<talk>::unknown(all), "");
  REQUIRE(traits<talk>::fits(all, 6));
  auto room = traits<talk>::room(6);
  motet::isize seen = 0;
  for (motet::isize s = 0; s < 6; ++s) {
    const placed_tokens one = traits<talk>::slice(all, s, 1, room);
    CHECK_EQ(traits<talk>::unknown(one), "");
    CHECK_EQ(one.rows_that_enter().rows(),
             rows[static_cast<std::size_t>(s) + 1] - rows[static_cast<std::size_t>(s)]);
    seen += one.rows_that_enter().rows();
  }
  CHECK_EQ(seen, rows.back());
  CHECK_EQ(traits<talk>::largest(3).rows_that_enter().rows(), 30);
  CHECK(traits<talk>::same(all, all));

  const auto first =
      std::find(data.places.begin(), data.places.end(), -1) + 1;  // the row after a class token's
  const auto at = static_cast<std::size_t>(first - data.places.begin());
  std::vector<std::int32_t> places = data.places;
  const auto complaint = [&](const placed_tokens& of) { return traits<talk>::unknown(of); };
  places[at] = -1;
  CHECK(complaint({data.get(), rows.data(), places.data()}).find("is the next without a token") !=
        std::string::npos);
  places = data.places;
  std::swap(places[at], places[at + 1]);
  CHECK(complaint({data.get(), rows.data(), places.data()}).find("wants row") != std::string::npos);
  std::vector<std::int32_t> ids = data.ids;
  ids[static_cast<std::size_t>(data.places[at])] = 4;
  placed_tokens other = all;
  other.ids = ids.data();
  CHECK(complaint(other) != "");
  ids = data.ids;
  *std::find_if(ids.begin(), ids.end(), [](std::int32_t id) { return id >= 0; }) = -1;
  other.ids = ids.data();
  CHECK(complaint(other) != "");
  ids = data.ids;
  *std::find_if(ids.begin(), ids.end(), [](std::int32_t id) { return id >= 0; }) = 23;
  other.ids = ids.data();
  CHECK(complaint(other).find("the vocabulary has 23") != std::string::npos);
}

TEST_CASE("rows of several modules have places in one text") {
  using fan_talk = small_fan::module_at<4>::net;
  using of_fan = traits<fan_talk>;
  static_assert(of_fan::sources == 3);
  const small_fan_text data(6, 5);
  const placed_tokens all = std::get<2>(data.get());
  REQUIRE_EQ(of_fan::unknown(all), "");
  REQUIRE(of_fan::fits(all, 6));
  CHECK_FALSE(of_fan::fits(all, 5));
  auto room = of_fan::room(6);
  motet::isize seen = 0;
  for (motet::isize s = 0; s < 6; ++s) {
    const placed_tokens one = of_fan::slice(all, s, 1, room);
    CHECK_EQ(of_fan::unknown(one), "");
    seen += one.entering_count();
    for (motet::isize k = 0; k < 3; ++k)
      CHECK_EQ(one.rows_that_enter(k).rows(), all.rows_that_enter(k).rows_of(s));
  }
  CHECK_EQ(seen, all.entering_count());
  CHECK_EQ(of_fan::largest(3).entering_count(), 3 * 24);
  // Places of one module's rows are in order, those of several in any.
  std::vector<std::int32_t> places = data.places;
  const auto first = std::find_if(places.begin(), places.end(), [](std::int32_t at) { return at >= 0; });
  placed_tokens other = all;
  other.places = places.data();
  const std::int32_t kept = *first;
  *first = -1;
  CHECK(of_fan::unknown(other) != "");
  *first = kept;
  other.sources = 2;
  CHECK(of_fan::unknown(other) == "the places are for rows of 2 modules, and 3 feed it");
}

TEST_CASE("pictures of samples, rows that pass and places in a text are read where they were brought to") {
  const small_fan_text data(6, 5);
  const auto [seen, heard, placed] = data.get();
  const staged_input<traits<eye>, seen_pictures> shown(seen);
  CHECK(is_brought(seen.pixels, shown.here.pixels, seen.samples * 16));
  CHECK(shown.here.of_samples == 6);
  CHECK(shown.here.offsets == seen.offsets);
  CHECK(traits<eye>::same(seen, seen));
  CHECK_FALSE(traits<eye>::same(seen, shown.here));

  // Of rows that pass through nothing is brought: they are where the module before left them.
  const through_rows through{{6, 0, data.rows.data()}};
  const staged_input<traits<glue>, through_rows> passed(through);
  CHECK(passed.here.seq.offsets == through.seq.offsets);
  CHECK(traits<glue>::same(through, passed.here));
  CHECK_FALSE(traits<glue>::same(through, {{6, 0, data.rows.data() + 7}}));

  using of_fan = traits<small_fan::module_at<4>::net>;
  const staged_input<of_fan, placed_tokens> text(placed);
  CHECK(is_brought(placed.ids, text.here.ids, placed.seq.rows()));
  CHECK(is_brought(placed.places, text.here.places, placed.entering_count()));
  CHECK(of_fan::unknown(text.here).empty());
  // A rank that has a part of each sample embeds its own words, and the rows that enter these.
  placed_tokens part = placed;
  const std::int32_t own[] = {3, -1, 4, 5}, enters[] = {1};
  const motet::isize of_one[] = {0, 4};
  part.part = {true, {own, {1, 0, of_one}}, enters, 1};
  const staged_input<of_fan, placed_tokens> cut(part);
  CHECK(is_brought(own, cut.here.part.words.ids, 4));
  CHECK(is_brought(enters, cut.here.part.places, 1));
  CHECK(cut.here.places_here() == cut.here.part.places);
}
