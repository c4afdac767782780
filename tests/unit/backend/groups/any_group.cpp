// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/groups/any_group.hpp>

#include <motet/backend/groups/silent_group.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <thread_members.hpp>

namespace motet {
namespace {

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
    laws::run_members(size, [&](std::int32_t, const any_group& group) {
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
  laws::run_members(3, [&](std::int32_t, const any_group& group) {
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

TEST_CASE("a gather and a sum come in two halves, of parts that lie apart") {
  std::atomic<int> wrong{0};
  laws::run_members(2, [&](std::int32_t, const any_group& group) {
    const isize me = group.member();
    // The first half of each member's two numbers, then the second.
    std::vector<float> all(4, -1), sums{1, 2, 3, 4};
    for (isize i = 0; i < 2; ++i) all[static_cast<std::size_t>(2 * me + i)] = static_cast<float>(10 * me + i);
    const std::vector<isize> four(2, 4), one(2, 1);
    for (isize half = 0; half < 2; ++half) {
      const std::vector<isize> in_bytes{4 * half, 8 + 4 * half}, numbers{half, 2 + half};
      const auto at = static_cast<std::size_t>(2 * me + half);
      const ticket rows = group.begin_all_gather(bytes(&all[at]), bytes(all.data()), four, in_bytes);
      const ticket sum = group.begin_reduce_scatter_sum<float>(sums.data(), &sums[at], one, numbers);
      group.finish(sum);
      group.finish(rows);
      wrong += sums[at] != static_cast<float>(2 * (2 * me + half + 1));
    }
    wrong += all != std::vector<float>{0, 1, 10, 11};
  });
  CHECK(wrong == 0);
}

// A group that knows nothing of places.
struct in_a_row {
  silent_group inside{2, 0};
  std::int32_t size() const { return 2; }
  std::int32_t member() const { return 0; }
  bool test(ticket) const { return true; }
  void wait(ticket) const {}
  template <class T>
  ticket all_reduce_sum(T*, isize) const {
    return 0;
  }
  template <class T>
  ticket reduce_scatter_sum(const T* from, T* to, std::span<const isize> counts) const {
    return inside.reduce_scatter_sum(from, to, counts);
  }
  ticket all_gather(const std::byte* own, std::byte* all, std::span<const isize> counts) const {
    return inside.all_gather(own, all, counts);
  }
  ticket all_to_all(const std::byte*, std::span<const isize>, std::byte*, std::span<const isize>) const {
    return 0;
  }
  ticket broadcast(std::byte*, isize, std::int32_t) const { return 0; }
  ticket barrier() const { return 0; }
};
static_assert(collective_group<in_a_row> && !takes_places<in_a_row>);
static_assert(takes_places<local::group> && takes_places<silent_group>);

TEST_CASE("places are refused by a group that knows none") {
  in_a_row inside;
  const any_group group(inside);
  std::vector<float> all{1, 2};
  const std::vector<isize> four(2, 4), one(2, 1), places{0, 1};
  group.all_gather(bytes(all.data()), bytes(all.data()), four);
  CHECK(all == std::vector<float>{1, 1});
  group.reduce_scatter_sum<float>(all.data(), all.data(), one);
  CHECK_THROWS_WITH_AS(group.begin_all_gather(bytes(all.data()), bytes(all.data()), four, places),
                       doctest::Contains("MT-B04"), error);
  CHECK_THROWS_WITH_AS(group.begin_reduce_scatter_sum<float>(all.data(), all.data(), one, places),
                       doctest::Contains("this group knows none"), error);
}

}  // namespace
}  // namespace motet
