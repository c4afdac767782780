// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/gradients/gradient_ring.hpp>

#include <doctest/doctest.h>
#include <reduction_threads.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

using namespace motet;

namespace {
using ring = gradient_ring<float, local::group, cpu::context>;
const std::vector<interval> two = {{0, 64}, {64, 160}};
reduction_layout layout_of(std::int32_t rank, bool shards = true) {
  return lay_out_reduction(160, {2, rank}, {}, {.elements = 96, .packed = 16, .shards = shards}, two);
}
void* where(ring& of, const float* data, motet::isize count) { return of.sink().where(&of, data, count); }
void tell(ring& of, const float* data, motet::isize count) { of.sink().told(&of, data, count); }

// One of two members, of which the other brings zeros. Calls before `done_from` are under way for as long as
// nobody waits for them.
struct slow_group {
  ticket begun = 0, done_from = 0;
  std::int32_t size() const { return 2; }
  std::int32_t member() const { return 0; }
  bool test(ticket which) const { return which >= done_from; }
  void wait(ticket) const {}
  ticket all_reduce_sum(float*, motet::isize) { return begun++; }
  ticket reduce_scatter_sum(const float*, float*, std::span<const motet::isize>) { return begun++; }
  ticket all_gather(const std::byte*, std::byte*, std::span<const motet::isize>) { return begun++; }
};
}  // namespace

TEST_CASE("owners get the sums of all microbatches, though gradients exist for a few layers at a time") {
  for (std::uint64_t seed = 0; seed < 48; ++seed) {
    const laws::made_ranks ranks{1 + static_cast<std::int32_t>(seed % 4),
                                 1 + static_cast<std::int32_t>(seed / 4 % 3)};
    if (ranks.size() > 4) continue;
    CAPTURE(seed);
    std::atomic<int> wrong{0};
    CHECK(laws::run_reduction(ranks, 4, [&](local::endpoint& end, local::group* cut, local::group* shared) {
            laws::host_site host;
            wrong += laws::check_ring(host, ranks, end.rank(), cut, shared, end, seed,
                                      1 + static_cast<std::int32_t>(seed % 3));
          }) == "");
    CHECK(wrong == 0);
  }
}

TEST_CASE("there is memory for the layers at hand and for what is owned, and for no more") {
  const laws::made_ranks ranks{2, 1};
  CHECK(laws::run_reduction(ranks, 4, [&](local::endpoint& end, local::group* cut, local::group*) {
          const ring one(layout_of(end.rank()), two, {cut}, 1), more(layout_of(end.rank()), two, {cut}, 3);
          if (one.gradient_bytes() != (96 + 80) * 4 || more.gradient_bytes() != (3 * 96 + 80) * 4)
            throw std::runtime_error("other bytes");
        }) == "");
}

TEST_CASE("no bucket in its place leaves its layer") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const laws::made_ranks ranks{2, 1 + static_cast<std::int32_t>(seed % 3)};
    const auto stage = laws::stage_of(laws::make_parameters(seed, ranks.tensor), ranks.tensor, 0);
    const auto layers = laws::layers_of(stage, seed);
    motet::isize covered = 0;
    const reduction_layout layout = ranks.layout(stage, 0, laws::make_options(seed, true), layers);
    for (const auto& lane : layout.lanes)
      for (const gradient_bucket& each : lane.buckets)
        for (const interval part : each.parts) {
          covered += part.size();
          CHECK(std::any_of(layers.begin(), layers.end(),
                            [&](interval l) { return part.begin >= l.begin && part.end <= l.end; }));
        }
    CHECK(covered == stage.size);
  }
}

TEST_CASE("a rank by itself adds up its own gradients") {
  std::vector<float> base(160), weights(160);
  ring sums(lay_out_reduction(160, {}, {}, {.shards = true}, two), two, {nullptr});
  laws::host_site host;
  sums.prepare(host.ctx, base.data(), weights.data());
  sums.begin_step();
  for (int m = 0; m < 3; ++m)
    for (std::size_t l = 2; l-- > 0;) {
      auto* const to = static_cast<float*>(where(sums, base.data() + two[l].begin, two[l].size()));
      for (motet::isize e = 0; e < two[l].size(); ++e) to[e] = static_cast<float>(two[l].begin + e);
      tell(sums, base.data() + two[l].begin, two[l].size());
    }
  CHECK(sums.finish());
  CHECK(sums.gather_weights());
  for (int e = 0; e < 160; ++e) CHECK(sums.sums()[e] == static_cast<float>(3 * e));
}

TEST_CASE("microbatches are added up in their order, whichever sum is here first") {
  const std::vector<interval> whole = {{0, 160}};
  std::vector<float> base(160), weights(160);
  slow_group two_members;
  gradient_ring<float, slow_group, cpu::context> sums(
      lay_out_reduction(160, {2, 0}, {}, {.elements = 96, .packed = 16, .shards = true}, whole), whole,
      {&two_members});
  laws::host_site host;
  sums.prepare(host.ctx, base.data(), weights.data());
  sums.begin_step();
  ticket last = 0;
  for (const float value : {1e8f, 1.0f, -1e8f}) {  // 1 where the second comes behind the third, 0 before it
    last = two_members.begun;
    auto* const to = static_cast<float*>(sums.sink().where(&sums, base.data(), 160));
    std::fill(to, to + 160, value);
    sums.sink().told(&sums, base.data(), 160);
  }
  REQUIRE(last > 0);
  two_members.done_from = last;
  CHECK_FALSE(sums.finish());
  two_members.done_from = 0;
  CHECK(sums.finish());
  for (motet::isize e = 0; e < sums.layout().share.moments; ++e) CHECK(sums.sums()[e] == 0);
}

TEST_CASE("what is out of turn is refused") {
  std::vector<float> base(160), weights(160);
  CHECK_THROWS_WITH_AS(ring(lay_out_reduction(160, {}, {}, {}, two), two, {nullptr}),
                       doctest::Contains("shards"), error);
  CHECK_THROWS_WITH_AS(ring(layout_of(0), two, {nullptr}), doctest::Contains("got member 0 of 1"), error);
  ring sums(lay_out_reduction(160, {}, {}, {.shards = true}, two), two, {nullptr});
  laws::host_site host;
  sums.prepare(host.ctx, base.data(), weights.data());
  sums.begin_step();
  CHECK_THROWS_WITH_AS(where(sums, base.data() + 32, 32), doctest::Contains("elements 32 to 64"), error);
  CHECK_THROWS_WITH_AS(where(sums, base.data(), 60), doctest::Contains("are no layer"), error);
  CHECK_THROWS_WITH_AS(tell(sums, base.data(), 64), doctest::Contains("have no memory"), error);
  where(sums, base.data(), 64);
  CHECK_THROWS_WITH_AS(where(sums, base.data() + 64, 96), doctest::Contains("another is not ready"), error);
  tell(sums, base.data(), 64);
  CHECK_THROWS_WITH_AS(tell(sums, base.data(), 64), doctest::Contains("MT-R10"), error);
  CHECK_THROWS_AS(sums.begin_step(), error);  // of the layer told first nothing was settled
  CHECK(sums.finish());
  sums.begin_step();
  const laws::made_ranks ranks{2, 1};
  const std::string outside =
      laws::run_reduction(ranks, 4, [&](local::endpoint& end, local::group* cut, local::group*) {
        const std::vector<interval> halves = {{0, 80}, {80, 160}};
        ring(layout_of(end.rank()), halves, {cut});
      });
  CHECK(outside.find("lie in no layer") != std::string::npos);
}
