// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/draw/draw_trace.hpp>

#include "unit/schedule/drawn_programs.hpp"

#include <motet/format/text/json_read.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <locale>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace motet;

namespace {

struct event {
  std::int64_t pid = 0, tid = -1, id = -1;
  double ts = 0, dur = 0;
  std::string name, category;
  json args;
  double end() const { return ts + dur; }
};
struct read_trace {
  std::vector<event> bars, starts, ends;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> threads;
  std::map<std::int64_t, std::string> processes;
  std::map<std::int64_t, std::int64_t> order;  // of processes
  bool names_first = true;

  explicit read_trace(const std::string& text) {
    const json all = read_json(text);
    for (const json& each : all.members().find("traceEvents")->items()) {
      const auto& members = each.members();
      const auto number = [&](const char* name) { return members.find(name)->integer(); };
      const std::string phase = members.find("ph")->string();
      event found;
      found.pid = number("pid");
      found.name = members.find("name")->string();
      if (members.find("tid") != nullptr) found.tid = number("tid");
      if (phase == "M") {
        names_first = names_first && bars.empty() && starts.empty();
        const auto& args = members.find("args")->members();
        if (found.name == "process_name") processes[found.pid] = args.find("name")->string();
        else if (found.name == "thread_name") threads[{found.pid, found.tid}] = args.find("name")->string();
        else if (found.name == "process_sort_index") order[found.pid] = args.find("sort_index")->integer();
        else CHECK(found.name == "thread_sort_index");
        continue;
      }
      found.ts = members.find("ts")->number();
      CHECK(std::isfinite(found.ts));
      found.category = members.find("cat")->string();
      if (phase == "X") {
        found.dur = members.find("dur")->number();
        CHECK(found.dur >= 0);
        found.args = *members.find("args");
        bars.push_back(found);
        continue;
      }
      found.id = number("id");
      if (phase == "s") {
        starts.push_back(found);
      } else {
        REQUIRE(phase == "f");
        CHECK(members.find("bp")->string() == "e");
        ends.push_back(found);
      }
    }
  }
};

std::int64_t argument(const event& of, const char* name) { return of.args.members().find(name)->integer(); }

}  // namespace

TEST_CASE("every instruction is an event at its time, in the lane and the process that run it") {
  for (const double seconds : {1.0, 1e-3, 0.37}) {
    for (const auto& p : {played(one_f_one_b::write({4, 8})),
                          played_with_wires(batch_sync::write(two_towers())), played(shared_rank_score()),
                          played_with_wires(interleaved::write({2, 4, 2}), delivery::rendezvous)}) {
      const read_trace found(draw_trace(p.program, p.when, {seconds}));
      REQUIRE(static_cast<isize>(found.bars.size()) == p.program.instructions.size());
      CHECK(found.names_first);
      CHECK(static_cast<std::int32_t>(found.processes.size()) == p.program.ranks());
      for (isize i = 0; i < p.program.instructions.size(); ++i) {
        const event& each = found.bars[static_cast<std::size_t>(i)];
        const instruction& it = p.program.instructions[i];
        CHECK(each.pid == p.program.rank_of(static_cast<std::int32_t>(i)));
        CHECK(each.tid == it.lane);
        CHECK(std::abs(each.ts - p.when.start[i] * seconds * 1e6) <= 1.0 / 127);
        CHECK(std::abs(each.end() - p.when.finish[i] * seconds * 1e6) <= 1.0 / 127);
        CHECK(found.threads.count({each.pid, each.tid}) == 1);
        CHECK(each.name.find(name_of(it.what)) != std::string::npos);
        if (it.what == op::join) {
          CHECK(argument(each, "join") == it.voice);
          CHECK(argument(each, "group") == it.microbatch);
          continue;
        }
        CHECK(argument(each, "stage") == it.stage);
        CHECK(argument(each, "voice") == it.voice);
        CHECK_FALSE(each.args.members().find("module")->string().empty());
        CHECK((each.args.members().find("microbatch") == nullptr) == (it.microbatch < 0));
        if (it.microbatch >= 0) CHECK(argument(each, "microbatch") == it.microbatch);
        if (is_transfer(it.what)) CHECK(argument(each, "peer") == it.peer);
        CHECK((each.category == "message") == is_transfer(it.what));
      }
    }
  }
}

