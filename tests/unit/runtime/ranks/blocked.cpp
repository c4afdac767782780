// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/ranks/blocked.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

using namespace motet;

namespace {

// Lanes of some ranks, each at a place of its own.
struct scene {
  score_sheet sheet;
  std::map<std::int32_t, std::int32_t> at;  // position of each lane that is seen
  explicit scene(const program& of) : sheet(of) {}

  // Shows rank's lanes, each as far as an instruction that `stops` names; the others are through.
  template <class Stops>
  void show(std::int32_t rank, Stops stops) {
    for (std::int32_t l = 0; l < sheet.graph.lane_ranks.size(); ++l) {
      if (sheet.graph.lane_ranks[l] != rank) continue;
      std::int32_t p = sheet.graph.lane_starts[l];
      while (p < sheet.graph.lane_starts[l + 1] && !stops(sheet.of.instructions[sheet.graph.order[p]])) ++p;
      at[l] = p;
    }
  }
  template <class Visit>
  void operator()(Visit visit) const {
    for (const auto& [l, p] : at) visit(sheet.graph.lane_starts[l], p, sheet.graph.lane_starts[l + 1]);
  }
};
bool says(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a rank that is alone in sight waits for what others should send") {
  scene all(compile(one_f_one_b::write({3, 4})));
  all.show(1, [](const instruction& it) { return it.microbatch == 2 && !is_send(it.what); });
  const auto lanes = blocked_lanes(all.sheet, all);
  REQUIRE(!lanes.empty());
  int received = 0;
  for (const blocked_lane& each : lanes) {
    CHECK(all.sheet.of.rank_of(each.head) == 1);
    if (!is_receive(all.sheet.of.instructions[each.head].what)) continue;
    ++received;
    REQUIRE(each.on.size() == 1);
    CHECK(is_send(all.sheet.of.instructions[each.on[0]].what));
    CHECK(all.sheet.of.rank_of(each.on[0]) != 1);
    CHECK(says(describe(all.sheet.of, each), "microbatch 2) waits for rank "));
  }
  CHECK(received > 0);
  const std::string text = who_waits(all.sheet, all);
  CHECK(says(text, "\n  rank 1, instruction"));
  CHECK(std::count(text.begin(), text.end(), '\n') == static_cast<std::ptrdiff_t>(lanes.size()));
}

TEST_CASE("what is through waits for nobody") {
  scene all(compile(one_f_one_b::write({2, 3})));
  for (const std::int32_t rank : {0, 1}) all.show(rank, [](const instruction&) { return false; });
  CHECK(blocked_lanes(all.sheet, all).empty());
  CHECK(who_waits(all.sheet, all).empty());
}

TEST_CASE("in a meeting those are missing that have not reached it") {
  const program of = compile(batch_sync::write({{{1, 2, 2}, {1, 2, 2}, {1, 2, 2}}, 3}));
  const auto at_join = [](const instruction& it) { return it.what == op::join; };
  scene all(of);
  all.show(0, at_join);
  auto lanes = blocked_lanes(all.sheet, all);
  REQUIRE(lanes.size() == 1);
  CHECK(lanes[0].on.size() == 2);
  CHECK(says(describe(of, lanes[0]), "(join 0, group 0) waits for rank 1, instruction"));
  CHECK(says(describe(of, lanes[0]), " and rank 2, instruction"));
  // One of them comes into sight, there as well.
  all.show(1, at_join);
  lanes = blocked_lanes(all.sheet, all);
  REQUIRE(lanes.size() == 2);
  for (const blocked_lane& each : lanes) {
    REQUIRE(each.on.size() == 1);
    CHECK(of.rank_of(each.on[0]) == 2);
  }
}

TEST_CASE("an instruction that could go on waits for nothing, an update perhaps for other updates") {
  scene all(compile(one_f_one_b::write({1, 2})));
  all.show(0, [](const instruction& it) { return it.what == op::backward; });
  CHECK(says(who_waits(all.sheet, all), "(backward of module 0, stage 0, microbatch 0) waits for nothing"));
  all.show(0, [](const instruction& it) { return it.what == op::optimizer_step; });
  CHECK(says(who_waits(all.sheet, all),
             "(optimizer_step of module 0, stage 0) may wait for the others that update"));
}
