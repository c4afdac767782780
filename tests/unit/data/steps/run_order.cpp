// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/steps/run_order.hpp>

#include <set>

using namespace motet;

TEST_CASE("epochs one after another, each a permutation, at any place") {
  run_order order(10, 3, true), again(10, 3, true), plain(10, 3, false);
  std::vector<motet::isize> first;
  for (motet::isize epoch = 0; epoch < 3; ++epoch) {
    std::set<motet::isize> seen;
    for (motet::isize i = 0; i < 10; ++i) {
      seen.insert(order(10 * epoch + i));
      CHECK(plain(10 * epoch + i) == i);
      first.push_back(order(10 * epoch + i));
    }
    CHECK(seen.size() == 10);
  }
  for (motet::isize place = 29; place >= 0; --place)
    CHECK(again(place) == first[static_cast<std::size_t>(place)]);
}

TEST_CASE("a replacement is not in the batch, is whole, and is found when one is left") {
  const std::vector<motet::isize> chosen{0, 1, 2};
  std::set<motet::isize> found;
  for (motet::isize place = 0; place < 40; ++place) {
    const auto whole = [](motet::isize sample) { return sample % 2 == 1; };
    const motet::isize made = replacement(8, 5, place, chosen, whole);
    CHECK(made == replacement(8, 5, place, chosen, whole));
    found.insert(made);
    CHECK(replacement(1000, 5, place, chosen, [](motet::isize sample) { return sample == 777; }) == 777);
    CHECK(replacement(3, 5, place, chosen, [](motet::isize) { return true; }) == -1);
    CHECK(replacement(8, 5, place, chosen, [](motet::isize) { return false; }) == -1);
  }
  CHECK(found == std::set<motet::isize>{3, 5, 7});
}

TEST_CASE("positions that do not fit are refused with the numbers") {
  struct source {
    motet::isize size() const { return 5; }
    std::uint64_t fingerprint() const { return 9; }
  };
  const auto told = [](const data_position& from) -> std::string {
    try {
      check_position(source{}, 1, from);
    } catch (const error& problem) {
      return problem.what();
    }
    return "";
  };
  CHECK(told({1, 9, 5, 12, {3, 4}}).empty());
  CHECK(told({1, 9, 6, 12}).find("saved with a data set of 6 samples, this one has 5") != std::string::npos);
  CHECK(told({1, 8, 5, 12}).find("of other names") != std::string::npos);
  CHECK(told({2, 9, 5, 12}).find("saved with seed 2, now 1") != std::string::npos);
  CHECK(told({1, 9, 5, -1}).find("place -1") != std::string::npos);
  CHECK(told({1, 9, 5, 3, {3}}).find("place 3 waits, before place 3") != std::string::npos);
}
