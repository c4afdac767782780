// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/ranks/executor.hpp>

#include <motet/backend/groups/any_group.hpp>
#include <motet/backend/transport/local/local_group.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/core/compose.hpp>
#include <motet/schedule/simulate/measured_costs.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include "lane_scores.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

using namespace motet;

namespace {

// A program on threads with nothing to compute: messages without rows, and a note of what was done when. What
// computes does so apart, and ranks that compute together wait for each other in the middle of it.
class bare_run {
 public:
  explicit bare_run(program from)
      : sheet_(std::move(from)),
        members_(members()),
        world_(sheet_.of.ranks(), sheet_.messages, members_),
        when_(static_cast<std::size_t>(sheet_.of.instructions.size()), -1) {
    for (std::int32_t r = 0; r < sheet_.of.ranks(); ++r) ranks_.push_back(std::make_unique<rank>(*this, r));
    // Ranks that compute together have one group, whatever they compute.
    for (std::size_t m = static_cast<std::size_t>(sheet_.graph.computations); m < members_.size(); ++m)
      if (!members_[m].empty() && std::find(sets_.begin(), sets_.end(), members_[m]) == sets_.end())
        sets_.push_back(members_[m]);
    groups_.emplace(world_, sets_);
    for (std::size_t g = 0; g < sets_.size(); ++g)
      for (const std::int32_t r : sets_[g])
        ranks_[static_cast<std::size_t>(r)]->groups.emplace(
            sets_[g], std::make_unique<local::group>(*groups_, static_cast<std::int32_t>(g),
                                                     ranks_[static_cast<std::size_t>(r)]->end));
    for (std::int32_t i = 0; i < sheet_.of.instructions.size(); ++i) {
      ranks_[static_cast<std::size_t>(sheet_.of.rank_of(i))]->player.set(i, action_of(i));
    }
  }
  action action_of(std::int32_t i) {
    const op what = sheet_.of.instructions[i].what;
    rank& own = *ranks_[static_cast<std::size_t>(sheet_.of.rank_of(i))];
    const std::int32_t meeting = sheet_.graph.meetings[i];
    return {meeting >= sheet_.graph.computations ? &compute_together
            : meeting >= 0                       ? &meet
            : is_send(what)                      ? &send
            : is_receive(what)                   ? &receive
                                                 : &compute,
            &own};
  }
  // One step; ranks that do not end in 20 s are stopped.
  void step() {
    std::fill(when_.begin(), when_.end(), -1);
    clock_ = 0;
    std::mutex mutex;
    std::condition_variable ended;
    std::size_t running = ranks_.size();
    std::exception_ptr failure;
    std::vector<std::thread> threads;
    for (auto& each : ranks_) {
      threads.emplace_back([&, own = each.get()] {
        std::exception_ptr why;
        try {
          own->player.run();
        } catch (...) {
          why = std::current_exception();
          world_.stop();
        }
        const std::lock_guard lock(mutex);
        if (why && !failure) failure = why;
        --running;
        ended.notify_all();
      });
    }
    {
      std::unique_lock lock(mutex);
      if (!ended.wait_for(lock, std::chrono::seconds(20), [&] { return running == 0; })) world_.stop();
    }
    for (auto& each : threads) each.join();
    if (failure) std::rethrow_exception(failure);
  }
  // Says whether everything was done once, and nothing before what it waits for; for a meeting, that is what
  // any of its members waits for.
  bool in_order() const {
    const program_graph& graph = sheet_.graph;
    std::vector<std::vector<std::int32_t>> needs(when_.size()),
        of_meetings(static_cast<std::size_t>(graph.meeting_sizes.size()));
    for (std::int32_t i = 0; i < sheet_.of.instructions.size(); ++i)
      for (const std::int32_t each : graph.waits_of(i))
        if (each >= 0) needs[static_cast<std::size_t>(i)].push_back(each);
    for (motet::isize l = 0; l + 1 < graph.lane_starts.size(); ++l)
      for (std::int32_t p = graph.lane_starts[l] + 1; p < graph.lane_starts[l + 1]; ++p)
        needs[static_cast<std::size_t>(graph.order[p])].push_back(graph.order[p - 1]);
    for (std::size_t i = 0; i < needs.size(); ++i)
      if (const std::int32_t meeting = graph.meetings[static_cast<motet::isize>(i)]; meeting >= 0)
        for (const std::int32_t each : needs[i])
          of_meetings[static_cast<std::size_t>(meeting)].push_back(each);
    for (std::size_t i = 0; i < needs.size(); ++i) {
      const std::int32_t meeting = graph.meetings[static_cast<motet::isize>(i)];
      if (when_[i] < 0) return false;
      for (const std::int32_t each : meeting >= 0 ? of_meetings[static_cast<std::size_t>(meeting)] : needs[i])
        if (when(each) >= when_[i]) return false;
    }
    return true;
  }
  std::int64_t when(std::int32_t i) const { return when_[static_cast<std::size_t>(i)]; }
  const score_sheet& sheet() const { return sheet_; }
  rank_player<local::endpoint>& player(std::int32_t r) { return ranks_[static_cast<std::size_t>(r)]->player; }

