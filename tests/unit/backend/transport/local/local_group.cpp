// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/transport/local/local_group.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <collective_laws.hpp>
#include <drawn_cases.hpp>
#include <mutex>
#include <rank_threads.hpp>

using namespace motet;

namespace {
std::vector<std::vector<std::int32_t>> one_of_all(std::int32_t ranks) {
  std::vector<std::int32_t> all;
  for (std::int32_t r = 0; r < ranks; ++r) all.push_back(r);
  return {all};
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("the laws of collectives hold between threads, in many groups") {
  for (const std::int32_t ranks : {1, 2, 3, 5, 8}) {
    CAPTURE(ranks);
    local::world world(ranks, 0, {});
    auto lists = laws::groups_of(ranks);
    if (ranks > 5) lists.resize(5);
    local::group_set set(world, lists);
    std::mutex mutex;
    std::vector<std::string> wrong;
    const std::string thrown = laws::thrown_by_ranks(world, [&](std::int32_t rank) {
      local::endpoint end(world, rank);
      for (std::size_t g = 0; g < lists.size(); ++g) {
        if (std::find(lists[g].begin(), lists[g].end(), rank) == lists[g].end()) continue;
        if (!laws::in_our_half(g + static_cast<std::size_t>(ranks))) continue;
        local::group group(set, static_cast<std::int32_t>(g), end);
        const auto found = laws::check_collectives(group, 17 * g + 3);
        const std::lock_guard lock(mutex);
        wrong.insert(wrong.end(), found.begin(), found.end());
      }
    });
    CHECK(thrown == "");
    CHECK_MESSAGE(wrong.empty(), (wrong.empty() ? "" : wrong[0]));
  }
}

TEST_CASE("the laws hold with one call in flight") {
  local::world world(3, 0, {});
  local::group_set set(world, one_of_all(3), {.in_flight = 1});
  std::atomic<int> wrong{0};
  CHECK(laws::thrown_by_ranks(world, [&](std::int32_t rank) {
          local::endpoint end(world, rank);
          local::group group(set, 0, end);
          wrong += static_cast<int>(laws::check_collectives(group).size());
        }) == "");
  CHECK(wrong == 0);
}

TEST_CASE("calls on two groups may be under way at once") {
  local::world world(4, 0, {});
  const std::vector<std::vector<std::int32_t>> lists = {{0, 1, 2, 3}, {3, 2, 1, 0}};
  local::group_set set(world, lists);
  std::atomic<int> wrong{0};
  CHECK(laws::thrown_by_ranks(world, [&](std::int32_t rank) {
          local::endpoint end(world, rank);
          local::group one(set, 0, end), two(set, 1, end);
          wrong += laws::check_two_groups(one, two);
        }) == "");
  CHECK(wrong == 0);
}

TEST_CASE("a call that is not waited for is ended with the group") {
  local::world world(3, 0, {});
  local::group_set set(world, one_of_all(3));
  std::atomic<int> wrong{0};
  CHECK(laws::thrown_by_ranks(world, [&](std::int32_t rank) {
          local::endpoint end(world, rank);
          std::vector<float> numbers(5000, 1.0f);
          {
            local::group group(set, 0, end);
            group.all_reduce_sum(numbers.data(), 5000);
          }
          for (const float each : numbers) wrong += each != 3;
        }) == "");
  CHECK(wrong == 0);
}

TEST_CASE("members that do not do the same are told so") {
  const auto outcome = [](auto call) {
    local::world world(2, 0, {});
    local::group_set set(world, one_of_all(2));
    return laws::thrown_by_ranks(world, [&](std::int32_t rank) {
      local::endpoint end(world, rank);
      local::group group(set, 0, end);
      std::vector<float> numbers(64);
      call(group, rank, numbers.data());
    });
  };
  const std::string sizes =
      outcome([](local::group& g, std::int32_t rank, float* x) { g.wait(g.all_reduce_sum(x, 30 + rank)); });
  CHECK(has(sizes, "MT-B04"));
  CHECK(has(sizes, "all_reduce_sum of 30 x 4 bytes"));
  CHECK(has(sizes, "all_reduce_sum of 31 x 4 bytes"));
  const std::string kinds = outcome([](local::group& g, std::int32_t rank, float* x) {
    g.wait(rank == 0 ? g.barrier() : g.all_reduce_sum(x, 0));
  });
  CHECK(has(kinds, "barrier"));
  const std::string types = outcome([](local::group& g, std::int32_t rank, float* x) {
    g.wait(rank == 0 ? g.all_reduce_sum(x, 8) : g.all_reduce_sum(reinterpret_cast<double*>(x), 8));
  });
  CHECK(has(types, "8 x 8 bytes"));
  const std::string exchange = outcome([](local::group& g, std::int32_t rank, float* x) {
    auto* const bytes = reinterpret_cast<std::byte*>(x);
    const std::vector<motet::isize> from = {4, 4}, to = {4, rank == 0 ? 5 : 4};
    g.wait(g.all_to_all(bytes, from, bytes + 64, to));
  });
  CHECK(has(exchange, "all_to_all"));
  const std::string few = outcome([](local::group& g, std::int32_t, float* x) {
    const std::vector<motet::isize> counts = {4};
    g.wait(g.reduce_scatter_sum(static_cast<const float*>(x), x, counts));
  });
  CHECK(has(few, "1 counts for a group of 2"));
  const std::string negative = outcome([](local::group& g, std::int32_t, float* x) {
    const std::vector<motet::isize> counts = {4, -1};
    g.wait(g.reduce_scatter_sum(static_cast<const float*>(x), x, counts));
  });
  CHECK(has(negative, "a count is -1"));
  const std::string root = outcome([](local::group& g, std::int32_t, float* x) {
    g.wait(g.broadcast(reinterpret_cast<std::byte*>(x), 4, 2));
  });
  CHECK(has(root, "member 2 of a group of 2"));
}

TEST_CASE("who is no member cannot join") {
  local::world world(2, 0, {});
  const std::vector<std::vector<std::int32_t>> lists = {{0}};
  local::group_set set(world, lists);
  local::endpoint end(world, 1);
  CHECK_THROWS_WITH_AS(local::group(set, 0, end), doctest::Contains("rank 1 is no member of group 0"), error);
}

TEST_CASE("a stop ends those who wait for a member that does not come") {
  local::world world(3, 0, {});
  local::group_set set(world, one_of_all(3));
  std::atomic<int> stopped{0};
  CHECK(has(laws::thrown_by_ranks(world,
                                  [&](std::int32_t rank) {
                                    local::endpoint end(world, rank);
                                    local::group group(set, 0, end);
                                    if (rank == 2) throw std::runtime_error("rank 2 has had enough");
                                    try {
                                      group.wait(group.barrier());
                                    } catch (const local::world::stopped&) {
                                      ++stopped;
                                      throw;
                                    }
                                  }),
            "had enough"));
  CHECK(stopped == 2);
}
