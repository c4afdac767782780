// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/patches.hpp>
#include <motet/data/steps/loader.hpp>

#include <unit/data/pairs.hpp>

#include <unit/runtime/allocations.hpp>

#include "laws/cpu_run.hpp"
#include "laws/refused_threads.hpp"

#include <set>
#include <thread>

using namespace motet;

namespace {

struct taken {
  std::vector<motet::isize> samples;
  std::vector<float> pixels;
  std::vector<tokenizer::token> tokens;
  std::vector<motet::isize> offsets;
  bool operator==(const taken&) const = default;
};

taken copy(const pair_batch& batch) {
  return {batch.samples,
          {batch.pixels.data, batch.pixels.data + batch.pixels.rows * batch.pixels.width},
          batch.tokens,
          batch.offsets};
}

std::vector<taken> batches(pair_loader& from, motet::isize count) {
  std::vector<taken> out;
  for (motet::isize i = 0; i < count; ++i) out.push_back(copy(from.next()));
  return out;
}

// A set with 40 samples in two shards, some of them damaged when asked for.
struct pairs_set {
  scratch folder;
  std::vector<std::string> shards;
  tokenizer words = pairs_tokenizer();
  explicit pairs_set(const std::function<void(motet::isize, made_sample&)>& change = {})
      : shards{write_pairs(folder, "a.tar", 0, 25, change), write_pairs(folder, "b.tar", 25, 15, change)} {}
};

loader_config config_of(int threads, motet::isize batch = 12) {
  loader_config config;
  config.batch = batch;
  config.threads = threads;
  config.example.image = 8;
  config.example.context = 16;
  return config;
}

void damage(motet::isize i, made_sample& made) {
  if (i % 9 == 3) made.picture.resize(40);
}

}  // namespace

TEST_CASE("the same batches with one thread and with three, cached or not, damaged or not") {
  for (const bool damaged : {false, true}) {
    const pairs_set set(damaged ? damage : std::function<void(motet::isize, made_sample&)>{});
    std::vector<taken> wanted;
    for (const int threads : {1, 3}) {
      for (const motet::isize cache : {motet::isize{0}, motet::isize{1} << 20}) {
        skip_log skips;
        const pair_source source(set.shards, skips);
        loader_config config = config_of(threads);
        config.cache_bytes = cache;
        pair_loader loader(source, set.words, config);
        const auto found = batches(loader, 20);
        if (wanted.empty()) wanted = found;
        CHECK(found == wanted);
        if (damaged) CHECK(skips.count(skip::bad_picture) == 5);
      }
    }
  }
}

TEST_CASE(
    "packed pictures are those of the floats: the same order, boxes and mirrors, whatever the threads, "
    "damaged or not") {
  for (const bool damaged : {false, true}) {
    const pairs_set set(damaged ? damage : std::function<void(motet::isize, made_sample&)>{});
    skip_log skips;
    const pair_source source(set.shards, skips);
    for (const motet::isize image : {8, 4}) {  // with 4 some are too large to stay as they are
      loader_config config = config_of(1);
      config.example.image = image;
      config.example.colours = {{0.4f, 0.5f, 0.6f}, {0.2f, 0.25f, 0.3f}};
      pair_loader floats(source, set.words, config);
      config.form = picture_form::bytes;
      pair_loader first(source, set.words, config);
      config.threads = 3;
      pair_loader second(source, set.words, config);
      motet::isize as_floats = 0, mirrored = 0;
      for (int step = 0; step < 12; ++step) {
        const pair_batch &want = floats.next(), &batch = first.next(), &other = second.next();
        REQUIRE(batch.size() == 12);
        CHECK(batch.samples == want.samples);
        CHECK(batch.tokens == want.tokens);
        CHECK(batch.offsets == want.offsets);
        CHECK(batch.pixels.data == nullptr);
        std::vector<float> made(static_cast<std::size_t>(12 * 3 * image * image));
        const sequences rows{12, 1, nullptr};
        laws::cpu_run(1, 64, [&](cpu::context& ctx) {
          patches(ctx, rows, patch_geometry{3, image, image, 0}, batch.packed,
                  matrix<float>{made.data(), 12, 3 * image * image, 3 * image * image});
        });
        float worst = 0;
        for (std::size_t i = 0; i < made.size(); ++i)
          worst = std::max(worst, std::fabs(made[i] - want.pixels.data[i]));
        CHECK(worst < 4e-6f);
        std::int64_t end = 0;
        for (motet::isize s = 0; s < 12; ++s) {
          const packed_picture &one = batch.packed.each[s], &two = other.packed.each[s];
          CHECK(one.at == end);  // without gaps
          CHECK(one.at % 16 == 0);
          CHECK(two.at == one.at);
          const motet::isize size =
              one.pitch > 0 ? static_cast<motet::isize>(one.pitch) * one.height : 12 * image * image;
          CHECK(std::equal(batch.packed.of(s), batch.packed.of(s) + size, other.packed.of(s)));
          end += size;
          as_floats += one.pitch == 0 ? 1 : 0;
          mirrored += one.flip;
        }
      }
      CHECK(mirrored > 0);
      CHECK((as_floats > 0) == (image == 4));
    }
  }
}

