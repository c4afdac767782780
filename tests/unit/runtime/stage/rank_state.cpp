// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/stage/rank_state.hpp>

#include <motet/backend/cpu/operations.hpp>
#include <motet/backend/transport/local/local.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <numeric>

using namespace motet;

using state = rank_state<cpu::context, fp32, local::endpoint>;

TEST_CASE("all threads of a rank do a work together, each with scratch of its own, and see one memory") {
  for (const int threads : {1, 2, 3}) {
    state rank;
    rank.threads = threads;
    rank.prepare(4096, 256);
    CHECK(rank.scratch_memory.size() == 256 * threads);
    std::vector<float> numbers(1000), copied(1000);
    std::iota(numbers.begin(), numbers.end(), 1.0f);
    for (int turn = 0; turn < 3; ++turn) {
      rank.ctx.memory = rank.work;
      std::atomic<int> seen{0};
      std::vector<const void*> memory(static_cast<std::size_t>(threads)), scratch(memory);
      rank.together([&](cpu::context& ctx, int thread) {
        CHECK(ctx.thread == thread);
        CHECK(ctx.threads == threads);
        ++seen;
        memory[static_cast<std::size_t>(thread)] = ctx.memory.take<float>(10);
        scratch[static_cast<std::size_t>(thread)] = ctx.scratch.take<float>(10);
        copy(ctx, static_cast<const float*>(numbers.data()), copied.data(), motet::isize{1000});
      });
      CHECK(seen == threads);
      CHECK(copied == numbers);
      CHECK(rank.ctx.memory.mark() == 64);  // what the threads took is taken
      for (int t = 1; t < threads; ++t) {
        CHECK(memory[static_cast<std::size_t>(t)] == memory[0]);
        CHECK(scratch[static_cast<std::size_t>(t)] != scratch[0]);
      }
    }
  }
}

TEST_CASE("each thread keeps views of its own") {
  state rank;
  rank.threads = 2;
  rank.prepare(64, 64);
  std::vector<kept_views> kept(2, kept_views::of<int>());
  rank.together([](std::vector<motet::isize>&) {}, kept,
                [](cpu::context& ctx, kept_views& own) { own.as<int>() = 10 + ctx.thread; });
  CHECK(kept[0].as<int>() == 10);
  CHECK(kept[1].as<int>() == 11);
}

TEST_CASE("what one thread throws is thrown by the work") {
  state rank;
  rank.threads = 3;
  rank.prepare(64, 64);
  const auto work = [](cpu::context& ctx, int thread) {
    if (thread == 1) throw std::runtime_error("of thread 1");
    synchronize(ctx);
  };
  CHECK_THROWS_WITH(rank.together(work), "of thread 1");
  int ran = 0;
  rank.together([&](cpu::context&, int thread) {
    if (thread == 0) ++ran;
  });
  CHECK(ran == 1);
}

TEST_CASE("a rank has one courier where its end and its device allow it, and else says so") {
  local::world world(1, 0, {});
  local::endpoint end(world, 0);
  state rank;
  rank.end = &end;
  courier* const first = rank.beside();
  CHECK(first != nullptr);
  CHECK(first == rank.beside());
  struct end_of_one_thread {};
  rank_state<cpu::context, fp32, end_of_one_thread> other;
  CHECK_THROWS_WITH_AS(other.beside(), doctest::Contains("MT-R64"), error);
}

struct cutting : cpu::context {
  static constexpr bool keeps_samples_whole = false;
};

TEST_CASE("a rank keeps samples whole where its device can") {
  state rank;
  rank.keep_samples_whole();
  rank_state<cutting, fp32, local::endpoint> other;
  CHECK_THROWS_WITH_AS(other.keep_samples_whole(), doctest::Contains("MT-R69"), error);
}

struct apart : cpu::context {
  template <class T>
  struct buffer : motet::buffer<T> {
    using motet::buffer<T>::buffer;
  };
};

TEST_CASE("what backward needs leaves a rank on processors alone") {
  state rank;
  rank.require_offload();
  rank_state<apart, fp32, local::endpoint> other;
  CHECK_THROWS_WITH_AS(other.require_offload(), doctest::Contains("MT-R71"), error);
}

TEST_CASE("a move is made at once where nobody can wake the rank, and else beside it") {
  local::world world(1, 0, {});
  local::endpoint end(world, 0);
  far_memory far(64);
  std::vector<std::byte> kept(64, std::byte{5}), back(64);
  for (const bool beside : {false, true}) {
    state rank;
    if (beside) rank.end = &end;
    const auto move = [&](const far_move& what) {
      for (int tries = 1;; ++tries) {
        const std::uint32_t seen = end.observe();
        if (rank.moved(what)) return tries;
        end.pause(seen);
      }
    };
    back.assign(64, std::byte{});
    CHECK((move({&far, 0, kept.data(), 64, true}) > 1) == beside);
    CHECK((move({&far, 0, back.data(), 64, false}) > 1) == beside);
    CHECK(back == kept);
    CHECK(rank.move_began.time_since_epoch().count() > 0);
  }
}
