// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/ranks/thread_ranks.hpp>

#include <motet/backend/transport/local/local.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include <doctest/doctest.h>

#include "laws/refused_threads.hpp"

#include <set>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace motet;
using ranks_type = thread_ranks<local::world, local::endpoint>;

namespace {

// Ranks that carry messages without rows, and compute what a test says.
struct crew {
  using body = bool (*)(crew&, const instruction&, std::int32_t);
  struct member {
    crew* all;
    std::int32_t rank;
  };
  ranks_type ranks;
  body compute;
  std::vector<member> members;
  std::atomic<int> computed{0};
  std::atomic<bool> broken{true};

  crew(const score& order, body what, double deadline = 20, double grace = 20, double patience = 10)
      : ranks(compile(order), deadline, grace, patience), compute(what) {
    const program& of = ranks.sheet().of;
    for (std::int32_t r = 0; r < of.ranks(); ++r) members.push_back({this, r});
    for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
      const std::int32_t rank = of.rank_of(i);
      ranks.player(rank).set(i, {&run, &members[static_cast<std::size_t>(rank)]});
    }
  }
  static bool run(void* state, const instruction& it, std::int32_t i) {
    const member& own = *static_cast<member*>(state);
    ranks_type& all = own.all->ranks;
    const std::int32_t tag = all.sheet().tags[i];
    if (is_send(it.what)) return all.end(own.rank).send(tag, it.peer, nullptr, 0), true;
    if (is_receive(it.what)) return all.end(own.rank).receive(tag, it.peer, nullptr, 0);
    if (all.sheet().graph.meetings[i] >= 0 &&
        !all.end(own.rank).gather(tag, all.member(tag, own.rank), nullptr, 0, nullptr))
      return false;
    ++own.all->computed;
    return own.all->compute(*own.all, it, i);
  }
};
void nothing(std::int32_t) {}
bool succeed(crew&, const instruction&, std::int32_t) { return true; }

std::string text_of(crew& all) {
  try {
    all.ranks.run(nothing);
  } catch (const std::exception& problem) {
    return problem.what();
  }
  return "";
}
bool says(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

inline constexpr message own_row{"MT-T99", "a rule of this test", "", "Nothing to do"};

}  // namespace

TEST_CASE("steps follow each other, each rank on a thread of its own") {
  crew all(batch_sync::write({{{3, 8, 4, 2}, {1, 4, 2}}, 2}), succeed);
  all.ranks.start();
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::set<std::int32_t> ranks;
  int computations = 0;
  for (const instruction& each : all.ranks.sheet().of.instructions)
    computations += is_transfer(each.what) ? 0 : 1;
  for (int step = 1; step <= 20; ++step) {
    all.ranks.run([&](std::int32_t rank) {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
      ranks.insert(rank);
    });
    CHECK(all.computed == step * computations);
  }
  CHECK(threads.size() == 4);
  CHECK(ranks == std::set<std::int32_t>{0, 1, 2, 3});
}

TEST_CASE("threads that the system refuses are an error that counts them, and no step comes after") {
  crew all(one_f_one_b::write({3, 3}), succeed);
  {
    const laws::refused_threads none;
    CHECK_THROWS_WITH_AS(all.ranks.run(nothing), doctest::Contains("ranks as threads: wanted 3, got 0 ("),
                         error);
  }
  CHECK_THROWS_WITH_AS(all.ranks.run(nothing), doctest::Contains("MT-R08"), error);
}

TEST_CASE("ranks that never run end as well") { const crew all(one_f_one_b::write({3, 3}), succeed); }

TEST_CASE("meetings know their members, and who updates") {
  crew all(batch_sync::write({{{2, 4, 2}, {3, 4, 2}}, 2}), succeed);
  // Last stages are on ranks 1 and 4; two groups.
  for (const std::int32_t meeting : {0, 1}) {
    CHECK(all.ranks.members(meeting) == 2);
    CHECK(all.ranks.member(meeting, 1) == 0);
    CHECK(all.ranks.member(meeting, 4) == 1);
    CHECK(all.ranks.member(meeting, 0) == -1);
  }
  CHECK(all.ranks.members(all.ranks.updaters()) == 5);
  CHECK(all.ranks.member(all.ranks.updaters(), 3) == 3);
}

TEST_CASE("a timeline of a step has its causes and its makespan") {
  crew all(one_f_one_b::write({2, 4}), [](crew&, const instruction& it, std::int32_t) {
    if (is_compute(it.what)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return true;
  });
  timeline when;
  when.makespan = 77;
  for (int step = 0; step < 2; ++step) {
    all.ranks.run(nothing, &when);
    const program& of = all.ranks.sheet().of;
    REQUIRE(when.finish.size() == of.instructions.size());
    double last = 0;
    for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
      last = std::max(last, when.finish[i]);
      // A receive is behind the beginning of its send: it may see the message before the send has told the
      // time, and may have been asked for before, when its thread slept in between.
      if (when.after[i] < 0) continue;
      if (is_receive(of.instructions[i].what) && is_send(of.instructions[when.after[i]].what))
        CHECK(when.finish[i] >= when.start[when.after[i]]);
      else CHECK(when.start[i] >= when.finish[when.after[i]]);
    }
    CHECK(when.makespan == last);
    CHECK(when.makespan >= 0.010);  // ten computations of the last rank's path, one after the other
    CHECK(when.makespan < 20);
  }
}

