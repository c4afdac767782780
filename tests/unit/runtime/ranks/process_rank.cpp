// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3
#include <mpi_ranks.hpp>

#include <motet/runtime/ranks/process_rank.hpp>

#include <motet/backend/transport/mpi/mpi_group.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include <doctest/doctest.h>

using namespace motet;
using host = process_rank<mpi::world, mpi::endpoint>;

namespace {

// Messages of one number: the step, times the tag.
struct player {
  host& own;
  std::vector<std::int32_t> sent, met;
  std::int32_t step = 0, computed = 0;
  bool good = true;

  explicit player(host& it) : own(it), sent(static_cast<std::size_t>(it.sheet().messages)), met(16) {
    const program& of = it.sheet().of;
    for (std::int32_t i = of.starts[it.rank()]; i < of.starts[it.rank() + 1]; ++i)
      it.player(it.rank()).set(i, {&act, this});
  }
  static bool act(void* self, const instruction& it, std::int32_t i) {
    player& p = *static_cast<player*>(self);
    host& own = p.own;
    const std::int32_t tag = own.sheet().tags[i], rank = own.rank();
    const auto bytes = [](std::int32_t& number) { return reinterpret_cast<std::byte*>(&number); };
    if (is_transfer(it.what)) {
      std::int32_t& cell = p.sent[static_cast<std::size_t>(tag)];
      if (is_send(it.what)) {
        cell = p.step * tag;
        own.end(rank).send(tag, it.peer, bytes(cell), 4);
      } else {
        if (!own.end(rank).receive(tag, it.peer, bytes(cell), 4)) return false;
        p.good = p.good && cell == p.step * tag;
      }
    } else if (own.sheet().graph.meetings[i] >= 0) {
      const std::int32_t members = own.members(tag), me = own.member(tag, rank);
      p.met.resize(static_cast<std::size_t>(members));
      if (!own.end(rank).gather(tag, me, bytes(p.step), 4, bytes(p.met[0]))) return false;
      for (const std::int32_t each : p.met) p.good = p.good && each == p.step;
    }
    ++p.computed;
    return true;
  }
};

program of_ranks(std::int32_t ranks) {
  return ranks == 1 ? compile(one_f_one_b::write({1, 4}))
                    : compile(batch_sync::write({{{ranks - 1, 8, 4, 0}, {1, 8, 4, 0, 1}}, 2}));
}
std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

TEST_CASE("a process plays its rank's part, step after step") {
  const std::int32_t ranks = tests::mpi_session().ranks();
  host own(of_ranks(ranks), 60);
  CHECK(own.rank() == tests::mpi_session().rank());
  CHECK(own.local_ranks() == std::vector<std::int32_t>{own.rank()});
  CHECK(own.members(own.updaters()) == ranks);
  CHECK(own.member(own.updaters(), own.rank()) == own.rank());
  player plays(own);
  const std::int32_t size = own.sheet().of.starts[own.rank() + 1] - own.sheet().of.starts[own.rank()];
  for (plays.step = 1; plays.step <= 20; ++plays.step) {
    std::int32_t prepared = -1;
    own.run([&](std::int32_t rank) { prepared = rank; });
    CHECK(prepared == own.rank());
    CHECK(plays.computed == plays.step * size);
    CHECK(plays.good);
  }
  CHECK(own.report().empty());
}

TEST_CASE("every rank gets the whole timeline") {
  const std::int32_t ranks = tests::mpi_session().ranks();
  host own(of_ranks(ranks), 60);
  player plays(own);
  for (plays.step = 1; plays.step < 3; ++plays.step) {
    timeline when;
    when.makespan = 77;
    own.run([](std::int32_t) {}, &when);
    REQUIRE(when.finish.size() == own.sheet().of.instructions.size());
    double last = 0;
    for (motet::isize i = 0; i < when.finish.size(); ++i) {
      CHECK(when.finish[i] > 0);
      CHECK(when.start[i] <= when.finish[i]);
      last = std::max(last, when.finish[i]);
    }
    CHECK(when.makespan == last);
    // All ranks have the same.
    double sums[] = {when.makespan, 1};
    own.sum(sums, 2);
    CHECK(sums[1] == ranks);
    CHECK(sums[0] == doctest::Approx(ranks * when.makespan));
  }
}

TEST_CASE("ranks tell each other what is no part of a program") {
  const std::int32_t ranks = tests::mpi_session().ranks();
  host own(of_ranks(ranks), 60);
  own.barrier();
  float number = static_cast<float>(1 + own.rank());
  own.sum(&number, 1);
  CHECK(number == static_cast<float>(ranks * (ranks + 1) / 2));
  std::string text = own.rank() == ranks - 1 ? "the last knows" : "              ";
  own.broadcast(reinterpret_cast<std::byte*>(text.data()), static_cast<motet::isize>(text.size()), ranks - 1);
  CHECK(text == "the last knows");
  // Some have nothing.
  for (const int turn : {0, 1}) {
    const auto words = [&](std::int32_t rank) {
      return std::string(static_cast<std::size_t>((rank + turn) % 2 * 100000 * rank),
                         static_cast<char>('a' + rank));
    };
    const auto all = own.gather(bytes_of(words(own.rank())));
    REQUIRE(all.size() == static_cast<std::size_t>(ranks));
    for (std::int32_t r = 0; r < ranks; ++r) {
      const std::string wanted = words(r);
      const auto& got = all[static_cast<std::size_t>(r)];
      CHECK(std::equal(got.begin(), got.end(), bytes_of(wanted).begin(), bytes_of(wanted).end()));
    }
  }
}

TEST_CASE("ranks that do not run the same thing all say so before anything runs") {
  const std::int32_t ranks = tests::mpi_session().ranks(), last = ranks - 1;
  const bool other = tests::mpi_session().rank() == last;
  const auto refusal = [](const program& of, const process_options& options) -> std::string {
    try {
      host own(of, options);
    } catch (const error& problem) {
      return problem.what();
    }
    return "";
  };
  const auto says = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  // The program has as many ranks and messages, in another order.
  const program one = compile(one_f_one_b::write({ranks, 4})), changed = compile(gpipe::write({ranks, 4}));
  std::string text = refusal(other ? changed : one, {});
  CAPTURE(text);
  if (ranks == 1) CHECK(text.empty());
  else {
    CHECK(says(text, "MT-R26"));
    CHECK(says(text, " of the program is "));
    CHECK(says(text, " on rank " + std::to_string(last)));
  }
  process_options plan;
  plan.identity.add("plan", other ? "mine" : "yours");
  text = refusal(one, plan);
  CHECK(says(text, "the plan is yours on rank") == (ranks > 1));
  CHECK(says(text, "mine on rank " + std::to_string(last) + ". ") == (ranks > 1));
  {
    host own(one, 60);
    run_identity alike, mine;
    alike.add("model", "one");
    mine.add("rank", std::to_string(own.rank()));
    own.require_same(alike);
    if (ranks > 1)
      CHECK_THROWS_WITH_AS(own.require_same(mine), doctest::Contains("the rank is 0 on rank 0; 1 on rank 1"),
                           error);
    own.barrier();  // nothing was stopped by it
  }
  // The programs are alike, but for more ranks than there are.
  text = refusal(compile(one_f_one_b::write({ranks + 1, 4})), {});
  CHECK(says(text, "the program has " + std::to_string(ranks + 1) + " ranks, " + std::to_string(ranks) +
                       " were started"));
  CHECK(says(text, "MT-B02"));
}

TEST_CASE("whoever computes for longer than it takes to find out who is dead is waited for") {
  host own(of_ranks(tests::mpi_session().ranks()), process_options{.deadline = 60, .bound = 6});
  player plays(own);
  plays.step = 1;
  own.run([](std::int32_t rank) {
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3400));
  });
  CHECK(plays.good);
}

TEST_CASE("another rank's end is not here") {
  host own(of_ranks(tests::mpi_session().ranks()), 60);
  CHECK_THROWS_WITH_AS(own.end(own.rank() + 1), doctest::Contains("MT-R27"), error);
  CHECK_THROWS_WITH_AS(own.player(-1), doctest::Contains("rank -1 was asked for on rank"), error);
}
