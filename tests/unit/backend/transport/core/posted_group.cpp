// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/transport/core/posted_group.hpp>

#include <motet/backend/transport/local/local.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <string>

using namespace motet;

namespace {

// A call, and a word of the member who posts it.
struct post : transports::call {
  int word = 0;
};
class group;
class group_set : public transports::posted_groups<group, local::world, post> {
 public:
  using posted_groups::posted_groups;
};

// Writes down what it is asked for.
class group : public transports::posted_group<group, local::world, local::endpoint, post> {
 public:
  group(group_set& set, std::int32_t number, local::endpoint& own) : posted_group(set, number, own) {}
  ~group() { end_calls(); }
  std::string told;
  int words = 0;  // of all members, in their order
  std::vector<interval> summed;

 private:
  friend posted_group;
  void posts(post& own) {
    told += "posts ";
    own.word = member() + 1;
  }
  void perform(const std::vector<post>& all) {
    told += "performs ";
    words = 0;
    for (const post& each : all) words = words * 10 + each.word;
    const auto kind = all[0].what;
    if (kind == transports::call_kind::barrier) return;
    if (kind == transports::call_kind::all_reduce || kind == transports::call_kind::reduce_scatter)
      return the_sum(
          all, [&](const std::byte* const* parts, std::byte* const* outs, motet::isize count, interval at) {
            summed.push_back(at);
            all[0].sum(parts, size(), outs, count, at);
          });
    each_copy(all, [](std::byte* to, const std::byte* from, motet::isize bytes) {
      if (to != from && bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
    });
  }
  void performed(post&) { told += "performed "; }
  void completes(const std::vector<post>&) { told += "completes "; }
  void leaves(const std::vector<post>&) { told += "leaves "; }
};

const std::vector<std::vector<std::int32_t>> both = {{0, 1}};

// Two members of one thread: no call that they make waits.
struct two {
  local::world world{2, 0, {}};
  group_set set;
  local::endpoint ends[2] = {{world, 0}, {world, 1}};
  group first{set, 0, ends[0]}, second{set, 0, ends[1]};
  explicit two(group_options options = {}) : set(world, both, options) {}
};

}  // namespace

TEST_CASE("each member posts, performs when all have come, and completes when all have performed") {
  two of;
  const ticket one = of.first.barrier();
  CHECK(of.first.told == "posts ");
  CHECK_FALSE(of.first.test(one));
  const ticket other = of.second.barrier();
  CHECK(of.second.told == "posts performs performed ");
  CHECK(of.second.words == 12);
  CHECK_FALSE(of.second.test(other));
  CHECK(of.first.test(one));
  CHECK(of.first.told == "posts performs performed completes ");
  CHECK(of.second.test(other));
  CHECK(of.second.told == "posts performs performed completes ");
  CHECK(of.first.test(one));  // nothing is done twice
  CHECK(of.first.told == "posts performs performed completes ");
}

TEST_CASE("several calls are under way, on boards that are used again") {
  two of({.in_flight = 2});
  for (int turn = 0; turn < 4; ++turn) {
    float a[2] = {1, 2}, b[2] = {10, 20}, c[2] = {3, 4}, d[2] = {30, 40};
    const ticket x = of.first.all_reduce_sum(a, 2), y = of.first.all_reduce_sum(c, 2);
    const ticket z = of.second.all_reduce_sum(b, 2), w = of.second.all_reduce_sum(d, 2);
    CHECK(of.first.test(y));
    CHECK(of.first.test(x));
    CHECK(of.second.test(z));
    CHECK(of.second.test(w));
    for (int i = 0; i < 2; ++i) {
      CHECK(a[i] == 11.0f * static_cast<float>(i + 1));
      CHECK(b[i] == a[i]);
      CHECK(d[i] == c[i]);
    }
    CHECK(c[0] == 33);
  }
  // Each has a slice of a sum.
  REQUIRE(of.first.summed.size() == of.second.summed.size());
  CHECK(of.first.summed[0].size() + of.second.summed[0].size() == 2);
}

TEST_CASE("copies of calls that move bytes have their places") {
  two of;
  const std::byte a[3] = {std::byte{1}, std::byte{2}, std::byte{3}},
                  b[3] = {std::byte{4}, std::byte{5}, std::byte{6}};
  std::byte to_a[3] = {}, to_b[3] = {};
  const motet::isize sizes[2] = {1, 2};
  const ticket x = of.first.all_gather(a, to_a, sizes), y = of.second.all_gather(b, to_b, sizes);
  CHECK(of.first.test(x));
  CHECK(of.second.test(y));
  CHECK(std::memcmp(to_a, to_b, 3) == 0);
  CHECK(to_a[0] == std::byte{1});
  CHECK(to_a[1] == std::byte{4});
  CHECK(to_a[2] == std::byte{5});
  // The first keeps one and gives two, the second gives two and keeps one.
  const motet::isize of_first[2] = {1, 2}, of_second[2] = {2, 1};
  const ticket v = of.first.all_to_all(a, of_first, to_a, of_first),
               w = of.second.all_to_all(b, of_second, to_b, of_second);
  CHECK(of.first.test(v));
  CHECK(of.second.test(w));
  CHECK(to_a[0] == std::byte{1});
  CHECK(to_a[1] == std::byte{4});
  CHECK(to_b[0] == std::byte{2});
  CHECK(to_b[1] == std::byte{3});
  CHECK(to_b[2] == std::byte{6});
}

TEST_CASE("who withdraws before all have come stops the others, and after that lets them finish") {
  {
    two of;
    of.first.barrier();
    of.first.withdraw();
    CHECK_THROWS_AS(of.second.barrier(), local::world::stopped);
    CHECK(of.first.told == "posts ");
    CHECK(of.second.told == "posts ");
  }
  two of;
  of.first.barrier();
  const ticket other = of.second.barrier();
  of.first.withdraw();
  CHECK(of.first.told == "posts leaves ");
  CHECK(of.second.test(other));
  CHECK(of.second.told == "posts performs performed completes ");
  CHECK(of.world.is_stopped());
}

TEST_CASE("who is no member cannot join") {
  local::world world(2, 0, {});
  const std::vector<std::vector<std::int32_t>> one = {{0}};
  group_set set(world, one);
  local::endpoint end(world, 1);
  CHECK_THROWS_WITH_AS(group(set, 0, end), doctest::Contains("rank 1 is no member of group 0"), error);
}
