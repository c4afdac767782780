// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/csv/csv_read.hpp>
#include <motet/schedule/csv/csv_write.hpp>

#include <motet/schedule/check/explain.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zero_bubble.hpp>
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

using namespace motet;

namespace {

// A text without idle slots and waits: what is left is what a rank starts, in its order.
std::string bare(const std::string& text) {
  std::string out;
  detail::csv_lexer lexer(text);
  while (lexer.next_row()) {
    while (lexer.next_cell())
      if (!lexer.cell().empty() && lexer.cell().find("WAIT") == std::string_view::npos)
        out += std::string(lexer.cell()) + ",";
    out += "\n";
  }
  return out;
}
bool plain(const std::string& text) { return !text.starts_with("motet"); }

void round_trip(const program& made) {
  for (const csv_form form : {csv_form::shortest, csv_form::everything}) {
    const std::string text = write_csv(made, {form});
    CAPTURE(text);
    CHECK(read_csv(text) == made);
  }
}
template <class Schedule>
bool round_trips(const typename Schedule::shape& shape) {
  if (!Schedule::check(shape).ok()) return false;
  round_trip(compile(Schedule::write(shape)));
  return true;
}

}  // namespace

TEST_CASE("as torch writes it") {
  CHECK(write_csv(compile(one_f_one_b::write({.stages = 2, .microbatches = 3}))) ==
        "0F0,0F1,0B0,0F2,0B1,0B2\r\n1F0,1B0,1F1,1B1,1F2,1B2\r\n");
  CHECK(write_csv(compile(zb_h1::write({.stages = 2, .microbatches = 2}))) ==
        "0F0,0F1,0I0,0W0,0I1,0W1\r\n1F0,1I0,1F1,1I1,1W0,1W1\r\n");
  const program bare_updates = compile(gpipe::write({.stages = 2, .microbatches = 2}), {.update = false});
  const char* const waited =
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0WAIT_SEND_F0,0RECV_B1,0B1,0WAIT_SEND_F1\r\n"
      "1RECV_F0,1F0,1RECV_F1,1F1,1B0,1SEND_B0,1B1,1SEND_B1,1WAIT_SEND_B0,1WAIT_SEND_B1\r\n";
  CHECK(write_csv(bare_updates) == waited);
  CHECK(bare(write_csv(bare_updates, {.waits = false})) == bare(waited));
  CHECK(write_csv(bare_updates, {.waits = false}).find("WAIT") == std::string::npos);
  CHECK(read_csv(write_csv(bare_updates, {.waits = false})) == bare_updates);
}