TEST_CASE("an epoch visits every sample once, and the next one in another order") {
  const pairs_set set;
  skip_log skips;
  const pair_source source(set.shards, skips);
  pair_loader loader(source, set.words, config_of(2, 8));
  std::vector<motet::isize> epochs[3];
  for (auto& epoch : epochs) {
    for (int i = 0; i < 5; ++i) {
      const pair_batch& batch = loader.next();
      epoch.insert(epoch.end(), batch.samples.begin(), batch.samples.end());
    }
    CHECK(std::set<motet::isize>(epoch.begin(), epoch.end()).size() == 40);
  }
  CHECK(epochs[0] != epochs[1]);
  CHECK(epochs[1] != epochs[2]);
}

TEST_CASE("captions are ragged and belong to their pictures") {
  const pairs_set set;
  skip_log skips;
  const pair_source source(set.shards, skips);
  loader_config config = config_of(2);
  config.augment.reset();
  pair_loader loader(source, set.words, config);
  example_reader reader(source, set.words, config.example);
  for (int step = 0; step < 7; ++step) {
    const pair_batch& batch = loader.next();
    REQUIRE(batch.size() == 12);
    CHECK(batch.captions().rows() == static_cast<motet::isize>(batch.tokens.size()));
    for (motet::isize s = 0; s < 12; ++s) {
      std::vector<float> pixels(3 * 64);
      std::vector<tokenizer::token> tokens;
      REQUIRE(reader.read(batch.samples[static_cast<std::size_t>(s)], pixels.data(), tokens));
      CHECK(std::equal(pixels.begin(), pixels.end(), batch.pixels.row(s)));
      CHECK(std::equal(tokens.begin(), tokens.end(), batch.tokens.begin() + batch.captions().begin(s),
                       batch.tokens.begin() + batch.captions().end(s)));
      CHECK(tokens.back() == set.words.end_token());
    }
  }
}

TEST_CASE("resumes exactly, also with other threads and another batch") {
  const pairs_set set(damage);
  skip_log skips;
  const pair_source source(set.shards, skips);
  pair_loader whole(source, set.words, config_of(1));
  const auto wanted = batches(whole, 12);
  pair_loader first(source, set.words, config_of(2));
  CHECK(first.position().next == 0);
  batches(first, 5);
  const data_position position = first.position();
  CHECK(position.next == 60);
  CHECK(position.epoch() == 1);
  pair_loader second(source, set.words, config_of(3), position);
  CHECK(second.position() == position);
  const auto rest = batches(second, 7);
  CHECK(std::equal(rest.begin(), rest.end(), wanted.begin() + 5));
  // Batches half as large meet the same samples, except for those that replace damaged ones.
  pair_loader half(source, set.words, config_of(1, 6), position);
  const pair_batch& batch = half.next();
  motet::isize same = 0;
  for (std::size_t i = 0; i < 6; ++i) same += batch.samples[i] == wanted[5].samples[i] ? 1 : 0;
  CHECK(same >= 4);
}

TEST_CASE("a position of other data is refused") {
  const pairs_set set;
  skip_log skips;
  const pair_source source(set.shards, skips), part({set.shards[0]}, skips);
  pair_loader loader(source, set.words, config_of(1));
  data_position position = loader.position();
  CHECK(code_of([&] { pair_loader(part, set.words, config_of(1), position); }) == "MT-D12");
  position.seed = 99;
  CHECK(code_of([&] { pair_loader(source, set.words, config_of(1), position); }) == "MT-D12");
  position = loader.position();
  position.next = -5;
  CHECK(code_of([&] { pair_loader(source, set.words, config_of(1), position); }) == "MT-D12");
}

