// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/ranks/group_of_all.hpp>

#include <motet/backend/transport/local/local_group.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/schedules.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace motet;

namespace {

score_sheet sheet_of(const score& order) { return score_sheet(compile(order)); }
std::vector<score> some_orders() {
  return {one_f_one_b::write({4, 6}), zb_h1::write({3, 6}), batch_sync::write({{{2, 4, 2}, {3, 4, 2}}, 2})};
}

// Keep what they are made with.
struct ordered_world {
  std::int32_t ranks = 0;
  std::vector<message_ends> ends;
  std::vector<std::vector<std::int32_t>> members;
  ordered_world(std::int32_t count, std::span<const message_ends> all,
                std::span<const std::vector<std::int32_t>> meetings)
      : ranks(count), ends(all.begin(), all.end()), members(meetings.begin(), meetings.end()) {}
};
struct tagged_world {
  std::int32_t ranks = 0, messages = 0;
  std::size_t meetings = 0;
  tagged_world(std::int32_t count, std::int32_t all, std::span<const std::vector<std::int32_t>> of)
      : ranks(count), messages(all), meetings(of.size()) {}
};

// One that has a meeting of all ranks for the host.
struct world_with_meeting {
  struct meeting {
    int at;
    explicit meeting(int where) : at(where) {}
  };
  static int everyone() { return 7; }
};

}  // namespace

TEST_CASE("schedules of the library take messages in the order in which they are sent") {
  for (const score& order : some_orders()) CHECK_NOTHROW(require_in_order(sheet_of(order)));
}

TEST_CASE("a world that matches messages by their order knows one score, another the most messages of any") {
  std::vector<program> all = only(compile(one_f_one_b::write({2, 4})));
  const score_sheets one(all);
  all.push_back(compile(gpipe::write({2, 4})));
  const score_sheets two(all);
  const meeting_members members(two[0]);
  CHECK(make_world<ordered_world>(one, members).ranks == 2);
  CHECK(make_world<tagged_world>(two, members).messages == two.messages());
  CHECK_THROWS_WITH_AS(make_world<ordered_world>(two, members),
                       doctest::Contains("2 scores, and messages that are matched by their order"), error);
  CHECK_THROWS_WITH_AS(make_world<ordered_world>(two, members), doctest::Contains("MT-R74"), error);
}

TEST_CASE("a program that does not is told where") {
  score_sheet sheet = sheet_of(one_f_one_b::write({2, 4}));
  std::vector<std::int32_t> first;
  for (std::int32_t i = 0; i < sheet.of.instructions.size(); ++i)
    if (sheet.of.instructions[i].what == op::receive_forward) first.push_back(i);
  REQUIRE(first.size() == 4);
  std::swap(sheet.tags[first[1]], sheet.tags[first[2]]);
  CHECK_THROWS_WITH_AS(
      require_in_order(sheet),
      doctest::Contains("wants a message that rank 0 sends before one that was wanted earlier"), error);
  const meeting_members members(sheet);
  CHECK_THROWS_AS(make_world<ordered_world>(sheet, members), error);
  CHECK_NOTHROW(make_world<tagged_world>(sheet, members));  // it tells messages apart
}

TEST_CASE("a world that orders messages learns their ends, another their count") {
  for (const score& order : some_orders()) {
    const score_sheet sheet = sheet_of(order);
    const meeting_members members(sheet);
    const auto made = make_world<ordered_world>(sheet, members);
    CHECK(made.ranks == sheet.of.ranks());
    CHECK(std::equal(made.members.begin(), made.members.end(), members.all().begin(), members.all().end()));
    REQUIRE(made.ends.size() == static_cast<std::size_t>(sheet.messages));
    for (std::int32_t i = 0; i < sheet.of.instructions.size(); ++i) {
      const instruction& it = sheet.of.instructions[i];
      if (!is_send(it.what) && !is_receive(it.what)) continue;
      const message_ends& ends = made.ends[static_cast<std::size_t>(sheet.tags[i])];
      CHECK((is_send(it.what) ? ends.from : ends.to) == sheet.of.rank_of(i));
      CHECK((is_send(it.what) ? ends.to : ends.from) == it.peer);
    }
    const auto other = make_world<tagged_world>(sheet, members);
    CHECK(other.ranks == sheet.of.ranks());
    CHECK(other.messages == sheet.messages);
    CHECK(other.meetings == members.all().size());
  }
}

TEST_CASE("all ranks are one group, in their order") {
  local::world world(3, 0, {});
  for (std::int32_t r = 0; r < 3; ++r) {
    local::endpoint end(world, r);
    group_of_all<local::world, local::endpoint> all(world, end);
    CHECK(all.group().size() == 3);
    CHECK(all.group().member() == r);
  }
}

TEST_CASE("where a world has a meeting for it, that is taken") {
  int met = 0;
  all_ranks_meet<world_with_meeting, local::endpoint>([&](auto& group) { met = group.at; });
  CHECK(met == 7);
}