 private:
  struct rank {
    bare_run& all;
    local::endpoint end;
    std::map<std::vector<std::int32_t>, std::unique_ptr<local::group>> groups;
    rank_player<local::endpoint> player;
    rank(bare_run& owner, std::int32_t number)
        : all(owner), end(owner.world_, number), player(owner.sheet_, number, end) {}
  };
  std::vector<std::vector<std::int32_t>> members() const {
    std::vector<std::vector<std::int32_t>> found(static_cast<std::size_t>(sheet_.graph.meeting_sizes.size()));
    for (std::int32_t i = 0; i < sheet_.of.instructions.size(); ++i)
      if (sheet_.graph.meetings[i] >= 0)
        found[static_cast<std::size_t>(sheet_.graph.meetings[i])].push_back(sheet_.of.rank_of(i));
    return found;
  }
  bool note(std::int32_t i) {
    when_[static_cast<std::size_t>(i)] = clock_.fetch_add(1);
    return true;
  }
  static bool compute(void* state, const instruction&, std::int32_t i) {
    auto& own = *static_cast<rank*>(state);
    own.end.apart([&] { own.all.note(i); });
    return true;
  }
  static bool compute_together(void* state, const instruction&, std::int32_t i) {
    auto& own = *static_cast<rank*>(state);
    auto& all = *own.groups.at(own.all.members_[static_cast<std::size_t>(own.all.sheet_.tags[i])]);
    own.end.apart([&] {
      all.wait(all.barrier());
      own.all.note(i);
    });
    return true;
  }
  static bool send(void* state, const instruction& it, std::int32_t i) {
    auto& own = *static_cast<rank*>(state);
    own.all.note(i);  // before the other side can see it
    own.end.send(own.all.sheet_.tags[i], it.peer, nullptr, 0);
    return true;
  }
  static bool receive(void* state, const instruction& it, std::int32_t i) {
    auto& own = *static_cast<rank*>(state);
    return own.end.receive(own.all.sheet_.tags[i], it.peer, nullptr, 0) && own.all.note(i);
  }
  static bool meet(void* state, const instruction&, std::int32_t i) {
    auto& own = *static_cast<rank*>(state);
    const std::int32_t meeting = own.all.sheet_.tags[i];
    const auto& all = own.all.members_[static_cast<std::size_t>(meeting)];
    const auto member =
        static_cast<std::int32_t>(std::find(all.begin(), all.end(), own.end.rank()) - all.begin());
    return own.end.gather(meeting, member, nullptr, 0, nullptr) && own.all.note(i);
  }

