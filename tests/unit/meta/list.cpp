// SPDX-License-Identifier: Apache-2.0
#include <motet/meta/list.hpp>

#include <doctest/doctest.h>

#include <utility>

using namespace motet;

// As constant expressions these also show that nothing leaks and nothing is read before it is written.
static_assert([] {
  list<int> all;
  for (int i = 0; i < 100; ++i) all.push(i * i);
  int sum = 0;
  for (const int each : all) sum += each;
  return all.size() == 100 && all[9] == 81 && all.back() == 9801 && sum == 328350;
}());
static_assert([] {
  list<int> a{1, 2, 3}, b = a, c = std::move(a);
  b[0] = 7;
  c = b;
  list<int>& same = c;
  c = same;
  a = list<int>{4};
  return b == c && a.size() == 1 && a[0] == 4 && !(a == b);
}());

TEST_CASE("a pushed element may lie in the list itself") {
  list<int> all{5};
  for (int i = 0; i < 1000; ++i) all.push(all[0]);
  CHECK(all.size() == 1001);
  for (const int each : all) CHECK(each == 5);
}

TEST_CASE("resize fills what is new and keeps what was there") {
  list<int> all{1, 2};
  all.resize(5, 9);
  CHECK(all == list<int>{1, 2, 9, 9, 9});
  all.resize(1);
  CHECK(all == list<int>{1});
  all.resize(3, 8);
  CHECK(all == list<int>{1, 8, 8});
  CHECK(list<int>(4, 6) == list<int>{6, 6, 6, 6});
  CHECK(list<int>(2) == list<int>{0, 0});
}

TEST_CASE("a list that becomes nothing gives back what it had") {
  list<int> all{1, 2}, of{all};
  all = {};
  CHECK(all.empty());
  all = of;
  all.push(3);
  CHECK(of == list<int>{1, 2});
  all = {7};
  CHECK(all == list<int>{7});
}

TEST_CASE("append, clear and pop") {
  const int more[] = {3, 4, 5};
  list<int> all{1, 2};
  all.append(more, 3);
  CHECK(all == list<int>{1, 2, 3, 4, 5});
  all.append(nullptr, 0);
  all.pop();
  CHECK(all == list<int>{1, 2, 3, 4});
  all.clear();
  CHECK(all.empty());
  CHECK(all == list<int>{});
  CHECK(all.begin() == all.end());
}

TEST_CASE("growing in small steps copies little") {
  static int copies;
  copies = 0;
  struct counted {
    int value = 0;
    counted() = default;
    counted(const counted& from) : value(from.value) { ++copies; }
    counted& operator=(const counted& from) {
      value = from.value;
      ++copies;
      return *this;
    }
  };
  list<counted> all;
  const counted one;
  for (int i = 0; i < 10000; ++i) all.append(&one, 1);
  for (int i = 0; i < 10000; ++i) all.resize(all.size() + 1, one);
  CHECK(all.size() == 20000);
  CHECK(copies < 4 * 20000);
  list<counted> room;
  room.reserve(100);
  const counted* const where = room.data();
  for (int i = 0; i < 100; ++i) room.push(one);
  CHECK(room.data() == where);
}

TEST_CASE("a list that was moved from is empty and can be used again") {
  list<int> from{1, 2, 3}, to = std::move(from);
  CHECK(from.empty());
  from.push(4);
  CHECK(from == list<int>{4});
  CHECK(to == list<int>{1, 2, 3});
}

TEST_CASE("equal ones keep their order when sorted") {
  list<std::pair<int, int>> all;
  for (int i = 0; i < 100; ++i) all.push({i * i * 5 % 7, i});
  sort_stably(all, [](const auto& a, const auto& b) { return a.first < b.first; });
  for (motet::isize i = 1; i < all.size(); ++i)
    CHECK((all[i - 1].first < all[i].first ||
           (all[i - 1].first == all[i].first && all[i - 1].second < all[i].second)));
}
