// SPDX-License-Identifier: Apache-2.0
#include <motet/strategy/sample_parts.hpp>

#include <motet/meta/list.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;

static_assert(sample_parts{7, 2, 2}.of(0, 0).size() == 2 && sample_parts{7, 2, 2}.of(1, 1).begin == 6);

TEST_CASE("parts tile the samples, whatever the counts, and each sample is found where it is") {
  for (const motet::isize samples : {1, 5, 12, 31})
    for (const std::int32_t microbatches : {1, 3, 5})
      for (const std::int32_t replicas : {1, 2, 3})
        for (const std::int32_t tensor : {1, 2})
          for (const std::int32_t context : {1, 3}) {
            const sample_parts all{samples, microbatches, replicas, tensor, context};
            std::vector<int> times(static_cast<std::size_t>(samples), 0);
            motet::isize parts = 0;
            all.each([&](std::int32_t m, std::int32_t r, std::int32_t k, interval own) {
              ++parts;
              for (motet::isize s = own.begin; s < own.end; ++s) {
                ++times[static_cast<std::size_t>(s)];
                all.each_with({s, s + 1}, [&](std::int32_t n, std::int32_t replica, std::int32_t shard) {
                  CHECK((n == m && replica == r && shard == k));
                });
              }
            });
            CHECK_EQ(parts, all.count());
            for (const int each : times) CHECK_EQ(each, 1);
          }
}

TEST_CASE("an interval is found in all parts that have some of it, in the order of samples") {
  const sample_parts all{12, 2, 3};
  std::vector<std::int32_t> found;
  all.each_with({3, 9}, [&](std::int32_t m, std::int32_t r, std::int32_t) { found.push_back(10 * m + r); });
  CHECK(found == std::vector<std::int32_t>{1, 2, 10, 11});
}

TEST_CASE("a part without samples is with the one before it, of the same microbatch and replica") {
  const sample_parts all{5, 2, 2, 2};  // 3 and 2, then 2 and 1, and 1 and 1
  const interval none = all.of(0, 1, 1);
  REQUIRE(none.size() == 0);
  int times = 0;
  all.each_with(none, [&](std::int32_t m, std::int32_t r, std::int32_t k) {
    ++times;
    CHECK((m == 0 && r == 1 && k == 0));
  });
  CHECK_EQ(times, 1);
}