TEST_CASE("dumps of torch are written again as they were, but for idle slots and the place of some waits") {
  int same = 0, dumps = 0;
  for (const auto& each : std::filesystem::directory_iterator(std::string(MOTET_TEST_DATA) + "/schedules")) {
    CAPTURE(each.path().string());
    std::ifstream in(each.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string again = write_csv(read_csv(text));
    CHECK(bare(again) == bare(text));
    CHECK(plain(again));
    CHECK(read_csv(again) == read_csv(text));
    same += again == text ? 1 : 0;
    ++dumps;
  }
  CHECK(dumps == 14);
  CHECK(same >= 7);
}

TEST_CASE("every builder, over random sizes") {
  const random_stream draws(5, 1);
  std::uint64_t at = 0;
  const auto below = [&](int bound) {
    return static_cast<int>(draws.below(at++, static_cast<std::uint32_t>(bound)));
  };
  int made = 0;
  for (int run = 0; run < 60; ++run) {
    const pipeline_shape one{.stages = 1 + below(6), .microbatches = 1 + below(12)};
    made += round_trips<gpipe>(one) ? 1 : 0;
    made += round_trips<one_f_one_b>(one) ? 1 : 0;
    made += round_trips<zb_h1>(one) ? 1 : 0;
    made += round_trips<zb_h2>(one) ? 1 : 0;
    made += round_trips<interleaved>(
                {.stages = one.stages, .microbatches = one.stages * (1 + below(3)), .chunks = 1 + below(4)})
                ? 1
                : 0;
    batch_sync::shape towers;
    towers.count = 1 + below(3);
    const int joins = 1 + below(3);
    for (int k = 0; k < towers.count; ++k) {
      const int group = 1 + below(4);
      towers.towers[k] = {.stages = 1 + below(4),
                          .microbatches = joins * group,
                          .group = group,
                          .stash = below(group + 1),
                          .ahead = below(3)};
    }
    made += round_trips<batch_sync>(towers) ? 1 : 0;
  }
  CHECK(made == 360);
}

TEST_CASE("one ordinary module needs no header, everything else has one") {
  const score order = one_f_one_b::write({.stages = 3, .microbatches = 4});
  CHECK(plain(write_csv(compile(order))));
  CHECK(plain(write_csv(compile(order, {.update = false}))));
  const auto headed = [](const program& made) {
    CHECK_FALSE(plain(write_csv(made)));
    round_trip(made);
  };
  headed(compile(order, {.carried = messages::in_one_lane}));
  headed(compile(order, {.carried = messages::in_compute}));
  headed(compile(batch_sync::write({{{.stages = 2, .microbatches = 4, .group = 2}}})));
  // Without a message there is nothing to tell a whole list from computations alone.
  headed(compile(one_f_one_b::write({.microbatches = 4}), {.update = false}));
  program unlimited = compile(order);
  unlimited.slots = list<std::int32_t>(3, 0);
  headed(unlimited);
  program odd = compile(order);
  odd.voices[0].name = "a, \"b\" \n";
  odd.voices[0].replica = 3;
  odd.voices[0].chunks = 2;
  headed(odd);
}

TEST_CASE("several modules, replicas, frozen ones, idle ranks") {
  score order;
  voice made;
  made.name = "picture";
  made.stages = 2;
  made.microbatches = 2;
  made.join = 0;
  made.group = 2;
  const int first = order.add(made, [](int stage) { return stage; });
  made.replica = 1;
  const int second = order.add(made, [](int stage) { return 3 - stage; });
  made.name = "caption";
  made.module = 1;
  made.replica = 0;
  made.stages = 1;
  made.learns = false;
  const int frozen = order.add(made, [](int) { return 4; });
  const auto tower = [&](int tower_voice, int stage) {
    order.rank();
    if (stage == 1) order.play_pair(op::forward, stage, 0, op::forward, stage, 1, tower_voice);
    else
      for (int m = 0; m < 2; ++m) order.play(op::forward, tower_voice, stage, m);
    if (stage == 1) order.join(0, 0);
    for (int m = 0; m < 2; ++m) order.play(op::backward, tower_voice, stage, m);
  };
  tower(first, 0);
  tower(first, 1);
  tower(second, 1);
  tower(second, 0);
  order.rank();
  for (int m = 0; m < 2; ++m) order.play(op::forward, frozen, 0, m);
  order.join(0, 0);
  order.rank();
  const program all = compile(order);
  CHECK(explain(all, check(all)) == "");
  round_trip(all);
  CHECK(write_csv(all).starts_with(
      "motet,1,computations\r\nvoice,\"name=picture\",stages=2,microbatches=2,join=0,group=2\r\n"
      "voice,\"name=picture\",replica=1,stages=2,microbatches=2,join=0,group=2\r\n"
      "voice,\"name=caption\",module=1,stages=1,microbatches=2,join=0,group=2,frozen\r\n"
      "0:0F0,0:0F1,0:0B0,0:0B1\r\n"
      "(0:1F0;0:1F1)OVERLAP_F_B,0JOIN0,0:1B0,0:1B1\r\n"));
}

TEST_CASE("replicas that sum gradients in each backward, gather weights, or exchange rows") {
  for (const std::string word : {"sums_each", "gathers_each", "meets_each"}) {
    score order;
    voice made;
    made.sums_each = word != "meets_each";
    made.meets_each = word != "sums_each";
    for (const int r : {0, 1}) {
      made.replica = r;
      order.add(made, [r](int) { return r; });
    }
    for (const int r : {0, 1}) {
      order.rank();
      for (const op what : {op::forward, op::backward}) order.play(what, r, 0, 0);
    }
    const program all = compile(order);
    CHECK(explain(all, check(all)) == "");
    round_trip(all);
    CHECK((write_csv(all).find("," + word) != std::string::npos));
  }
}

TEST_CASE("what compile() does not write") {
  program made = compile(gpipe::write({.stages = 1, .microbatches = 1}));
  list<instruction> all;
  const auto put = [&](op what, std::uint8_t in, int microbatch) {
    all.push({what, in, false, 0, 0, 0, microbatch, -1});
  };
  put(op::load, lane::copy, 0);
  put(op::gather_parameters, lane::reduce, -1);
  put(op::forward, lane::compute, 0);
  put(op::offload, lane::copy, 0);
  put(op::fetch, 200, 0);
  put(op::backward, lane::compute, 0);
  put(op::release_parameters, lane::compute, -1);
  put(op::reduce_gradient, lane::reduce, -1);
  put(op::optimizer_step, lane::compute, -1);
  made.instructions = all;
  made.starts = {0, 9};
  CHECK(explain(made, check(made)) == "");
  round_trip(made);
  CHECK(write_csv(made) ==
        "motet,1,everything\r\nvoice,stages=1,microbatches=1\r\n"
        "0LOAD0,0UNSHARD,0F0,0OFFLOAD0,0ONLOAD0@200,0B0,0RESHARD,0REDUCE_GRAD,0STEP\r\n");
}
