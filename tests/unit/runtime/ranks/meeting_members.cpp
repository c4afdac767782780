// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/ranks/meeting_members.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a join has the ranks of all last stages in each of its groups, and for its second exchange") {
  const score_sheet sheet(compile(batch_sync::write({{{2, 4, 2}, {3, 4, 2}}, 2})));
  const meeting_members who(sheet);
  REQUIRE(sheet.join_meetings() == 2);
  for (const std::int32_t m : {0, 1, sheet.second(0), sheet.second(1)}) {
    CHECK(who.size(m) == 2);
    CHECK(who.member(m, 1) == 0);
    CHECK(who.member(m, 4) == 1);
    for (const std::int32_t rank : {0, 2, 3, 5, -1}) CHECK(who.member(m, rank) == -1);
  }
  CHECK(who.all()[0] == std::vector<std::int32_t>{1, 4});
}

TEST_CASE("all ranks that learn meet at the end of a step") {
  for (const int ranks : {1, 4}) {
    const score_sheet sheet(compile(one_f_one_b::write({ranks, 4})));
    const meeting_members who(sheet);
    CHECK(who.size(who.updaters()) == ranks);
    CHECK(who.all().size() == static_cast<std::size_t>(who.updaters()) + 1);
    for (std::int32_t rank = 0; rank < ranks; ++rank) CHECK(who.member(who.updaters(), rank) == rank);
  }
  // A program that leaves the gradients to the caller has no updates.
  const score_sheet still(compile(one_f_one_b::write({2, 4}), {messages::in_channels, false}));
  const meeting_members none(still);
  CHECK(none.size(none.updaters()) == 0);
}
