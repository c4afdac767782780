// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/pipeline_config.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a rank has at least one thread, and a GPU's has no more") {
  const auto with = [](int threads, bool on_host) {
    pipeline_config config;
    config.each.threads = threads;
    return checked(config, on_host).each.threads;
  };
  CHECK(with(1, true) == 1);
  CHECK(with(4096, true) == 4096);
  CHECK(with(1, false) == 1);
  CHECK_THROWS_WITH_AS(with(0, true), doctest::Contains("ranks with 0 threads each, wanted 1 to 4096"),
                       error);
  CHECK_THROWS_WITH_AS(with(2, false), doctest::Contains("ranks with 2 threads each, wanted 1 to 1"), error);
}