TEST_CASE("damaged samples are replaced by others that are not in the batch") {
  const pairs_set set(damage);
  skip_log skips;
  const pair_source source(set.shards, skips);
  pair_loader loader(source, set.words, config_of(2, 35));  // as many as are whole
  const auto found = batches(loader, 6);
  for (const taken& batch : found) {
    for (const motet::isize sample : batch.samples) CHECK(sample % 9 != 3);
  }
  CHECK(std::set<motet::isize>(found[0].samples.begin(), found[0].samples.end()).size() == 35);
  CHECK(skips.count(skip::bad_picture) == 5);
  CHECK(skips.summary().find("pair3 (") != std::string::npos);
}

TEST_CASE("strict makes damage an error, the same whatever the threads") {
  const pairs_set set(damage);
  std::set<std::string> told;
  for (const int threads : {1, 2, 4}) {
    skip_log strict(true);
    const pair_source source(set.shards, strict);
    pair_loader loader(source, set.words, config_of(threads));
    for (int again = 0; again < 2; ++again) {
      try {
        batches(loader, 10);
        CHECK(false);
      } catch (const error& problem) {
        CHECK(std::string(problem.code()) == "MT-D05");
        told.insert(problem.what());
      }
    }
  }
  CHECK(told.size() == 1);
}

TEST_CASE("too few samples") {
  const pairs_set set(damage);
  skip_log skips;
  const pair_source source(set.shards, skips);
  CHECK(code_of([&] { pair_loader(source, set.words, config_of(1, 41)); }) == "MT-D11");
  pair_loader full(source, set.words, config_of(2, 36));
  CHECK(code_of([&] { full.next(); }) == "MT-D10");
}

TEST_CASE("options out of range") {
  const pairs_set set;
  skip_log skips;
  const pair_source source(set.shards, skips);
  CHECK(code_of([&] { pair_loader(source, set.words, config_of(0)); }) == "MT-D13");
  CHECK(code_of([&] { pair_loader(source, set.words, config_of(1, 0)); }) == "MT-D13");
  loader_config config = config_of(1);
  config.example.context = 1;
  CHECK(code_of([&] { pair_loader(source, set.words, config); }) == "MT-D13");
}

TEST_CASE("once the cache is warm, a batch allocates nothing") {
  const pairs_set set;
  skip_log skips;
  const pair_source source(set.shards, skips);
  for (const picture_form form : {picture_form::floats, picture_form::bytes}) {
    loader_config config = config_of(1, 10);
    config.form = form;
    pair_loader loader(source, set.words, config);
    // Memory that the thread keeps grows to the largest crop that it met, and stays.
    for (int i = 0; i < 400; ++i) loader.next();
    const long before = allocations;
    for (int i = 0; i < 40; ++i) loader.next();
    CHECK(allocations == before);
  }
}

TEST_CASE("threads that the system refuses are an error that counts them") {
  const pairs_set set;
  skip_log skips;
  const pair_source source(set.shards, skips);
  const laws::refused_threads none;
  CHECK_THROWS_WITH_AS(pair_loader(source, set.words, config_of(3)),
                       doctest::Contains("threads that prepare data: wanted 3, got 0 ("), error);
}

TEST_CASE("a loader may end at any moment") {
  const pairs_set set;
  skip_log skips;
  const pair_source source(set.shards, skips);
  for (int i = 0; i < 20; ++i) {
    pair_loader loader(source, set.words, config_of(1 + i % 3));
    batches(loader, i % 4);
    CHECK(loader.statistics().batches == i % 4);
  }
}

TEST_CASE("one can look at the batch after this one, once it is made") {
  const pairs_set set;
  skip_log skips;
  const pair_source source(set.shards, skips);
  pair_loader loader(source, set.words, config_of(2)), other(source, set.words, config_of(1));
  for (int step = 0; step < 6; ++step) {
    const pair_batch* seen = nullptr;
    while ((seen = loader.ahead()) == nullptr) std::this_thread::yield();
    const std::vector<motet::isize> samples = seen->samples;
    const motet::isize position = loader.position().next;
    CHECK(loader.ahead() == seen);
    CHECK(loader.position().next == position);
    CHECK(&loader.next() == seen);
    CHECK(seen->samples == samples);
    CHECK(seen->samples == other.next().samples);
    CHECK(loader.statistics().batches == step + 1);
  }
}

TEST_CASE("without a shuffle the order is that of the shards") {
  const pairs_set set;
  skip_log skips;
  const pair_source source(set.shards, skips);
  loader_config config = config_of(2, 16);
  config.shuffle = false;
  pair_loader loader(source, set.words, config);
  const auto found = batches(loader, 3);
  for (motet::isize i = 0; i < 48; ++i)
    CHECK(found[static_cast<std::size_t>(i / 16)].samples[static_cast<std::size_t>(i % 16)] == i % 40);
}
