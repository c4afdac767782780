// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/device/continued_context.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;

TEST_CASE("a cache has rows of keys and values for each head of each layer, apart from each other") {
  cpu::key_value_cache<float> cache(2, 3, 5, 4);
  CHECK(cache.bytes() == 2 * 2 * 3 * 5 * 4 * 4);
  const auto each = [&](auto&& use) {
    for (motet::isize layer = 0; layer < 2; ++layer)
      for (motet::isize head = 0; head < 3; ++head)
        for (motet::isize r = 0; r < 4; ++r)
          for (motet::isize j = 0; j < 5; ++j) {
            const auto number = static_cast<float>(((layer * 3 + head) * 4 + r) * 5 + j);
            use(cache.keys(layer, head).row(r)[j], 1 + number);
            use(cache.values(layer, head).row(r)[j], -1 - number);
          }
  };
  each([](float& place, float number) { place = number; });
  each([](const float& place, float number) { CHECK(place == number); });
  cache.add(3);
  CHECK(cache.rows() == 3);
  cache.clear();
  CHECK(cache.rows() == 0);
  CHECK(cpu::key_value_cache<float>().bytes() == 0);
}

TEST_CASE("a pass begins behind the rows of its cache; what it takes is told") {
  cpu::key_value_cache<float> cache(1, 1, 2, 10);
  cache.add(4);
  std::vector<std::byte> memory(256);
  cpu::context real;
  real.memory = arena(memory.data(), 256);
  cpu::context dry;
  cpu::continue_rows(real, cache, {}, [&](cpu::continued_context<float>& here) {
    CHECK(here.past(2) == 4);
    here.memory.take<float>(16);
    CHECK(here.rounded.at(nullptr) == nullptr);
  });
  CHECK(real.memory.peak() == 64);
  const float weights[3]{};
  const bf16 copy[3]{};
  cpu::continue_rows(dry, cache, {weights, copy}, [&](cpu::continued_context<float>& here) {
    CHECK(here.past(2) == 8);  // the longest
    here.scratch.take<float>(1);
    CHECK(here.rounded.at(weights + 2) == copy + 2);
  });
  CHECK(dry.scratch.peak() == 64);
}
