// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/recorder.hpp>

#include "laws/cuda_run.hpp"

#include <doctest/doctest.h>

using namespace motet;
using idx = motet::isize;

namespace {

struct add_more {
  int* to;
  const int* from;
  const idx* more;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    if (self.number() == 0) *to += *from + static_cast<int>(*more);
  }
};

// A group of two that notes what it is asked.
struct noting_group {
  std::vector<std::string> heard;
  ticket next = 0;
  std::int32_t size() const { return 2; }
  std::int32_t member() const { return 1; }
  ticket note(const std::string& what) { return heard.push_back(what), ++next; }
  bool test(ticket) const { return true; }
  void wait(ticket which) { heard.push_back("wait " + std::to_string(which)); }
  template <class T>
  ticket all_reduce_sum(T*, idx count) {
    return note("sum " + std::to_string(count));
  }
  template <class T>
  ticket reduce_scatter_sum(const T*, T*, std::span<const idx> counts) {
    return note("scatter " + std::to_string(counts[0]) + " " + std::to_string(counts[1]));
  }
  ticket all_gather(const std::byte*, std::byte*, std::span<const idx> bytes) {
    return note("gather " + std::to_string(bytes[0]));
  }
  ticket all_to_all(const std::byte*, std::span<const idx> from, std::byte*, std::span<const idx> to) {
    return note("exchange " + std::to_string(from[0]) + " " + std::to_string(to[1]));
  }
  ticket broadcast(std::byte*, idx, std::int32_t) { return note("broadcast"); }
  ticket barrier() { return note("barrier"); }
};

struct fixture {
  motet::cuda::engine& on = laws::gpu();
  motet::cuda::recorder& graphs = on.part<motet::cuda::recorder>();
  laws::flat_on_gpu<std::byte> room = laws::flat_on_gpu<std::byte>(std::vector<std::byte>(4096));
  laws::flat_on_gpu<int> sum{std::vector<int>{0}}, add{std::vector<int>{5}};
  motet::cuda::context ctx;
  fixture() {
    graphs.want(true);
    graphs.forget();
    ctx.on = &on;
    ctx.memory = ctx.scratch = arena(room.data(), 4096);
  }
  auto shape(idx number) {
    return [number](std::vector<idx>& into) { into.push_back(number); };
  }
  int value() { return sum.back()[0]; }
};

}  // namespace

TEST_CASE_FIXTURE(fixture,
                  "work is recorded when its shape comes again, and leaves on the host what it left then") {
  idx more = 10, calls = 0;
  std::vector<idx> kept;
  const auto work = [&](motet::cuda::context& at) {
    at.memory.take<float>(16);
    motet::cuda::launch(at.stream(), {1, 32, 0}, add_more{sum.data(), add.data(), at.on->copied(&more, 1)});
    kept = {++calls};
  };
  const long before = graphs.replayed();
  for (int step = 0; step < 4; ++step) {
    CAPTURE(step);
    on.forget_copies();
    ctx.memory.release(0);
    kept.clear();
    run_recorded(ctx, shape(1), work, kept);
    CHECK(value() == 15 * (step + 1));
    CHECK(calls == std::min(step + 1, 2));
    CHECK(kept == std::vector<idx>{calls});
    CHECK(ctx.memory.mark() == 64);
    CHECK(graphs.replayed() - before == std::max(step, 0));
  }
  // Another shape, place in memory, seed, row or share is other work.
  const auto is_new = [&](idx number, auto&& change) {
    const motet::cuda::context as_it_was = ctx;
    const idx had = calls;
    ctx.memory.release(0);
    change();
    run_recorded(ctx, shape(number), work, kept);
    CHECK(calls == had + 1);
    ctx = as_it_was;
  };
  is_new(2, [] {});
  is_new(1, [&] { ctx.memory.take<float>(1); });
  is_new(1, [&] { ctx.draws.seed = 7; });
  is_new(1, [&] { ctx.draws.first_row = 7; });
  is_new(1, [&] { ctx.draws.dropout = false; });
  is_new(1, [&] { ctx.sample_share = 0.5; });
  CHECK(graphs.recorded() == 1);
  graphs.want(false);
  is_new(1, [] {});
  graphs.want(true);
  forget_recorded(ctx);
  CHECK(graphs.recorded() == 0);
  is_new(1, [] {});
}