TEST_CASE("events of a lane never overlap, not even after a viewer has cut them to nanoseconds") {
  program made = compile(zb_h1::write({4, 32}));
  cost_table costs = even_costs(made, {1, 1, 1, 0, 1, 1});
  costs.jitter = 0.3;
  costs.wires.inside = {0.01, 7};
  for (const auto& p : {played(zb_h1::write({4, 32})), played(made, costs)}) {
    for (const double seconds : {1.0, 1e-4, 3.3e-6, 1e-7, 7e-8}) {
      std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> ends;
      for (const event& each : read_trace(draw_trace(p.program, p.when, {seconds})).bars) {
        const auto start = static_cast<std::int64_t>(each.ts * 1000),
                   time = static_cast<std::int64_t>(each.dur * 1000);
        // Binary fractions: start and duration add up to the next start without rounding.
        CHECK(each.ts * 64 == std::floor(each.ts * 64));
        CHECK(each.dur * 64 == std::floor(each.dur * 64));
        std::int64_t& end = ends[{each.pid, each.tid}];
        CHECK(start >= end);
        end = start + time;
      }
    }
  }
}

TEST_CASE("an arrow for each message, from its send to its receive") {
  for (const delivery how : {delivery::buffered, delivery::rendezvous}) {
    const drawn_program p = played_with_wires(batch_sync::write(two_towers()), how);
    const read_trace found(draw_trace(p.program, p.when));
    std::size_t sends = 0;
    for (const instruction& each : p.program.instructions) sends += is_send(each.what);
    REQUIRE(found.starts.size() == sends);
    REQUIRE(found.ends.size() == sends);
    const auto at = [&](const event& of) {
      const event* inside = nullptr;
      for (const event& each : found.bars)
        if (each.pid == of.pid && each.tid == of.tid && each.ts <= of.ts && of.ts <= each.end() &&
            (inside == nullptr || each.ts == of.ts))
          inside = &each;
      REQUIRE(inside != nullptr);
      return *inside;
    };
    for (std::size_t i = 0; i < sends; ++i) {
      CHECK(found.starts[i].id == static_cast<std::int64_t>(i));
      CHECK(found.ends[i].id == found.starts[i].id);
      CHECK(found.starts[i].ts <= found.ends[i].ts);
      const event from = at(found.starts[i]), to = at(found.ends[i]);
      CHECK(argument(from, "peer") == to.pid);
      CHECK(argument(to, "peer") == from.pid);
      CHECK(argument(from, "microbatch") == argument(to, "microbatch"));
      CHECK(std::abs(argument(from, "stage") - argument(to, "stage")) == 1);
      CHECK(from.name.find("send") != std::string::npos);
      CHECK(to.name.find("receive") != std::string::npos);
    }
  }
}

