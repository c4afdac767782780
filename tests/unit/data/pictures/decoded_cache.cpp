// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <doctest/doctest.h>

#include <motet/data/pictures/decoded_cache.hpp>

#include <string>
#include <thread>

using namespace motet;

namespace {
struct held {
  std::string text;
  motet::isize bytes() const { return static_cast<motet::isize>(text.size()); }
};
}  // namespace

TEST_CASE("what is in stays in, up to a number of bytes") {
  const motet::isize each = static_cast<motet::isize>(sizeof(held)) + 48 + 100;
  decoded_cache<held> cache(5, 3 * each + 10);
  CHECK(cache.find(0) == nullptr);
  for (motet::isize i = 0; i < 5; ++i) cache.keep(i, {std::string(100, static_cast<char>('a' + i))});
  for (motet::isize i = 0; i < 5; ++i) {
    REQUIRE((cache.find(i) != nullptr) == (i < 3));
    if (i < 3) CHECK(cache.find(i)->text == std::string(100, static_cast<char>('a' + i)));
  }
  cache.keep(1, {"another"});
  CHECK(cache.find(1)->text.size() == 100);
  decoded_cache<held> none(5, 0);
  none.keep(1, {"a"});
  CHECK(none.find(1) == nullptr);
}

TEST_CASE("several threads keep the same samples") {
  decoded_cache<held> cache(50, 1 << 20);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (motet::isize i = 0; i < 50; ++i) {
        if (const held* found = cache.find(i)) CHECK(found->text == std::to_string(i));
        else cache.keep(i, {std::to_string(i)});
      }
    });
  for (std::thread& each : threads) each.join();
  for (motet::isize i = 0; i < 50; ++i) CHECK(cache.find(i)->text == std::to_string(i));
}
