// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/data/steps/sample_loader.hpp>
#include <motet/data/steps/sample_maker.hpp>

#include <unit/data/written_set.hpp>

#include <algorithm>

using namespace motet;

namespace {

bool damaged(motet::isize i) { return i % 9 == 3 || i == 6; }

// One thread does all of a step.
void make(sample_maker& maker, sample_maker::worker_type& by, sample_maker::slot& own, data_position& at) {
  maker.plan(by, own, at);
  for (motet::isize part = 0, place = 0; part < maker.parts(own); ++part) maker.fill(by, own, part, place);
  maker.complete(by, own);
}

}  // namespace

TEST_CASE("a step is a function of its place: made alone, in any order, it is what the loader gives there") {
  const scratch folder;
  skip_log skips;
  const sample_source source({write_mixed(folder, "a.tar", 0, 40, {}, damaged)}, skips);
  const tokenizer words = pairs_tokenizer();
  for (const motet::isize rows : {0, 150}) {
    sample_loader_config config;
    config.batch = 7;
    config.rows = rows;
    config.example = {.image = 8, .context = 40};
    config.sample = {5, 1, 2, marks_of(words)};
    constexpr std::size_t steps = 9;
    struct step {
      data_position from;
      std::vector<motet::isize> samples;
      std::vector<std::int32_t> ids;
      std::vector<float> pixels;
    };
    std::vector<step> wanted;
    sample_loader loader(source, words, config);
    const auto note = [](step& to, const sample_batch& made) {
      to.samples = made.samples;
      const pictured_tokens in = made.input();
      to.ids.assign(in.ids, in.ids + in.seq.rows());
      to.pixels.assign(made.pixels.data, made.pixels.data + made.pictures * made.pixels.width);
    };
    for (std::size_t s = 0; s < steps; ++s) {
      wanted.push_back({loader.position(), {}, {}, {}});
      note(wanted.back(), loader.next());
    }
    for (const bool backwards : {false, true}) {
      sample_maker maker(source, words, config);
      auto by = maker.worker();
      sample_maker::slot own;
      std::vector<std::byte> room(as_size(maker.room()));
      maker.prepare(own, room.data());
      for (std::size_t k = 0; k < steps; ++k) {
        const std::size_t s = backwards ? steps - 1 - k : k;
        data_position at = wanted[s].from;
        make(maker, by, own, at);
        step got;
        note(got, own.batch);
        CHECK(got.samples == wanted[s].samples);
        CHECK(got.ids == wanted[s].ids);
        CHECK(got.pixels == wanted[s].pixels);
        CHECK(own.after == at);
        CHECK((s + 1 == steps ? loader.position() : wanted[s + 1].from) == at);
      }
    }
  }
}

TEST_CASE("what no maker can do is refused") {
  const scratch folder;
  skip_log skips;
  const sample_source source({write_mixed(folder, "a.tar", 0, 10)}, skips);
  const tokenizer words = pairs_tokenizer();
  sample_loader_config config;
  config.batch = 11;
  config.example = {.image = 8, .context = 40};
  CHECK(code_of([&] { sample_maker maker(source, words, config); }) == "MT-D11");
  config.batch = 4;
  config.rows = 39;
  CHECK(code_of([&] { sample_maker maker(source, words, config); }) == "MT-D13");
}
