// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/samples/example.hpp>

#include <unit/data/pairs.hpp>

using namespace motet;

TEST_CASE("pixels and tokens of one sample, the same every time") {
  const scratch folder;
  skip_log skips;
  const pair_source source({write_pairs(folder, "a.tar", 0, 6)}, skips);
  const tokenizer words = pairs_tokenizer();
  example_cache cache(source.size(), 1 << 20);
  const example_config config{.image = 8, .context = 20};
  example_reader plain(source, words, config), cached(source, words, config, &cache);
  for (int round = 0; round < 2; ++round) {
    for (motet::isize i = 0; i < 6; ++i) {
      std::vector<float> first(3 * 64), second(3 * 64);
      std::vector<tokenizer::token> one, two;
      REQUIRE(plain.read(i, first.data(), one));
      REQUIRE(cached.read(i, second.data(), two));
      CHECK(first == second);
      CHECK(one == two);
      CHECK(words.decode(one).starts_with("a picture of number " + std::to_string(i)));
      CHECK(cached.get(i)->may_flip == (i % 4 != 0));
      CHECK(cache.find(i) != nullptr);
    }
  }
}

TEST_CASE("damaged pictures and blank captions are left out, or thrown") {
  const scratch folder;
  const std::vector<std::string> shards{
      write_pairs(folder, "a.tar", 0, 4, [](motet::isize i, made_sample& made) {
        if (i == 1) made.picture.resize(30);
        if (i == 2) made.caption = " \n\t";
        if (i == 3) made.caption = "\n two words \n";
      })};
  const tokenizer words = pairs_tokenizer();
  skip_log skips, strict(true);
  const pair_source source(shards, skips), strict_source(shards, strict);
  example_reader reader(source, words, {.image = 4}), strict_reader(strict_source, words, {.image = 4});
  CHECK(reader.get(0) != nullptr);
  CHECK(reader.get(1) == nullptr);
  CHECK(reader.get(2) == nullptr);
  CHECK(words.decode(reader.get(3)->tokens) == "two words");
  CHECK(skips.count(skip::bad_picture) == 1);
  CHECK(skips.count(skip::no_caption) == 1);
  CHECK(code_of([&] { strict_reader.get(1); }) == "MT-D05");
  CHECK(code_of([&] { strict_reader.get(2); }) == "MT-D07");
}

TEST_CASE("a picture that no library can read stops the run instead of emptying it") {
  const scratch folder;
  skip_log skips;
  const pair_source source(
      {write_pairs(folder, "a.tar", 0, 2,
                   [](motet::isize, made_sample& made) { made.picture = "\x89PNG, or so it says"; })},
      skips);
  const tokenizer words = pairs_tokenizer();
  example_reader reader(source, words, {.image = 4});
  if (has_png) {
    CHECK(reader.get(0) == nullptr);
  } else {
    CHECK(code_of([&] { reader.get(0); }) == "MT-D06");
  }
}

TEST_CASE("the cache keeps to its budget") {
  const pair_example made{noise_picture(10, 10, 1), {1, 2, 3}, true};
  example_cache none(5, 0), small(5, 1000);
  none.keep(0, made);
  CHECK(none.find(0) == nullptr);
  for (motet::isize i = 0; i < 5; ++i) small.keep(i, made);
  motet::isize kept = 0;
  for (motet::isize i = 0; i < 5; ++i) kept += small.find(i) != nullptr ? 1 : 0;
  CHECK(kept == 2);
  CHECK(small.find(0)->shot == made.shot);
}

TEST_CASE("options out of range") {
  CHECK_THROWS_AS(check(example_config{.image = 0}), error);
  CHECK_THROWS_AS(check(example_config{.context = 1}), error);
  CHECK_THROWS_AS(check(example_config{.colours = {{0, 0, 0}, {1, 0, 1}}}), error);
}
