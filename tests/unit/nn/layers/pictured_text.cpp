// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/pictured_text.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

template <class T>
std::vector<T> list_of(const T* from, motet::isize count) {
  return {from, from + count};
}
using token_list = std::vector<std::int32_t>;
using said = pictured_text::said;

}  // namespace

TEST_CASE("words and pictures stand where they were put, and what is asked for is the next word") {
  pictured_text text(3, 1);
  const token_list question{5, 6}, answer{7, 8};
  text.say(question, said::given);
  text.show();
  text.say(answer, said::asked);
  text.end();
  text.end();  // a sample of nothing
  text.show();
  text.show();
  text.say(answer, said::given);
  text.end();
  const pictured_tokens batch = text.with(pictures{nullptr, 3});
  REQUIRE_EQ(batch.seq.samples, 3);
  CHECK(list_of(batch.seq.offsets, 4) == std::vector<motet::isize>{0, 6, 6, 12});
  CHECK(list_of(batch.picture_offsets, 4) == std::vector<motet::isize>{0, 1, 1, 3});
  CHECK(list_of(batch.ids, 12) == token_list{5, 6, -1, -1, 7, 8, -1, -1, -1, -1, 7, 8});
  CHECK(list_of(batch.targets, 12) == token_list{-1, -1, -1, 7, 8, -1, -1, -1, -1, -1, -1, -1});
  CHECK(list_of(batch.places, 9) == token_list{-1, 2, 3, -1, 6, 7, -1, 8, 9});
  CHECK_EQ(text.asked(), 2);
  CHECK_EQ(batch.share, 0.5);
  text.clear();
  CHECK_EQ(text.with({}).seq.rows(), 0);
  CHECK_EQ(text.with({}).seq.samples, 0);
}

TEST_CASE("nobody asks for the first row of a sample") {
  pictured_text text(1);
  const token_list words{4, 9};
  for (int s = 0; s < 2; ++s) {
    text.say(words, said::asked);
    text.end();
  }
  CHECK(list_of(text.with({}).targets, 4) == token_list{9, -1, 9, -1});
  CHECK_EQ(text.asked(), 2);
}

TEST_CASE("sounds have places beside those of pictures") {
  pictured_text text{{2}, {2}};
  const token_list words{5, 6};
  text.show(1);
  text.show(0);
  text.say(words, said::asked);
  text.end();
  text.show(1);
  text.end();
  const float features[] = {1, 2};
  const pictured_tokens batch = text.with(pictures{nullptr, 1}, sounds{features, 2});
  CHECK_EQ(batch.heard.features, features);
  CHECK_EQ(batch.heard.samples, 2);
  CHECK_EQ(batch.heard.of_samples, 2);
  CHECK_EQ(batch.heard.before(2), 2);
  CHECK(list_of(batch.heard_places, 4) == token_list{0, 1, 6, 7});
  CHECK(list_of(batch.places, 2) == token_list{2, 3});
}

TEST_CASE("pictures of two kinds have places in one text") {
  pictured_text text{{2}, {2, 1}};
  const token_list words{5, 6};
  text.show(1);
  text.show(0);
  text.say(words, said::asked);
  text.end();
  text.show(0);
  text.end();
  const placed_tokens batch = text.placed();
  REQUIRE_EQ(batch.sources, 2);
  CHECK(list_of(batch.ids, 7) == token_list{-1, -1, -1, 5, 6, -1, -1});
  CHECK(list_of(batch.row_offsets, 6) == std::vector<motet::isize>{0, 2, 4, 0, 2, 2});
  CHECK(list_of(batch.places, 6) == token_list{1, 2, 5, 6, -1, 0});
  CHECK_EQ(batch.entering_count(), 6);
  CHECK_EQ(text.seen(0, pictures{nullptr, 2}).before(2), 2);
  CHECK_EQ(text.seen(1, pictures{nullptr, 1}).before(2), 1);
  text.clear();
  CHECK_EQ(text.placed().entering_count(), 0);
}
