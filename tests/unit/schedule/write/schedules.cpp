// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/prove.hpp>
#include <motet/schedule/write/schedules.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("every schedule is found by its name and writes what it is") {
  const std::string names = schedule_names();
  for (const char* name : {"gpipe", "1f1b", "interleaved", "zb_h1", "zb_h2", "zb_v", "v_half", "v_min",
                           "zb_auto", "dualpipe_v", "batch_sync"}) {
    CAPTURE(name);
    CHECK((", " + names + ",").find(", " + std::string(name) + ",") != std::string::npos);
    CHECK(is_schedule(name));
    const score order = write_schedule(name, {});
    CHECK(order.ranks() == 4);
    CHECK(prove(order).ok());
  }
  CHECK_FALSE(is_schedule("2f2b"));
  CHECK(write_schedule("1f1b", {.stages = 3, .microbatches = 5}).codes() ==
        one_f_one_b::write({.stages = 3, .microbatches = 5}).codes());
  CHECK(write_schedule("interleaved", {.chunks = 3}).voices()[0].stages == 12);
  CHECK(write_schedule("gpipe", {.memory = 8}).ranks() == 4);
  CHECK(write_schedule("zb_auto", {.memory = 2}).codes() ==
        zb_auto::write({.stages = 4, .microbatches = 8, .memory = 2}).codes());
  const step_times slow{.forward = 5, .backward_input = 6, .backward_weight = 4};
  CHECK(write_schedule("zb_v", {.times = slow}).codes() ==
        zb_v::write({.stages = 4, .microbatches = 8}, slow).codes());
}

TEST_CASE("one tower from the plain numbers, several from a list") {
  const tower_shape tower{.stages = 2, .microbatches = 8, .group = 4, .stash = 2, .ahead = 1};
  const score one =
      write_schedule("batch_sync", {.stages = 2, .microbatches = 8, .group = 4, .stash = 2, .ahead = 1});
  CHECK(one.codes() == write_schedule("batch_sync", {.towers = {tower}}).codes());
  const score two =
      write_schedule("batch_sync", {.towers = {tower, {.stages = 3, .microbatches = 6, .group = 3}}});
  CHECK(two.ranks() == 5);
  CHECK(two.voices().size() == 2);
}

TEST_CASE("refusals name the schedule, what was got and wanted") {
  const auto refused = [](const char* name, const schedule_options& options, const char* code,
                          const char* part) {
    try {
      write_schedule(name, options);
      FAIL("was written: " << name);
    } catch (const error& problem) {
      CAPTURE(problem.what());
      CHECK(std::string(problem.code()) == code);
      CHECK(std::string(problem.what()).find(part) != std::string::npos);
    }
  };
  refused("2f2b", {}, "MT-P60", "\"2f2b\"; there are gpipe, 1f1b, interleaved");
  refused("gpipe", {.stages = 0}, "MT-P01", "gpipe");
  refused("interleaved", {.stages = 4, .microbatches = 6}, "MT-P03",
          "got 6 microbatches, wanted a multiple of 4");
  refused("batch_sync", {.microbatches = 6, .group = 4}, "MT-P04", "groups of 4 among 6 microbatches");
  refused("batch_sync", {.group = 4, .stash = 5}, "MT-P05", "got a stash of 5, wanted 0 to 4");
  refused("gpipe", {.chunks = 2}, "MT-P07", "got 2 chunks, wanted 1");
  refused("gpipe", {.memory = 7}, "MT-P10", "got 7, wanted 8");
  refused("interleaved", {.memory = 5}, "MT-P10", "got 5, wanted 6");
  refused("batch_sync", {.memory = 6, .group = 4}, "MT-P10", "got 6, wanted 7");
  refused("dualpipe_v", {.microbatches = 7}, "MT-P02", "got 7 microbatches, wanted 8 or more");
  refused("1f1b", {.group = 2}, "MT-P61", "1f1b has no group");
  refused("zb_v", {.stash = 2}, "MT-P61", "zb_v has no stash");
  refused("zb_auto", {.ahead = 2}, "MT-P61", "zb_auto has no ahead");
  refused("gpipe", {.towers = {{.stages = 2}}}, "MT-P61", "gpipe has no towers");
  refused("batch_sync", {.chunks = 2}, "MT-P61", "batch_sync has no chunks");
  refused("batch_sync", {.towers = list<tower_shape>(9, tower_shape{})}, "MT-P01", "got 9");
}

TEST_CASE("whole numbers in the same ratios") {
  CHECK(whole_times(1, 1, 1, 0) == step_times{1, 1, 1, 0});
  CHECK(whole_times(0.25, 0.25, 0.25, 0) == step_times{1, 1, 1, 0});
  CHECK(whole_times(1, 1.2, 0.8, 0) == step_times{5, 6, 4, 0});
  CHECK(whole_times(10, 20, 0, 5) == step_times{2, 4, 0, 1});
  CHECK(whole_times(3.14159, 2.71828, 1, 0).forward == 3142);
  CHECK(whole_times(1e9, 1, 1, 0).forward <= 1000000);
  static_assert(whole_times(1, 0.5, 0.5, 0) == step_times{2, 1, 1, 0});
}