TEST_CASE("what a rank throws reaches the caller with its place, the others stop, and no step comes after") {
  crew all(one_f_one_b::write({4, 8}), [](crew& own, const instruction& it, std::int32_t) {
    if (own.computed > 100 && it.stage == 2 && it.what == op::backward) fail(own_row, "seven apples");
    return true;
  });
  std::string text;
  while (text.empty()) text = text_of(all);
  CAPTURE(text);
  CHECK(says(text, "seven apples"));
  CHECK(says(text, "rank 2, instruction"));
  CHECK(says(text, "backward of module 0, stage 2, microbatch"));
  CHECK(says(text, "MT-T99"));
  CHECK(says(text_of(all), "MT-R08"));
  CHECK(says(text_of(all), "MT-R08"));
}

TEST_CASE("errors keep their code, and what is no error of ours keeps its type") {
  crew all(one_f_one_b::write({2, 2}),
           [](crew&, const instruction&, std::int32_t) -> bool { fail(own_row); });
  try {
    all.ranks.run(nothing);
    FAIL("nothing was thrown");
  } catch (const error& problem) {
    CHECK(std::string_view(problem.code()) == "MT-T99");
  }
  crew other(one_f_one_b::write({2, 2}),
             [](crew&, const instruction&, std::int32_t) -> bool { throw std::out_of_range("too far"); });
  CHECK_THROWS_AS(other.ranks.run(nothing), std::out_of_range);
  crew early(one_f_one_b::write({2, 2}), succeed);
  CHECK_THROWS_WITH_AS(early.ranks.run([](std::int32_t rank) {
    if (rank == 1) fail(own_row, "before it began");
  }),
                       doctest::Contains("before it began"), error);
  CHECK(says(text_of(early), "MT-R08"));
}

TEST_CASE("ranks that are late are stopped, and the error says who waits for whom") {
  // One rank never gets what it asks for; its neighbours wait for it. Where the machine was busy they may not
  // have come so far in this time, and get more.
  std::string text;
  for (const double deadline : {0.05, 0.5, 5.0}) {
    crew all(
        batch_sync::write({{{3, 4, 4}, {1, 4, 4}}, 2}),
        [](crew&, const instruction& it, std::int32_t) {
          return !(it.what == op::forward && it.voice == 0 && it.stage == 1 && it.microbatch == 2);
        },
        deadline);
    text = text_of(all);
    CHECK(says(text, "MT-R07"));
    CHECK(says(text, deadline == 0.05 ? "after 0.05" : deadline == 0.5 ? "after 0.5" : "after 5"));
    CHECK(says(text_of(all), "MT-R08"));
    if (says(text, "microbatch 2) waits for nothing") &&
        says(text, "stage 2, microbatch 2) waits for rank 1") &&
        says(text, "(join 0, group 0) waits for rank 2"))
      break;
  }
  CAPTURE(text);
  // The one that could go on, and those that wait: for a message, and for the other members of a join.
  CHECK(says(text, "(forward of module 0, stage 1, microbatch 2) waits for nothing"));
  CHECK(says(text, "(receive_forward of module 0, stage 2, microbatch 2) waits for rank 1, instruction"));
  CHECK(says(text, "(join 0, group 0) waits for rank 2, instruction"));
  CHECK(!says(text, "microbatch 0) waits for rank 0, instruction 0"));  // what is done holds nobody up
}

TEST_CASE("ranks of which all wait are stopped before the deadline; one that computes is waited for") {
  crew stuck(
      one_f_one_b::write({3, 4}),
      [](crew&, const instruction& it, std::int32_t) {
        return !(it.what == op::forward && it.stage == 1 && it.microbatch == 2);
      },
      20, 20, 0.05);
  stuck.ranks.note_checkpoint("run/step-000007");
  const std::string text = text_of(stuck);
  CAPTURE(text);
  CHECK(says(text, "MT-R25"));
  CHECK(says(text, "last checkpoint: run/step-000007"));
  CHECK(says(text, "(forward of module 0, stage 1, microbatch 2) waits for nothing"));
  CHECK(says(text, "(receive_forward of module 0, stage 2, microbatch 2) waits for rank 1, instruction"));
  CHECK(says(text_of(stuck), "MT-R08"));
  crew slow(
      one_f_one_b::write({3, 4}),
      [](crew&, const instruction& it, std::int32_t) {
        if (it.what == op::forward && it.stage == 1 && it.microbatch == 2)
          std::this_thread::sleep_for(std::chrono::milliseconds(900));
        return true;
      },
      20, 20, 0.4);
  CHECK(text_of(slow) == "");
}

TEST_CASE("a failure just before the deadline is told, not the deadline") {
  crew all(
      one_f_one_b::write({2, 2}),
      [](crew&, const instruction& it, std::int32_t) {
        if (it.what == op::forward && it.stage == 1) {
          std::this_thread::sleep_for(std::chrono::milliseconds(80));
          throw std::runtime_error("late and broken");
        }
        return true;
      },
      0.05);
  CHECK(says(text_of(all), "late and broken"));
}

TEST_CASE("a thread that cannot be stopped ends the process, with a report") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    ::signal(SIGABRT, SIG_DFL);
    crew all(
        one_f_one_b::write({2, 2}),
        [](crew& own, const instruction& it, std::int32_t) {
          while (it.what == op::backward && own.broken) std::this_thread::yield();
          return true;
        },
        0.05, 0.05);
    all.ranks.run(nothing);
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char part[256];
  for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CAPTURE(text);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
  CHECK(says(text, "MT-R07"));
  CHECK(says(text, "backward of module 0, stage 1, microbatch 0"));
}
