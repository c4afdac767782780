// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <doctest/doctest.h>
#include <motet/data/steps/loader.hpp>
#include <motet/data/steps/pair_maker.hpp>
#include <motet/data/steps/steps_in_turn.hpp>

#include <unit/data/pairs.hpp>

#include <algorithm>

using namespace motet;

TEST_CASE("a maker that begins in the middle makes what the loader gives there, in its own memory") {
  const scratch folder;
  skip_log skips;
  const pair_source source({write_pairs(folder, "a.tar", 0, 25, {})}, skips);
  const tokenizer words = pairs_tokenizer();
  loader_config config;
  config.batch = 6;
  config.threads = 2;
  config.example = {.image = 8, .context = 16};
  pair_loader loader(source, words, config);
  loader.next();
  steps_in_turn<pair_maker> maker({config.seed, source.fingerprint(), source.size(), 6}, config, source,
                                  words, config);
  for (int step = 0; step < 5; ++step) {
    const pair_batch &want = loader.next(), &made = maker.next();
    CHECK(made.first == want.first);
    CHECK(made.samples == want.samples);
    CHECK(made.tokens == want.tokens);
    CHECK(made.offsets == want.offsets);
    CHECK(std::equal(made.pixels.data, made.pixels.data + 6 * 3 * 8 * 8, want.pixels.data));
    const auto* const at = reinterpret_cast<const std::byte*>(made.pixels.data);
    CHECK(at >= maker.memory().data());
    CHECK(at < maker.memory().data() + maker.memory().size());
  }
  CHECK(maker.position() == loader.position());
  CHECK(maker.statistics().batches == 5);
}
