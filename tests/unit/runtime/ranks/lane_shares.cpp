// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/ranks/lane_shares.hpp>

#include <motet/backend/transport/local/local.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// Modules with a stage on each of the ranks, in these lanes.
program on_ranks(const std::vector<std::pair<std::int32_t, std::vector<std::int32_t>>>& modules, int ranks) {
  program of;
  for (const auto& [lane, where] : modules) {
    voice each;
    each.module = static_cast<std::int32_t>(of.voices.size());
    each.lane = lane;
    each.stages = static_cast<std::int32_t>(where.size());
    each.first_place = static_cast<std::int32_t>(of.places.size());
    of.voices.push(each);
    for (const std::int32_t rank : where) of.places.push(rank);
  }
  of.starts.resize(ranks + 1, 0);
  return of;
}
struct one_thread_end {};

}  // namespace

TEST_CASE("lanes divide a rank's threads by their shares, and have one at least") {
  struct row {
    std::vector<double> shares;
    int threads;
    std::vector<int> wanted;
  };
  const program two = on_ranks({{0, {0}}, {1, {0}}}, 1), three = on_ranks({{0, {0}}, {1, {0}}, {2, {0}}}, 1);
  for (const auto& [shares, threads, wanted] : std::vector<row>{{{}, 4, {2, 2}},
                                                                {{.75, .25}, 4, {3, 1}},
                                                                {{.25, .75}, 4, {1, 3}},
                                                                {{.75, .25}, 2, {1, 1}},
                                                                {{.9, .1}, 2, {1, 1}},
                                                                {{.5, .5}, 1, {1, 1}},
                                                                {{}, 6, {2, 2, 2}},
                                                                {{.5, .25, .25}, 8, {4, 2, 2}},
                                                                {{.5, .25, .25}, 5, {3, 1, 1}}}) {
    CAPTURE(threads);
    const lane_shares all(wanted.size() == 2 ? two : three, shares);
    REQUIRE(all.lanes(0) == static_cast<std::int32_t>(wanted.size()));
    for (std::size_t l = 0; l < wanted.size(); ++l)
      CHECK(all.threads(0, static_cast<std::int32_t>(l), threads) == wanted[l]);
  }
}

TEST_CASE(
    "a lane that computes alone on its rank has all threads, and so has the first for what comes last") {
  const lane_shares all(on_ranks({{0, {0, 1}}, {1, {1, 2}}}, 4), {.5, .5});
  const auto of_rank = [&](std::int32_t rank) {
    std::vector<int> found;
    for (std::int32_t l = 0; l < all.lanes(rank); ++l) found.push_back(all.threads(rank, l, 4));
    return found;
  };
  CHECK(of_rank(0) == std::vector<int>{4});
  CHECK(of_rank(1) == std::vector<int>{2, 2});
  CHECK(of_rank(2) == std::vector<int>{4, 4});
  CHECK(of_rank(3) == std::vector<int>{4});
}

TEST_CASE("lanes are refused where ranks begin all from one thread") {
  const program beside = on_ranks({{0, {0}}, {1, {0}}}, 1);
  CHECK_NOTHROW(require_lanes<local::endpoint>(beside));
  CHECK_NOTHROW(require_lanes<one_thread_end>(on_ranks({{0, {0}}}, 1)));
  CHECK_THROWS_WITH_AS(require_lanes<one_thread_end>(beside),
                       doctest::Contains("module 1 computes in lane 1"), error);
}