  score_sheet sheet_;
  std::vector<std::vector<std::int32_t>> members_, sets_;
  local::world world_;
  std::optional<local::group_set> groups_;
  std::vector<std::int64_t> when_;
  std::atomic<std::int64_t> clock_{0};
  std::vector<std::unique_ptr<rank>> ranks_;
};

list<program> programs() {
  list<program> all;
  all.push(compile(one_f_one_b::write({4, 8})));
  all.push(compile(interleaved::write({3, 6})));
  all.push(compile(zb_h2::write({3, 7})));
  all.push(compile(batch_sync::write({{{4, 8, 4, 2}, {2, 4, 2, 0, 1}}, 2})));
  all.push(compile(gpipe::write({3, 5}), {messages::in_one_lane}));
  all.push(compile(joined(beside(one_f_one_b::write({2, 4}), one_f_one_b::write({1, 4})), 4)));
  // Rank 1 has nothing to do.
  score gap;
  voice made;
  made.stages = 2;
  made.microbatches = 3;
  const int tower = gap.add(made, [](int stage) { return 2 * stage; });
  for (int r = 0; r < 3; ++r) {
    gap.rank();
    for (int m = 0; r != 1 && m < 3; ++m) gap.play(op::forward, tower, r / 2, m);
    for (int m = 0; r != 1 && m < 3; ++m) gap.play(op::backward, tower, r / 2, m);
  }
  all.push(compile(gap));
  // Several lanes of a rank compute.
  std::mt19937 random(79);
  for (int k = 0; k < 8; ++k)
    all.push(
        compile(laws::draw_lane_score(random, {.lanes = 1 + k % 3}), {.update = false, .reduce = false}));
  return all;
}

// An end that shows what a rank does, as one with a profiler.
struct showing_end : local::endpoint {
  using local::endpoint::endpoint;
  std::vector<std::string> shown;
  int open = 0;
  struct shown_range {
    showing_end& at;
    ~shown_range() { --at.open; }
  };
  static bool wants_ranges() { return true; }
  void pause(std::uint32_t) {}  // nobody else is there to wait for
  shown_range range(const char* name) {
    shown.push_back(name);
    ++open;
    return {*this};
  }
};

}  // namespace

TEST_CASE("a sheet gives each message a tag, the same at both ends") {
  for (const program& each : programs()) {
    const score_sheet sheet(each);
    std::vector<int> sends(static_cast<std::size_t>(sheet.messages), 0), receives = sends;
    for (std::int32_t i = 0; i < each.instructions.size(); ++i) {
      const instruction& it = each.instructions[i];
      if (is_send(it.what)) ++sends[static_cast<std::size_t>(sheet.tags[i])];
      if (is_receive(it.what)) ++receives[static_cast<std::size_t>(sheet.tags[i])];
      if (it.what == op::join) CHECK(sheet.tags[i] == sheet.graph.meetings[i]);
      if (!is_receive(it.what)) continue;
      for (std::int32_t k = 0; k < each.instructions.size(); ++k)
        if (is_send(each.instructions[k].what) && sheet.tags[k] == sheet.tags[i]) {
          CHECK(each.instructions[k].peer == each.rank_of(i));
          CHECK(each.instructions[k].microbatch == it.microbatch);
        }
    }
    CHECK(sends == std::vector<int>(sends.size(), 1));
    CHECK(receives == sends);
  }
}

TEST_CASE("a program that could hang is refused before it runs") {
  program wrong = compile(one_f_one_b::write({2, 2}));
  std::swap(wrong.instructions[0], wrong.instructions[2]);
  CHECK_THROWS_AS(score_sheet{wrong}, error);
  CHECK_THROWS_WITH_AS(score_sheet{compile(one_f_one_b::write({3, 5}), {messages::in_one_lane})},
                       doctest::Contains("MT-P28"), error);
}

TEST_CASE("every instruction is done once in a step, behind all that it waits for") {
  for (const program& each : programs()) {
    bare_run all(each);
    for (int step = 0; step < 5; ++step) {
      all.step();
      CHECK(all.in_order());
    }
  }
}

TEST_CASE("what was computed leaves before the next computation begins") {
  const program of = compile(gpipe::write({2, 6}));
  bare_run all(of);
  all.step();
  std::vector<std::int64_t> forwards(6), sends(6);
  for (std::int32_t i = of.starts[0]; i < of.starts[1]; ++i) {
    const instruction& it = of.instructions[i];
    if (it.what == op::forward) forwards[static_cast<std::size_t>(it.microbatch)] = all.when(i);
    if (it.what == op::send_forward) sends[static_cast<std::size_t>(it.microbatch)] = all.when(i);
  }
  for (std::size_t m = 0; m + 1 < 6; ++m) CHECK(sends[m] < forwards[m + 1]);
}

TEST_CASE("lanes show where they stand") {
  const program of = compile(one_f_one_b::write({2, 3}));
  bare_run all(of);
  std::int32_t found = 0;
  all.player(0).each_lane([&](std::int32_t begin, std::int32_t, std::int32_t end) { found += end - begin; });
  CHECK(found == of.starts[1]);
  all.step();
  for (std::int32_t r = 0; r < 2; ++r) {
    all.player(r).each_lane([](std::int32_t, std::int32_t at, std::int32_t end) { CHECK(at == end); });
    CHECK(all.player(r).current() == -1);
  }
}

