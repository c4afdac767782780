// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/feed.hpp>

#include "unit/tools/data_folders.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

std::vector<std::int32_t> words_of(const step_input& batch) {
  const tokens& said = std::holds_alternative<pair_input>(batch) ? std::get<1>(std::get<pair_input>(batch))
                                                                 : std::get<pictured_tokens>(batch);
  return {said.ids, said.ids + said.seq.rows()};
}

}  // namespace

TEST_CASE("a random batch is the same in each step, and lies where it says") {
  random_feed feed(3, 1, pair_shape());
  const auto first = std::get<0>(std::get<pair_input>(feed.next())),
             again = std::get<0>(std::get<pair_input>(feed.next()));
  CHECK(first.samples == 3);
  CHECK(first.pixels == again.pixels);
  CHECK(feed.memory().data() == reinterpret_cast<const std::byte*>(first.pixels));
  CHECK(static_cast<motet::isize>(feed.memory().size()) + 3 * 16 * 4 == random_feed::bytes(3, pair_shape()));
  for (const std::int32_t word : words_of(feed.next())) CHECK((word >= 0 && word < 300));
  CHECK(feed.samples() == 3);
}

TEST_CASE("a feed goes on where it was left, of pairs and of samples with pieces") {
  for (const sample_shape& shape : {pair_shape(), piece_shape()}) {
    CAPTURE(shape.pieces);
    const scratch folder;
    if (shape.pieces) write_mixed(folder, "train-000.tar", 0, 10);
    else write_pairs(folder, "train-000.tar", 0, 10);
    write_vocabulary(folder);
    const data_folder from({.data = folder.path().string(), .batch = 4}, shape);
    const auto straight = open_data(from, nullptr), half = open_data(from, nullptr);
    for (int k = 0; k < 2; ++k) CHECK(words_of(straight->next()) == words_of(half->next()));
    CHECK(half->samples() == 4);
    const json place = half->position();
    const auto later = open_data(from, &place);
    for (int k = 0; k < 2; ++k) CHECK(words_of(straight->next()) == words_of(later->next()));
    CHECK(later->position().at("next").integer() == 16);
    CHECK(later->describe().find("vocabulary of") != std::string::npos);
    CHECK(later->memory().size() > 0);
  }
}
