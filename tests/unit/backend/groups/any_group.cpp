// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/groups/any_group.hpp>

#include <motet/backend/transport/local/local_group.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

namespace motet {
namespace {

// Calls member(group) on a thread for each of `size` members.
template <class Member>
void each_member(std::int32_t size, Member member) {
  local::world world(size, 0, {});
  std::vector<std::vector<std::int32_t>> all(1);
  for (std::int32_t r = 0; r < size; ++r) all[0].push_back(r);
  local::group_set set(world, all);
  std::vector<std::thread> threads;
  for (std::int32_t r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      local::endpoint end(world, r);
      local::group group(set, 0, end);
      const any_group any(group);
      member(any);
    });
  for (std::thread& each : threads) each.join();
}
template <class T>
const std::byte* bytes(const T* x) {
  return reinterpret_cast<const std::byte*>(x);
}
template <class T>
std::byte* bytes(T* x) {
  return reinterpret_cast<std::byte*>(x);
}

template <class T>
int wrong_sums(const any_group& group) {
  const isize size = group.size(), me = group.member();
  int wrong = 0;
  std::vector<T> numbers(7, T(static_cast<float>(me + 1))), part(2, T(0.0f)),
      all(static_cast<std::size_t>(2 * size), T(static_cast<float>(me)));
  group.all_reduce_sum(numbers.data(), 7);
  for (const T each : numbers) wrong += static_cast<float>(each) != static_cast<float>(size * (size + 1) / 2);
  const std::vector<isize> counts(static_cast<std::size_t>(size), 2);
  group.reduce_scatter_sum(all.data(), part.data(), counts);
  for (const T each : part) wrong += static_cast<float>(each) != static_cast<float>(size * (size - 1) / 2);
  return wrong;
}

TEST_CASE("one that is empty is a rank by itself, and one of a dry run only has a place") {
  CHECK(any_group().alone());
  CHECK(any_group().member() == 0);
  const any_group place(4, 3);
  CHECK(place.size() == 4);
  CHECK(place.member() == 3);
  CHECK_FALSE(place.alone());
}

TEST_CASE("every call arrives at the group behind") {
  for (const std::int32_t size : {1, 3}) {
    std::atomic<int> wrong{0};
    each_member(size, [&](const any_group& group) {
      const std::int32_t me = group.member();
      const auto members = static_cast<std::size_t>(size);
      wrong += group.size() != size;
      wrong += wrong_sums<float>(group) + wrong_sums<double>(group) + wrong_sums<bf16>(group);

      std::vector<std::int32_t> gathered(members, -1);
      const std::vector<isize> four(members, 4);
      group.all_gather(bytes(&me), bytes(gathered.data()), four);
      for (std::int32_t m = 0; m < size; ++m) wrong += gathered[static_cast<std::size_t>(m)] != m;

      std::vector<std::int32_t> from(members), to(members, -1);
      for (std::int32_t m = 0; m < size; ++m) from[static_cast<std::size_t>(m)] = 10 * me + m;
      group.all_to_all(bytes(from.data()), four, bytes(to.data()), four);
      for (std::int32_t m = 0; m < size; ++m) wrong += to[static_cast<std::size_t>(m)] != 10 * m + me;
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("two exchanges may be on their way while something is computed") {
  std::atomic<int> wrong{0};
  each_member(3, [&](const any_group& group) {
    const isize me = group.member(), next = (me + 1) % 3, before = (me + 2) % 3;
    const double one = 100 + static_cast<double>(me), two = 200 + static_cast<double>(me);
    double from_one = 0, from_two = 0;
    std::vector<isize> send(3, 0), receive(3, 0);
    send[static_cast<std::size_t>(next)] = receive[static_cast<std::size_t>(before)] = sizeof(double);
    const ticket first = group.begin_all_to_all(bytes(&one), send, bytes(&from_one), receive);
    const ticket second = group.begin_all_to_all(bytes(&two), send, bytes(&from_two), receive);
    while (!group.test(second)) std::this_thread::yield();
    group.finish(first);
    group.finish(second);
    wrong += from_one != 100 + static_cast<double>(before);
    wrong += from_two != 200 + static_cast<double>(before);
  });
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace motet
