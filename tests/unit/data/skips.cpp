// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/skips.hpp>

#include <thread>

using namespace motet;

TEST_CASE("counts by reason, names the first few, and a sample once") {
  skip_log log;
  CHECK(log.summary().empty());
  for (int i = 0; i < 7; ++i) log.report(skip::bad_picture, "p" + std::to_string(i));
  log.report(skip::bad_picture, "p3", "again");
  log.report(skip::no_caption, "c");
  log.report(skip::bad_shard, "s", "here");
  log.report(skip::bad_shard, "s", "there");
  CHECK(log.count(skip::bad_picture) == 7);
  CHECK(log.count() == 10);
  CHECK(log.names(skip::bad_picture).size() == 5);
  CHECK(log.summary() ==
        "2 damaged places in shards (s (here), s (there)), 1 samples without caption (c), 7 damaged pictures "
        "(p0, p1, p2, p3, p4, ...)");
}

TEST_CASE("strict throws the message of the reason") {
  skip_log log(true);
  CHECK_THROWS_WITH_AS(log.report(skip::bad_shard, "s", "cut"), doctest::Contains("MT-D04"), error);
  CHECK_THROWS_WITH_AS(log.report(skip::no_picture, "k"), doctest::Contains("MT-D07"), error);
  CHECK_THROWS_WITH_AS(log.report(skip::bad_picture, "k"), doctest::Contains("MT-D05"), error);
  CHECK(log.count() == 0);
}

TEST_CASE("samples with resampled sounds are told beside what was left out, and are no damage") {
  skip_log log(true);
  CHECK(log.resampled_summary().empty());
  for (int i = 0; i < 7; ++i) log.report_resampled("p" + std::to_string(i % 6), "8000 to 16000", i % 6);
  CHECK(log.resampled() == 6);
  CHECK(log.count() == 0);
  CHECK(log.summary().empty());
  CHECK(log.reports(0, 10).size() == 6);
  CHECK(log.resampled_summary() ==
        "6 samples with sounds of another rate (p0 (8000 to 16000), p1 (8000 to 16000), p2 (8000 to 16000), "
        "p3 (8000 to 16000), p4 (8000 to 16000), ...)");
}

TEST_CASE("threads report together") {
  skip_log log;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log] {
      for (int i = 0; i < 100; ++i) log.report(skip::bad_picture, std::to_string(i));
    });
  }
  for (auto& each : threads) each.join();
  CHECK(log.count() == 100);
}