TEST_CASE("a player records when its instructions ran, and can be told not to") {
  const program of = compile(batch_sync::write({{{2, 4, 2}, {1, 4, 2}}, 2}));
  bare_run all(of);
  timeline when;
  when.start.resize(of.instructions.size(), -1);
  when.finish.resize(of.instructions.size(), -1);
  for (std::int32_t r = 0; r < of.ranks(); ++r) all.player(r).record(&when, std::chrono::steady_clock::now());
  all.step();
  for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
    CHECK(when.start[i] >= 0);
    CHECK(when.finish[i] >= when.start[i]);
    for (const std::int32_t each : all.sheet().graph.waits_of(i))
      if (each >= 0 && of.rank_of(each) == of.rank_of(i)) CHECK(when.start[i] >= when.finish[each]);
  }
  const timeline before = when;
  for (std::int32_t r = 0; r < of.ranks(); ++r) all.player(r).record(nullptr, {});
  all.step();
  CHECK(when.start == before.start);
}

namespace {
// Two ranks that sum inside each forward; the second comes later than the first by so long.
struct two_that_meet {
  static constexpr auto late = std::chrono::milliseconds(4);
  score_sheet sheet{compile(placed_apart())};
  local::world world{2, sheet.messages, std::vector<std::vector<std::int32_t>>{}};
  local::group_set set{world, std::vector<std::vector<std::int32_t>>{{0, 1}}};
  struct rank {
    local::endpoint end;
    local::group group;
    any_group any{group};
    rank_player<local::endpoint> player;
    rank(two_that_meet& all, std::int32_t number)
        : end(all.world, number), group(all.set, 0, end), player(all.sheet, number, end) {}
  };
  rank first{*this, 0}, second{*this, 1};

  static score placed_apart() { return beside(one_f_one_b::write({1, 3}), one_f_one_b::write({1, 3})); }
  two_that_meet() {
    for (std::int32_t i = 0; i < sheet.of.instructions.size(); ++i) {
      rank& own = sheet.of.rank_of(i) == 0 ? first : second;
      own.player.set(i, {[](void* state, const instruction& it, std::int32_t) {
                           rank& mine = *static_cast<rank*>(state);
                           if (it.what != op::forward) return true;
                           float number = 1;
                           if (mine.end.rank() == 1) std::this_thread::sleep_for(late);
                           mine.any.all_reduce_sum(&number, 1);
                           CHECK(number == 2);
                           return true;
                         },
                         &own});
    }
  }
  void step(timeline* into) {
    const auto zero = std::chrono::steady_clock::now();
    first.player.record(into, zero);
    second.player.record(into, zero);
    std::thread other([this] { second.player.run(); });
    first.player.run();
    other.join();
  }
  timeline recorded() {
    timeline when;
    when.start.resize(sheet.of.instructions.size(), -1);
    when.finish.resize(sheet.of.instructions.size(), -1);
    step(&when);
    first.player.add_gaps(when.gaps);
    second.player.add_gaps(when.gaps);
    return when;
  }
};
}  // namespace

TEST_CASE("a wait for others inside an operation is recorded as its gap") {
  two_that_meet all;
  const program& of = all.sheet.of;
  for (const int again : {0, 1}) {
    CAPTURE(again);
    const timeline when = all.recorded();
    CHECK(when.gaps.size() == 6);
    double waited = 0;
    for (const timeline::gap& each : when.gaps) {
      CHECK(of.instructions[each.instruction].what == op::forward);
      CHECK(each.what == wait_for::sum);
      CHECK(each.start >= when.start[each.instruction]);
      CHECK(each.finish >= each.start);
      CHECK(each.finish <= when.finish[each.instruction]);
      if (of.rank_of(each.instruction) == 0) waited += each.finish - each.start;
    }
    // Who is not late waits for nearly as long as the other sleeps, each time.
    CHECK(waited > 3 * 0.8 * std::chrono::duration<double>(two_that_meet::late).count());
    const cost_table costs = measured_costs(of, {when});
    const stage_cost& early = costs.stages[of.voices[of.instructions[of.starts[0]].voice].first_place];
    CHECK(early.gaps(op::forward) > 0.5);
    CHECK(early.gaps(op::forward) < 1);
    CHECK(early.gaps(op::backward) == 0);
  }
  all.step(nullptr);
  list<timeline::gap> none;
  all.first.player.add_gaps(none);
  CHECK(none.empty());
}

