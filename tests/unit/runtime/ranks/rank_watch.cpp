// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/ranks/rank_watch.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// Rank 1 of three, which has received the second microbatch and waits for the third.
struct scene {
  struct world {
    std::vector<std::int32_t> lacks{0};
    std::string told;
    std::int32_t rank() const { return 1; }
    std::int32_t ranks() const { return 3; }
    std::vector<std::int32_t> lacking() const { return lacks; }
    void stop(const std::string& why) { told = why; }
  };
  struct player {
    const score_sheet& sheet;
    std::int32_t at = -1;
    std::int32_t current() const { return at; }
    template <class Visit>
    void each_lane(Visit visit) const {
      for (std::int32_t l = 0; l < sheet.graph.lane_ranks.size(); ++l) {
        if (sheet.graph.lane_ranks[l] != 1) continue;
        std::int32_t p = sheet.graph.lane_starts[l];
        const auto waits = [&](const instruction& it) { return it.microbatch == 2 && !is_send(it.what); };
        while (p < sheet.graph.lane_starts[l + 1] && !waits(sheet.of.instructions[sheet.graph.order[p]])) ++p;
        visit(sheet.graph.lane_starts[l], p, sheet.graph.lane_starts[l + 1]);
      }
    }
  };
  score_sheet sheet{compile(one_f_one_b::write({3, 4}))};
  world all;
  player plays{sheet};
  rank_watch<world, player> watch;

  explicit scene(double deadline = 0, double bound = 0.8) : watch(sheet, all, plays, deadline, bound) {}
  // Nobody answers at these addresses.
  void alone() { watch.roll().begin({"", watch.roll().address(), ""}, 7); }
  // Waits, by a clock of its own, until it gives up.
  std::string gives_up(int turns = 4000) {
    for (int turn = 0; turn < turns && !watch.verdict(); ++turn) {
      watch.look(5 + 0.0002 * turn);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return watch.verdict() ? watch.verdict()->what() : "";
  }
};
bool says(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the sentence has the place, the partner, the time and the checkpoint") {
  scene own;
  own.alone();
  own.watch.note_checkpoint("run/step-000007");
  own.watch.begin_step();
  own.watch.end_step();
  own.watch.begin_step();
  const std::string text = own.gives_up();
  CAPTURE(text);
  CHECK(text == own.all.told);
  CHECK(says(text, "rank 1, instruction"));
  CHECK(says(text, "(receive_forward of module 0, stage 1, microbatch 2) waits for rank 0, instruction"));
  CHECK(says(text, "(send_forward of module 0, stage 0, microbatch 2) for 5."));
  CHECK(says(text, " s, since "));
  CHECK(says(text, "in step 2; rank 0 does not answer; last checkpoint: run/step-000007"));
  CHECK(says(text, "MT-R25"));
  own.all.told.clear();
  own.watch.look(100);
  CHECK(own.all.told.empty());  // once
}

TEST_CASE("between steps it names the ranks, and within an instruction that waits for its group both") {
  scene own;
  own.alone();
  own.all.lacks = {0, 2};
  std::string text = own.gives_up();
  CAPTURE(text);
  CHECK(says(text, "rank 1, outside of instructions, waits for ranks 0, 2 for 5."));
  CHECK(says(text, "ranks 0, 2 do not answer; last checkpoint: none"));
  scene other;
  other.alone();
  other.plays.at = other.sheet.of.starts[1];
  other.all.lacks = {2};
  text = other.gives_up();
  CHECK(says(text, "microbatch 0) waits for rank 2 for 5."));
}

TEST_CASE("whoever answers that it computes is waited for until the deadline") {
  const auto meet = [](scene& own, roll_call& zero) {
    const std::vector<std::string> addresses{zero.address(), own.watch.roll().address(), ""};
    zero.begin(addresses, 7);
    own.watch.roll().begin(addresses, 7);
    own.watch.begin_step();
  };
  {
    scene own(0, 10);
    roll_call zero(0, 10);
    meet(own, zero);
    CHECK(own.gives_up(60).empty());
    CHECK(own.all.told.empty());
  }
  {
    scene own(0, 10);
    roll_call zero(0, 10);
    meet(own, zero);
    zero.look(100, {1});
    const std::string text = own.gives_up();
    CAPTURE(text);
    CHECK(says(text, "waits for rank 0, instruction"));
    CHECK(says(text, "; all that it waits for wait as well; last checkpoint: none"));
  }
  scene late(0.01);
  late.alone();
  late.watch.begin_step();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  late.watch.look(0.001);
  REQUIRE(late.watch.verdict());
  CHECK(says(late.all.told, "MT-R07"));
  CHECK(says(late.all.told, "step 1 takes more than 0.01"));
  CHECK(says(late.all.told, "waits for rank 0, instruction"));
}

TEST_CASE("short waits ask nobody") {
  scene own;
  own.alone();
  for (int turn = 0; turn < 50; ++turn) {
    own.watch.look(0.07);
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
  }
  CHECK(!own.watch.verdict());
}
