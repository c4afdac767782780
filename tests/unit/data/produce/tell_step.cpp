// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/data/produce/tell_step.hpp>

#include <unit/data/written_set.hpp>

#include <algorithm>
#include <cstring>

using namespace motet;

namespace {

bool damaged(motet::isize i) { return i % 9 == 3 || i == 6; }

void check_pictures(const matrix<float>& a, const packed_pictures& of_a, const matrix<float>& b,
                    const packed_pictures& of_b, motet::isize count) {
  CHECK((a.data == nullptr) == (b.data == nullptr));
  if (a.data != nullptr) CHECK(std::equal(a.data, a.data + count * a.width, b.data));
  CHECK((of_a.bytes == nullptr) == (of_b.bytes == nullptr));
  for (motet::isize p = 0; p < count && of_a.bytes != nullptr; ++p) {
    CHECK(std::memcmp(&of_a.each[p], &of_b.each[p], sizeof(packed_picture)) == 0);
    const packed_picture& own = of_a.each[p];
    const auto size =
        static_cast<std::size_t>(own.rows > 0 ? own.bytes(0, 3 * 4 * 4) : own.pitch * own.height);
    CHECK(std::memcmp(of_a.of(p), of_b.of(p), size) == 0);
    CHECK(of_a.factor[1] == of_b.factor[1]);
  }
}
void check_same(const sample_batch& a, const sample_batch& b) {
  CHECK(a.first == b.first);
  CHECK(a.count == b.count);
  CHECK(a.samples == b.samples);
  REQUIRE(a.pictures == b.pictures);
  check_pictures(a.pixels, a.packed, b.pixels, b.packed, a.pictures);
  const pictured_tokens in = a.input(), out = b.input();
  REQUIRE(in.seq.rows() == out.seq.rows());
  CHECK(std::equal(in.ids, in.ids + in.seq.rows(), out.ids));
  CHECK(std::equal(in.targets, in.targets + in.seq.rows(), out.targets));
  CHECK(std::equal(in.picture_offsets, in.picture_offsets + a.count + 1, out.picture_offsets));
  CHECK(in.share == out.share);
  CHECK(a.sounds == b.sounds);
  CHECK(a.features == b.features);
  CHECK(a.row_offsets == b.row_offsets);
  const motet::isize shown = in.seen.rows_before(a.pictures, 5);
  CHECK(std::equal(in.places, in.places + shown, out.places));
  REQUIRE(in.heard.offsets != nullptr);
  CHECK(std::equal(in.heard.offsets, in.heard.offsets + a.count + 1, out.heard.offsets));
}
void check_same(const pair_batch& a, const pair_batch& b) {
  CHECK(a.first == b.first);
  CHECK(a.samples == b.samples);
  CHECK(a.tokens == b.tokens);
  CHECK(a.offsets == b.offsets);
  check_pictures(a.pixels, a.packed, b.pixels, b.packed, a.count);
}

// Makes steps, tells them, and hears them in other memory, by limits as tight as they may be.
template <class Maker>
void tell_and_hear(const auto& source, const tokenizer& words, auto config, step_limits limits) {
  for (const picture_form form : {picture_form::floats, picture_form::bytes}) {
    config.form = form;
    Maker maker(source, words, config);
    auto by = maker.worker();
    typename Maker::slot made, heard;
    std::vector<std::byte> room(as_size(maker.room())), other(room.size(), std::byte{0x5A});
    maker.prepare(made, room.data());
    maker.prepare(heard, other.data());
    limits.count = config.batch, limits.context = config.example.context, limits.vocabulary = words.size();
    limits.side = config.example.image, limits.bytes = form == picture_form::bytes;
    limits.room = maker.room();
    data_position at{config.seed, source.fingerprint(), source.size(), 5};
    for (int step = 0; step < 6; ++step) {
      maker.plan(by, made, at);
      for (motet::isize part = 0, place = 0; part < maker.parts(made); ++part)
        maker.fill(by, made, part, place);
      maker.complete(by, made);
      step_words told, got;
      tell_step(made, told);
      std::string wire;
      write_words(told, wire);
      const std::span<const std::byte> pixels = made.shown.used();
      read_words(std::as_bytes(std::span(wire)), static_cast<motet::isize>(pixels.size()), limits, got);
      std::copy(pixels.begin(), pixels.end(), heard.shown.memory());
      hear_step(got, heard);
      check_same(made.batch, heard.batch);
      CHECK(got.next == at.next);
      CHECK(got.waiting == at.waiting);
    }
  }
}

}  // namespace

TEST_CASE("a step that was told and heard is the same step, damaged samples, empty ones and all") {
  const scratch folder;
  const tokenizer words = pairs_tokenizer();
  for (const auto& [rows, shapes] :
       {std::pair(0, shape_limits{}), {150, shape_limits{}}, {150, shape_limits{4, 4}}}) {
    skip_log skips;
    const sample_source source(
        {write_mixed(folder, "a.tar", 0, 40, {}, damaged), write_heard(folder, "b.tar", 15)}, skips);
    sample_loader_config config;
    config.batch = 12;
    config.rows = rows;
    config.example = {.image = 8, .context = 40};
    config.sample = {5, 1, 2, marks_of(words), 0, {.most = 2, .rows = 3, .bins = 6, .frames = 5}, shapes};
    tell_and_hear<sample_maker>(source, words, config,
                                {.pictures = sample_maker::places_of(config, source),
                                 .rows_shown = config.sample.rows_shown(),
                                 .rows = rows,
                                 .heard = config.sample.heard,
                                 .shapes = shapes,
                                 .lead = config.sample.lead});
  }
}

TEST_CASE("pairs are told as pictures with a text, and heard as pairs; anything else is refused") {
  const scratch folder;
  const tokenizer words = pairs_tokenizer();
  skip_log skips;
  const auto cut = [](motet::isize i, made_sample& made) {
    if (damaged(i)) made.picture.resize(40);
  };
  const pair_source source({write_pairs(folder, "a.tar", 0, 40, cut)}, skips);
  loader_config config;
  config.batch = 6;
  config.example = {.image = 8, .context = 16};
  tell_and_hear<pair_maker>(source, words, config, {.pictures = config.batch});

  pair_maker maker(source, words, config);
  pair_maker::slot own;
  std::vector<std::byte> room(as_size(maker.room()));
  maker.prepare(own, room.data());
  step_words told;
  told.samples.assign(6, 1);
  told.stretches.assign(6, 1);
  told.order.assign(6, {piece_kind::asked, 0});
  CHECK(code_of([&] { hear_step(told, own); }) == "MT-D23");
}