namespace {
struct one_rank {
  score_sheet sheet{compile(one_f_one_b::write({1, 4}))};
  local::world world{1, 1, std::vector<std::vector<std::int32_t>>{}};
  local::endpoint end{world, 0};
  rank_player<local::endpoint> player{sheet, 0, end};
  int refusals = 3, calls = 0;
};
}  // namespace

TEST_CASE("what cannot go on yet is called again when something has arrived") {
  one_rank all;
  for (std::int32_t i = 0; i < all.sheet.of.instructions.size(); ++i)
    all.player.set(i, {[](void* state, const instruction& it, std::int32_t) {
                         auto& own = *static_cast<one_rank*>(state);
                         ++own.calls;
                         if (it.what != op::backward || it.microbatch != 2 || own.refusals == 0) return true;
                         --own.refusals;
                         own.end.send(0, 0, nullptr, 0);  // rings
                         return false;
                       },
                       &all});
  all.player.run();
  CHECK(all.refusals == 0);
  CHECK(all.calls == 9 + 3);
}

TEST_CASE("what an instruction throws leaves the player, which names it") {
  one_rank all;
  for (std::int32_t i = 0; i < all.sheet.of.instructions.size(); ++i)
    all.player.set(i, {[](void*, const instruction& it, std::int32_t) {
                         if (it.what == op::forward && it.microbatch == 3) throw std::runtime_error("broken");
                         return true;
                       },
                       nullptr});
  CHECK_THROWS_WITH(all.player.run(), "broken");
  CHECK(locate(all.sheet.of, all.player.current()).find("forward of module 0, stage 0, microbatch 3") !=
        std::string::npos);
}

TEST_CASE("the clock counts what a place computes, and no waiting for others") {
  bare_run run(compile(one_f_one_b::write({2, 4})));
  const program& of = run.sheet().of;
  REQUIRE(of.places.size() == 2);
  // Rank 0 computes slowly; rank 1 waits for it all the time, and its messages take long.
  const auto slow = [](void* what, const instruction& it, std::int32_t number) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const action& own = *static_cast<action*>(what);
    return own.run(own.stage, it, number);
  };
  static std::vector<action> actions;
  actions.resize(static_cast<std::size_t>(of.instructions.size()));
  int waits = 0;
  for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
    const op what = of.instructions[i].what;
    if (of.rank_of(i) == 0 ? !is_forward(what) && !is_backward(what) : !is_send(what)) continue;
    waits += of.rank_of(i) == 0;
    actions[static_cast<std::size_t>(i)] = run.action_of(i);
    run.player(of.rank_of(i)).set(i, {slow, &actions[static_cast<std::size_t>(i)]});
  }
  CHECK(waits == 8);
  double seconds[2] = {};
  run.step();
  CHECK(seconds[0] + seconds[1] == 0);
  for (std::int32_t r = 0; r < 2; ++r) run.player(r).clock(seconds);
  // Where the machine takes the processor from rank 1 for long while it computes, it looks slow as well.
  int tries = 0;
  do {
    seconds[0] = seconds[1] = 0;
    run.step();
    run.step();
    CHECK(seconds[0] >= 2 * waits * 0.002);
    CHECK(seconds[1] > 0);
  } while (seconds[1] >= seconds[0] && ++tries < 100);
  CHECK(seconds[1] < seconds[0]);
  for (std::int32_t r = 0; r < 2; ++r) run.player(r).clock(nullptr);
  const double before = seconds[0];
  run.step();
  CHECK(seconds[0] == before);
}

TEST_CASE(
    "who shows profilers what a rank does calls each instruction by its name, as often as it is tried") {
  const score_sheet sheet(compile(gpipe::write({1, 2})));
  local::world world(1, sheet.messages, {});
  showing_end end(world, 0);
  rank_player<showing_end> player(sheet, 0, end);
  struct tried {
    showing_end& at;
    int times = 0, open = 0;
  } how{end};
  const auto count = static_cast<std::int32_t>(sheet.of.instructions.size());
  for (std::int32_t i = 0; i < count; ++i)
    player.set(i, {[](void* with, const instruction&, std::int32_t number) {
                     tried& own = *static_cast<tried*>(with);
                     own.open += own.at.open;
                     return number > 0 || own.times++ > 0;  // the first one cannot go on at first
                   },
                   &how});
  std::vector<std::string> expected{describe(sheet.of, sheet.of.instructions[0])};
  for (std::int32_t i = 0; i < count; ++i) expected.push_back(describe(sheet.of, sheet.of.instructions[i]));
  timeline times;
  for (const bool recorded : {false, true}) {
    how.times = 0;
    end.shown.clear();
    times.start.resize(count), times.finish.resize(count);
    player.record(recorded ? &times : nullptr, std::chrono::steady_clock::now());
    player.run();
    CHECK(end.shown == expected);
    CHECK(end.open == 0);
  }
  CHECK(how.open == 2 * (count + 1));
}

