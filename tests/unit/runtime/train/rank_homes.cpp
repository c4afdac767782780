// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/rank_homes.hpp>

#include <motet/backend/transport/local/local.hpp>
#include <motet/schedule/core/compile.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace motet;

namespace {

template <class End>
struct home_at {
  std::int32_t rank = -1, lane = -1;
  int threads = 0;
  bool fp8 = false;
  std::string offload_folder;
  End* end = nullptr;
  const score_sheet* sheet = nullptr;
  motet::isize work = 0, scratch = 0;
  void prepare(motet::isize bytes, motet::isize each) { work = bytes, scratch = each; }
};
using noted_home = home_at<local::endpoint>;
// Ends whose lanes are streams. Some can be moved to others.
struct still_end {
  static constexpr bool lanes_are_streams = true;
  std::int32_t enter(std::int32_t) { return 0; }
  void meet_lanes() {}
  void tell(std::int32_t) {}
  void follow(std::int32_t) {}
};
struct moving_end : still_end {
  std::string* told = nullptr;
  void share_lanes(const std::vector<double>& shares) {
    for (const double each : shares) *told += std::to_string(static_cast<int>(each)) + " ";
  }
  void move_lanes() { *told += "moves "; }
};
// Two modules in lanes of their own on rank 1, of which the first is on rank 0 alone.
score two_lanes() {
  score from;
  for (int k = 0; k < 2; ++k) {
    voice each;
    each.module = k;
    each.lane = k;
    each.stages = 2 - k;
    from.add(each, [](int stage) { return 1 - stage; });
  }
  from.rank();
  from.play(op::forward, 0, 1, 0);
  from.play(op::backward, 0, 1, 0);
  from.rank();
  for (const op what : {op::forward, op::backward})
    for (int k = 0; k < 2; ++k) from.play(what, k, 0, 0);
  return from;
}
struct two_ranks {
  score_sheet sheet{compile(two_lanes())};
  local::world world{2, sheet.messages, std::vector<std::vector<std::int32_t>>{}};
  local::endpoint ends[2] = {{world, 0}, {world, 1}};
  std::vector<std::int32_t> here{0, 1};
  rank_homes<noted_home> made(const rank_options& how) {
    const auto end = [this](std::int32_t r) -> local::endpoint& { return ends[r]; };
    return {sheet, here, end, how};
  }
};

}  // namespace

TEST_CASE("each lane of the ranks that live here has a home, with its share of threads and its temporaries") {
  two_ranks ranks;
  ranks.here = {1};
  rank_homes<noted_home> all = ranks.made({.threads = 4, .shares = {.75, .25}});
  CHECK(!all.live(0));
  REQUIRE(all.live(1));
  int seen = 0;
  all.each([&](const noted_home& each) {
    CHECK(each.rank == 1);
    CHECK(each.end == &ranks.ends[1]);
    CHECK(each.threads == (seen++ == 0 ? 3 : 1));
  });
  CHECK(seen == 2);
  auto room = all.no_room();
  room[1][0] = {100, 10};
  room[1][1] = {1000, 20};
  std::vector<rank_memory> told(2);
  all.tell(room, told);
  CHECK(told[0].total() == 0);
  CHECK(told[1].work == 100);
  CHECK(told[1].beside == 1020);
  CHECK(told[1].total() == 100 + 3 * 10 + 1020);
  all.prepare(room);
  CHECK(all.of(1).work == 100);
  CHECK(all.of(1, 1).scratch == 20);
  CHECK(all.of(1, 1).lane == 1);
}

TEST_CASE("shares are dealt again, one above zero for each lane") {
  two_ranks ranks;
  rank_homes<noted_home> all = ranks.made({.threads = 4});
  all.share({1, 3});
  CHECK(all.of(1, 0).threads == 1);
  CHECK(all.of(1, 1).threads == 3);
  CHECK(all.of(0).threads == 4);
  for (const std::vector<double>& wrong :
       {std::vector<double>{1}, {1, 0}, {1, -1}, {.5, .25, .25}, {1, std::nan("")}})
    CHECK_THROWS_WITH_AS(all.share(wrong), doctest::Contains("MT-R63"), error);
  CHECK(all.of(1, 1).threads == 3);
}

TEST_CASE("streams of lanes move once all shares are said, or their shares stay") {
  two_ranks ranks;
  still_end still[2];
  const auto stays = [&](std::int32_t r) -> still_end& { return still[r]; };
  rank_homes<home_at<still_end>> stay(ranks.sheet, ranks.here, stays, {});
  CHECK_THROWS_WITH_AS(stay.share({1, 3}), doctest::Contains("2 shares were given. "), error);
  CHECK_THROWS_WITH_AS(stay.share({1, 3}), doctest::Contains("MT-R65"), error);
  std::string told;
  moving_end moving[2];
  for (moving_end& each : moving) each.told = &told;
  const auto moves = [&](std::int32_t r) -> moving_end& { return moving[r]; };
  rank_homes<home_at<moving_end>> move(ranks.sheet, ranks.here, moves, {});
  CHECK_THROWS_WITH_AS(move.share({1, 0}), doctest::Contains("MT-R63"), error);
  CHECK(told.empty());
  move.share({1, 3});
  CHECK(told == "1 3 moves ");  // in the first rank one module alone computes
}
