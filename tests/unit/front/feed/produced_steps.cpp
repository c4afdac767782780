// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <doctest/doctest.h>
#include <motet/front/feed/produced_steps.hpp>

#include "unit/front/producers.hpp"

using namespace motet;
using namespace produced_tests;

TEST_CASE("steps lie in the memory that is told before, and a producer of another version is refused") {
  const produced_set set(true);
  run own(set);
  const data_position start{1, own.data.samples().fingerprint(), own.data.size(), 0};
  const sample_producer other(set.producer());
  produced_options right = served_by({other.port()});
  right.production = production_of(set.wishes, set.shape, own.data);
  produced_steps<sample_maker> all(own.data.samples(), own.data.words(), own.data.sample_config(), start,
                                   right);
  for (int step = 0; step < 6; ++step) {
    const sample_batch& made = all.next();
    const auto* const at = reinterpret_cast<const std::byte*>(made.pixels.data);
    CHECK(at >= all.memory().data());
    CHECK(at < all.memory().data() + all.memory().size());
    CHECK(made.first == 7 * step);
    CHECK(all.position().next == 7 * (step + 1));
    for (const tcp::deadline until(60); all.ahead() == nullptr && !until.over();)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    REQUIRE(all.ahead() != nullptr);
    CHECK(all.ahead()->first == 7 * (step + 1));
  }
  CHECK(all.statistics().batches == 6);
  const json by_whom = all.by_producer();
  REQUIRE(by_whom.items().size() == 1);
  CHECK(by_whom.items()[0].at("steps").integer() >= 6);
  CHECK(by_whom.items()[0].at("waited_seconds").number() >= 0);
  data_position wrong = start;
  wrong.seed = 5;
  CHECK(code_of([&] {
          produced_steps<sample_maker>(own.data.samples(), own.data.words(), own.data.sample_config(), wrong,
                                       right);
        }) == "MT-D12");

  const sample_producer one(set.producer());
  produced_options mine = served_by({one.port()});
  mine.production = production_of(set.wishes, set.shape, own.data);
  mine.production.set("version", "motet 7");
  produced_steps<sample_maker> steps(own.data.samples(), own.data.words(), own.data.sample_config(), start,
                                     mine);
  CHECK_THROWS_WITH_AS(steps.next(), doctest::Contains("version: got \"motet 0.1.0, producers 7\", wanted "),
                       error);
}