TEST_CASE("a receive that began before its send gets its arrow when the send begins") {
  drawn_program p = played_with_wires(one_f_one_b::write({2, 1}));
  for (isize i = 0; i < p.program.instructions.size(); ++i)
    if (is_receive(p.program.instructions[i].what)) p.when.start[i] = 0;
  const read_trace found(draw_trace(p.program, p.when));
  REQUIRE(found.starts.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(found.ends[i].ts == found.starts[i].ts);
}

TEST_CASE("processes and threads have names") {
  drawn_program p = played(batch_sync::write(two_towers(2, 1)));
  p.program.voices[0].name = "picture";
  p.program.voices[1].name = "caption";
  const read_trace found(draw_trace(p.program, p.when));
  CHECK(found.processes.at(3) == "rank 3: picture stage 3");
  CHECK(found.processes.at(4) == "rank 4: caption stage 0");
  CHECK(found.threads.at({3, 0}) == "compute");
  CHECK(found.threads.at({3, 1}) == "sync");
  CHECK(found.threads.at({0, 4}) == "out: rows to rank 1");
  CHECK(found.threads.at({0, 5}) == "out: rows again to rank 1");
  CHECK(found.threads.at({0, 6}) == "in: gradients from rank 1");
  const drawn_program chunks = played(interleaved::write({2, 2, 2}));
  const read_trace other(draw_trace(chunks.program, chunks.when));
  CHECK(other.processes.at(0) == "rank 0: stage 0,2");
  CHECK(other.threads.at({0, 4}) == "out: rows to rank 1");  // of stages 0 and 2
  CHECK(other.threads.at({0, 5}) == "in: rows of stage 2 from rank 1");
  program single = compile(one_f_one_b::write({2, 2}), {messages::in_one_lane});
  const cost_table costs = even_costs(single, {1, 1, 1});
  const drawn_program one_lane = played(std::move(single), costs);
  const read_trace mixed(draw_trace(one_lane.program, one_lane.when));
  CHECK(mixed.processes.at(1) == "rank 1");
  CHECK(mixed.threads.at({0, 4}) == "messages");
}

TEST_CASE("plan and run are two groups of processes, side by side") {
  const drawn_program plan = played(one_f_one_b::write({3, 4}));
  timeline run = plan.when;
  for (double& each : run.start) each *= 0.002;
  for (double& each : run.finish) each *= 0.002;
  const read_trace found(draw_trace_overlay(plan.program, plan.when, run, {1e-3}, {1}));
  CHECK(found.names_first);
  CHECK(found.processes.at(1) == "plan, rank 1");
  CHECK(found.processes.at(4) == "run, rank 1");
  CHECK(found.order.at(1) + 1 == found.order.at(4));
  CHECK(found.order.at(4) + 1 == found.order.at(2));
  const auto half = static_cast<std::size_t>(plan.program.instructions.size());
  REQUIRE(found.bars.size() == 2 * half);
  for (std::size_t i = 0; i < half; ++i) {
    CHECK(found.bars[i + half].pid == found.bars[i].pid + 3);
    CHECK(found.bars[i + half].ts == doctest::Approx(2 * found.bars[i].ts));
    CHECK(found.bars[i + half].name == found.bars[i].name);
  }
  std::map<std::int64_t, int> ids;
  for (const event& each : found.starts) CHECK(++ids[each.id] == 1);
}

TEST_CASE("gaps are events inside those of their instructions") {
  drawn_program p = played(one_f_one_b::write({2, 2}));
  const std::size_t without = read_trace(draw_trace(p.program, p.when)).bars.size();
  const double start = p.when.start[0], finish = p.when.finish[0];
  REQUIRE(finish > start);
  const double third = (finish - start) / 3;
  p.when.gaps.push({0, wait_for::sum, start + third, start + 2 * third});
  p.when.gaps.push({0, wait_for::gather, start - third, finish + third});  // cut to its instruction
  p.when.gaps.push({-1, wait_for::rows, start, finish});
  const read_trace found(draw_trace(p.program, p.when, {.seconds = 1e-3}));
  REQUIRE(found.bars.size() == without + 2);
  const event &sum = found.bars[without], &whole = found.bars[without + 1];
  CHECK(sum.name == "waits for a sum");
  CHECK(sum.category == "gap");
  CHECK(sum.ts > found.bars[0].ts);
  CHECK(sum.end() < found.bars[0].end());
  CHECK(sum.tid == found.bars[0].tid);
  CHECK(whole.name == "waits for gathered rows");
  CHECK(whole.ts == found.bars[0].ts);
  CHECK(whole.end() == found.bars[0].end());
}

TEST_CASE("names and numbers may be odd; what has no time has no event") {
  const drawn_program p = odd_program();
  const read_trace found(draw_trace(p.program, p.when));
  CHECK(static_cast<isize>(found.bars.size()) == p.program.instructions.size() - 3);
  CHECK(found.processes.at(0) == "rank 0: <&\"'\\?\?> stage 0");
  CHECK(found.processes.at(5) == "rank 5: caf\xc3\xa9 \xe6\x96\x87??? stage 1");
  CHECK(found.bars[0].name == "<&\"'\\?\?> forward_only 0");
  for (const double seconds : {0.0, -1.0, 1e300, 1e-300, std::numeric_limits<double>::quiet_NaN()})
    for (const event& each :
         read_trace(draw_trace(played(one_f_one_b::write({2, 2})).program, p.when, {seconds})).bars)
      CHECK(std::isfinite(each.dur));
}

TEST_CASE("instructions out of range are drawn without an arrow") {
  drawn_program p = played(one_f_one_b::write({2, 2}));
  for (instruction& each : p.program.instructions) each.voice = 9;
  const read_trace found(draw_trace(p.program, p.when));
  CHECK(static_cast<isize>(found.bars.size()) == p.program.instructions.size());
  CHECK(found.starts.empty());
}

TEST_CASE("nothing to draw") {
  const program nothing;
  CHECK(read_trace(draw_trace(nothing, {})).bars.empty());
  const program p = compile(one_f_one_b::write({2, 1}));
  const read_trace found(draw_trace(p, {}));
  CHECK(found.bars.empty());
  CHECK(found.processes.size() == 2);
  CHECK(read_trace(draw_trace_overlay(nothing, {}, {})).bars.empty());
}

namespace {
struct commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};
}  // namespace

TEST_CASE("a locale changes nothing") {
  const drawn_program p = played_with_wires(one_f_one_b::write({4, 8}));
  const std::string before = draw_trace(p.program, p.when, {1.7e-3});
  const std::locale old = std::locale::global(std::locale(std::locale::classic(), new commas));
  const std::string after = draw_trace(p.program, p.when, {1.7e-3});
  std::locale::global(old);
  CHECK(before == after);
}