namespace {
// A rank with nothing but computations, of one module in each lane, that are all apart.
struct lanes_of_one_rank {
  static program made_of(int modules, int lanes, int microbatches) {
    score from;
    for (int k = 0; k < modules; ++k) {
      voice each;
      each.module = k;
      each.lane = k % lanes;
      each.microbatches = microbatches;
      from.add(each, [](int) { return 0; });
    }
    from.rank();
    for (const op what : {op::forward, op::backward})
      for (int k = 0; k < modules; ++k)
        for (int m = 0; m < microbatches; ++m) from.play(what, k, 0, m);
    return compile(from, {.update = false});
  }
  explicit lanes_of_one_rank(const program& of) : sheet(of) {}
  template <class Compute>
  void run(Compute& compute) {
    for (std::int32_t i = 0; i < sheet.of.instructions.size(); ++i)
      player.set(i, {[](void* state, const instruction& it, std::int32_t) {
                       (*static_cast<Compute*>(state))(it);
                       return true;
                     },
                     &compute});
    player.run();
  }
  score_sheet sheet;
  local::world world{1, 1, std::vector<std::vector<std::int32_t>>{}};
  local::endpoint end{world, 0};
  rank_player<local::endpoint> player{sheet, 0, end};
};

void play_drawn_lanes(int programs, int steps) {
  std::mt19937 random(91);
  for (int k = 0; k < programs; ++k) {
    CAPTURE(k);
    bare_run all(
        compile(laws::draw_lane_score(random, {.modules = 2 + k % 2, .lanes = 2, .ranks = 1 + k % 3}),
                {.update = false, .reduce = false}));
    for (int step = 0; step < steps; ++step) {
      all.step();
      REQUIRE(all.in_order());
    }
  }
}
}  // namespace

TEST_CASE("lanes compute at once: each waits within its computation until the others are within theirs") {
  for (const int lanes : {2, 3}) {
    lanes_of_one_rank all(lanes_of_one_rank::made_of(lanes, lanes, 4));
    std::atomic<int> inside{0}, left{0};
    auto compute = [&](const instruction& it) {
      all.end.apart([&] {
        const int turn = (is_backward(it.what) ? 4 : 0) + it.microbatch + 1;
        ++inside;
        for (const auto begin = std::chrono::steady_clock::now();
             inside < turn * lanes && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20);)
          std::this_thread::yield();
        if (inside >= turn * lanes) ++left;
      });
    };
    all.run(compute);
    CHECK(left == 8 * lanes);
  }
}

TEST_CASE(
    "what one lane throws ends the others, also within a wait, and is what the player throws and names") {
  lanes_of_one_rank all(lanes_of_one_rank::made_of(2, 2, 4));
  std::atomic<bool> waits{false};
  auto compute = [&](const instruction& it) {
    all.end.apart([&] {
      if (it.voice == 0 && it.microbatch == 2) {
        while (!waits) std::this_thread::yield();
        throw std::runtime_error("broken");
      }
      if (it.voice == 1 && it.microbatch == 1) {
        const auto turn = all.end.turn();
        waits = true;
        for (;;) all.end.pause(all.end.observe());
      }
    });
  };
  CHECK_THROWS_WITH(all.run(compute), "broken");
  CHECK(locate(all.sheet.of, all.player.current()).find("forward of module 0, stage 0, microbatch 2") !=
        std::string::npos);
}

TEST_CASE("drawn programs of two lanes are played to their end, in order") { play_drawn_lanes(24, 10); }

// By hand, under the thread sanitizer too: --no-skip.
TEST_CASE("a hundred thousand steps of two lanes" * doctest::skip()) { play_drawn_lanes(500, 200); }
