// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/transport/meet/forum.hpp>

#include <doctest/doctest.h>

#include <mutex>

namespace {

using motet::forum;
using motet::meeting_group;

// Ranks that say their words one after the other: what each would hear when all had spoken.
std::vector<std::string> heard;
forum of(std::int32_t rank, std::int32_t ranks) {
  return forum(rank, ranks, [rank](const std::string& own) {
    std::vector<std::string> all = heard;
    all[static_cast<std::size_t>(rank)] = own;
    return all;
  });
}
template <class T>
std::string words(std::initializer_list<T> numbers) {
  return std::string(reinterpret_cast<const char*>(numbers.begin()), numbers.size() * sizeof(T));
}

}  // namespace

TEST_CASE("sums are taken in the order of ranks, parts lie one behind the other") {
  const forum at = of(1, 3);
  meeting_group group(at);
  CHECK(group.size() == 3);
  CHECK(group.member() == 1);
  heard = {words({1e16, 1.0}), "", words({-1e16, 4.0})};
  double numbers[] = {1.0, 2.0};
  group.wait(group.all_reduce_sum(numbers, 2));
  CHECK(numbers[0] == (1e16 + 1.0) - 1e16);
  CHECK(numbers[1] == 7);

  heard = {"abc", "", "e"};
  const std::vector<motet::isize> bytes{3, 1, 1};
  std::byte all[5];
  const std::byte own{'d'};
  CHECK(group.test(group.all_gather(&own, all, bytes)));
  CHECK(std::string(reinterpret_cast<const char*>(all), 5) == "abcde");

  heard = {"", "", "xyz"};
  group.wait(group.broadcast(all, 3, 2));
  CHECK(std::string(reinterpret_cast<const char*>(all), 5) == "xyzde");
}

TEST_CASE("who brings other sizes is named") {
  const forum at = of(0, 2);
  meeting_group group(at);
  heard = {"", words({1.0f})};
  double number = 1;
  CHECK_THROWS_WITH_AS(group.all_reduce_sum(&number, 1),
                       doctest::Contains("member 1 brings 4 bytes, 8 were wanted"), motet::error);
}

TEST_CASE("one process meets itself by rendezvous") {
  const forum at(motet::rendezvous_options{.rank = 0, .ranks = 1, .token = {}});
  CHECK(at.all_gather("here") == std::vector<std::string>{"here"});
}
