// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/step_rooms.hpp>

#include <motet/backend/cpu/device.hpp>

#include <doctest/doctest.h>

#include <memory>

using namespace motet;

namespace {

using rooms = step_rooms<cpu::context>;

// A stage that wants bytes for what it keeps, and half as many for its rows.
struct fake_stage {
  struct position {
    std::int32_t rank;
    const char* name;
  };
  struct rows_type {
    fake_stage* of;
    void lay_out(arena& room) { of->row = room.take<std::byte>(of->bytes / 2); }
  };
  struct place {
    std::int32_t lane;
  };
  position where;
  place lives = {0};
  motet::isize bytes = 0, measured = 0;
  std::byte *slot = nullptr, *row = nullptr;
  const position& at() const { return where; }
  const place& home() const { return lives; }
  rows_type rows() { return {this}; }
  void step_shape(std::vector<motet::isize>& into) const { into.push_back(bytes); }
  void measure_step() { ++measured; }
  void lay_out_slots(arena& room) { slot = room.take<std::byte>(bytes); }
};
// Two stages on the first rank, one on the second, and a rank elsewhere.
struct stages {
  struct held {
    fake_stage* stage;
  };
  std::unique_ptr<fake_stage[]> all{new fake_stage[3]{{{0, "eye"}}, {{0, "talk"}}, {{1, "talk"}}}};
  void want(const std::vector<motet::isize>& bytes) {
    for (std::size_t s = 0; s < 3; ++s) all[s].bytes = bytes[s];
  }
  template <class Visit>
  void each_stage(Visit&& visit) const {
    for (std::size_t s = 0; s < 3; ++s) visit(held{&all[s]});
  }
};
std::vector<rank_memory> planned(motet::isize weights) {
  std::vector<rank_memory> all(3);
  for (rank_memory& each : all) each.stages.weights = weights, each.stages.slots = 1 << 20;
  return all;
}

}  // namespace

TEST_CASE("stages lie one behind the other, and a room grows to its longest step") {
  rooms of({.by_rows = true}, 3);
  of.prepare(planned(0));
  stages here;
  here.want({128, 256, 128});
  of.lay_out(here);
  CHECK(of.held() == std::vector<motet::isize>{192 + 384, 192, 0});
  CHECK(here.all[0].row - here.all[0].slot == 128);
  CHECK(here.all[1].slot - here.all[0].slot == 192);
  CHECK(here.all[1].row - here.all[0].slot == 192 + 256);
  here.want({512, 128, 128});
  of.lay_out(here);
  CHECK(of.held() == std::vector<motet::isize>{768 + 192, 192, 0});
  // Less stays in the room that is there.
  std::byte* const first = here.all[0].slot;
  here.want({128, 128, 128});
  of.lay_out(here);
  CHECK(of.held() == std::vector<motet::isize>{768 + 192, 192, 0});
  CHECK(here.all[0].slot == first);
  CHECK(here.all[1].slot == first + 192);
  of.prepare(planned(0));
  CHECK(of.held() == std::vector<motet::isize>(3, 0));
}

TEST_CASE("a step with the rows of the one before finds all where it was") {
  rooms of({.by_rows = true}, 3);
  of.prepare(planned(0));
  stages here;
  for (int step = 0; step < 6; ++step) {
    here.want({128, step < 4 ? 256 : 320, 128});
    of.lay_out(here);
  }
  CHECK(of.layouts() == 2);
  CHECK(here.all[1].measured == 2);
  // Who forecasts other steps has laid them out over it.
  std::vector<rank_memory> found = planned(0);
  of.forecast(
      found, std::vector<int>{0}, [](int) {}, here);
  of.lay_out(here);
  CHECK(of.layouts() == 3);
}

TEST_CASE("a forecast tells the largest room over its steps, of each rank") {
  rooms of({.by_rows = true}, 3);
  stages here;
  const std::vector<std::vector<motet::isize>> steps{{128, 128, 512}, {256, 128, 64}, {64, 64, 64}};
  std::vector<rank_memory> found = planned(7);
  of.forecast(
      found, steps, [&](const auto& bytes) { here.want(bytes); }, here);
  CHECK(found[0].stages.slots == 256 + 128);
  CHECK(found[0].stages.boundaries == 128 + 64);
  CHECK(found[1].stages.slots == 512);
  CHECK(found[1].stages.weights == 7);
  CHECK(found[2].stages.slots == 0);
  CHECK(of.held() == std::vector<motet::isize>(3, 0));
  // Without any, and where rooms are those of the longest step there can be, it stays as it is.
  std::vector<rank_memory> same = planned(7);
  of.forecast(
      same, std::vector<int>{}, [](int) {}, here);
  rooms({}, 3).forecast(
      same, std::vector<int>{0}, [](int) {}, here);
  CHECK(same[0].stages.slots == 1 << 20);
}

TEST_CASE("a step that wants more than is free is refused, and the room is as it was") {
  rooms of({.by_rows = true, .most = 1000}, 3);
  of.prepare(planned(400));
  stages here;
  here.want({64, 256, 128});
  of.lay_out(here);
  const std::vector<motet::isize> held = of.held();
  here.want({128, 512, 128});
  CHECK_THROWS_WITH_AS(
      of.lay_out(here),
      doctest::Contains("rank 0 wants 960 bytes for the rows of this step, 768 of them for a stage of talk; "
                        "free are 600 of 1000"),
      error);
  CHECK(of.held() == held);
  // The same is refused again, and what fits goes on.
  CHECK_THROWS_WITH_AS(of.lay_out(here), doctest::Contains("MT-R60"), error);
  here.want({64, 256, 128});
  of.lay_out(here);
  CHECK(of.held() == held);
}

TEST_CASE("where several lanes want room it says how much each") {
  rooms of({.by_rows = true, .most = 1000}, 3);
  of.prepare(planned(400));
  stages here;
  here.all[1].lives.lane = 1;
  here.want({128, 512, 128});
  CHECK_THROWS_WITH_AS(
      of.lay_out(here),
      doctest::Contains("rank 0 wants 960 bytes for the rows of this step, 768 of them for a stage of talk; "
                        "lane 0 wants 192 of them, lane 1 768; free are 600 of 1000"),
      error);
}

TEST_CASE("a limit that cannot hold is refused") {
  CHECK_THROWS_WITH_AS(rooms({.most = 5}, 1),
                       doctest::Contains("a limit of 5 bytes, rooms for the longest step there can be"),
                       error);
  CHECK_THROWS_WITH_AS(rooms({.by_rows = true, .most = -1}, 1), doctest::Contains("MT-R61"), error);
}