TEST_CASE_FIXTURE(fixture, "what a record reads of the host is there when it is replayed first") {
  std::vector<idx> more(16);
  int wanted = 0;
  for (std::size_t k = 0; k < more.size(); ++k) {
    more[k] = static_cast<idx>(100 + k);
    for (int step = 0; step < 2; ++step) {
      on.forget_copies();
      run_recorded(ctx, shape(200 + static_cast<idx>(k)), [&](motet::cuda::context& at) {
        motet::cuda::launch(at.stream(), {1, 32, 0},
                            add_more{sum.data(), add.data(), at.on->copied(&more[k], 1)});
      });
      wanted += 105 + static_cast<int>(k);
      CHECK(value() == wanted);
    }
  }
  CHECK(graphs.recorded() == more.size());
}

TEST_CASE_FIXTURE(fixture,
                  "calls on other ranks, and what the sink is told, come between parts of a replay") {
  noting_group tensor, context;
  microbatch_spread all;
  all.tensor = any_group(tensor);
  all.context = any_group(context);
  microbatch_spread ends;
  ends.tensor = all.tensor;
  all.ends = &ends;
  std::vector<idx> offsets{0, 2, 5};
  all.whole = all.own = {2, 1, offsets.data()};
  ctx.shared = &all;
  struct listener {
    noting_group& to;
    fixture& of;
  } listens{tensor, *this};
  ctx.sink = {
      [](void* self, const void*, idx count) {
        auto& own = *static_cast<listener*>(self);
        own.to.heard.push_back("told " + std::to_string(count) + " at " + std::to_string(own.of.value()));
      },
      &listens};
  const idx zero = 0;
  const auto one = [&](motet::cuda::context& at) {
    motet::cuda::launch(at.stream(), {1, 32, 0}, add_more{sum.data(), add.data(), at.on->copied(&zero, 1)});
  };
  float number = 0;
  std::byte byte{};
  const auto work = [&](motet::cuda::context& at) {
    one(at);
    {
      std::vector<idx> counts{3, 4};  // gone when it is replayed
      at.shared->tensor.all_gather(&byte, &byte, counts);
      at.shared->tensor.reduce_scatter_sum(&number, &number, std::span<const idx>(counts));
      at.shared->ends->tensor.all_reduce_sum(&number, 9);
    }
    gradients_ready(at, &number, 11);
    std::vector<idx> sent{1, 2}, got{5, 6};
    const ticket which = at.shared->context.begin_all_to_all(&byte, sent, &byte, got);
    one(at);
    at.shared->context.finish(which);
    CHECK(at.shared->tensor.member() == 1);
  };
  std::vector<std::string> in_tensor, in_context;
  for (int step = 0; step < 3; ++step) {
    CAPTURE(step);
    on.forget_copies();
    on.finish();
    sum.put({0});
    tensor.heard.clear();
    context.heard.clear();
    tensor.next = 0;
    run_recorded(ctx, shape(5), work);
    CHECK(value() == 10);
    if (step == 0) in_tensor = tensor.heard;
    CHECK(tensor.heard == in_tensor);
    CHECK(context.heard == std::vector<std::string>{"exchange 1 6", "wait " + std::to_string(step + 1)});
  }
  CHECK(in_tensor == std::vector<std::string>{"gather 3", "wait 1", "scatter 3 4", "wait 2", "sum 9",
                                              "wait 3", "told 11 at 5"});
  CHECK(graphs.recorded() == 1);
  // Samples of other lengths are other work, and where gradients have a place of their own nothing is
  // recorded.
  offsets[1] = 3;
  for (int step = 0; step < 2; ++step) run_recorded(ctx, shape(5), work);
  CHECK(graphs.recorded() == 2);
  ctx.sink.where = [](void*, const void*, idx) -> void* { return nullptr; };
  for (int step = 0; step < 3; ++step) run_recorded(ctx, shape(6), work);
  CHECK(graphs.recorded() == 2);
}

TEST_CASE_FIXTURE(fixture, "what cannot be recorded runs as it is, from then on") {
  int calls = 0;
  for (int i = 0; i < 4; ++i) {
    run_recorded(ctx, shape(3), [&](motet::cuda::context& at) {
      ++calls;
      at.on->finish();  // not while recording
    });
  }
  CHECK(calls == 5);
  CHECK_FALSE(graphs.wanted());
  CHECK_FALSE(graphs.not_recorded().empty());
  CHECK(graphs.recorded() == 0);
  on.finish();
}

TEST_CASE("a dry run needs no engine") {
  motet::cuda::context ctx;
  int calls = 0;
  for (int i = 0; i < 3; ++i)
    run_recorded(
        ctx, [](std::vector<idx>&) { FAIL("nobody asks"); }, [&](motet::cuda::context&) { ++calls; });
  forget_recorded(ctx);
  CHECK(calls == 3);
}
