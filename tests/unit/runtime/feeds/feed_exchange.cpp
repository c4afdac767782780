// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/transport/local/local_group.hpp>
#include <motet/runtime/feeds/feed_exchange.hpp>

#include <doctest/doctest.h>

#include <feed_laws.hpp>
#include <optional>
#include <thread>

#include "unit/runtime/allocations.hpp"

using namespace motet;
using laws::feed_problem;
using laws::from_to;
using laws::module_on;

namespace {

struct outcome {
  std::string wrong;
  motet::index sent = 0, kept = 0;
  long allocated = 0;
};

// All ranks as threads; between the steps they wait for each other.
template <class T>
outcome play(const feed_problem& problem, std::int32_t first_tag = 0) {
  const std::int32_t ranks = problem.ranks();
  local::world world(ranks, first_tag + problem.edge.tags(), {});
  auto lists = problem.groups();
  const auto everyone = static_cast<std::int32_t>(lists.size());
  lists.push_back(from_to(0, ranks));
  local::group_set set(world, lists);
  std::vector<outcome> all(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      outcome& own = all[static_cast<std::size_t>(rank)];
      try {
        local::endpoint end(world, rank);
        local::group step_end(set, everyone, end);
        std::optional<local::group> groups[2];
        any_group tensor[2];
        for (int side = 0; side < 2; ++side)
          if (const std::int32_t number = problem.group(side == 0, rank); number >= 0) {
            groups[side].emplace(set, number, end);
            tensor[side] = any_group(*groups[side]);
          }
        laws::feed_rank<T, local::endpoint> player(problem, end, first_tag, tensor[0], tensor[1]);
        const auto meet = [&] { step_end.wait(step_end.barrier()); };
        meet();
        const long before = allocations;
        meet();
        for (std::size_t step = 0; step < problem.steps.size(); ++step) {
          end.begin_step();
          const std::string wrong = player.step(step);
          if (own.wrong.empty()) own.wrong = wrong;
          meet();
        }
        own.allocated = allocations - before;
        meet();
        own.sent = player.exchange.bytes_sent();
        own.kept = player.exchange.forward.bytes_kept() + player.exchange.backward.bytes_kept();
      } catch (const local::world::stopped&) {
      } catch (const std::exception& problem_of_rank) {
        own.wrong = problem_of_rank.what();
        world.stop();
      }
    });
  for (std::thread& each : threads) each.join();
  outcome sum;
  for (const outcome& each : all) {
    if (sum.wrong.empty()) sum.wrong = each.wrong;
    sum.sent += each.sent;
    sum.kept += each.kept;
    sum.allocated += each.allocated;
  }
  return sum;
}

template <class T>
void check(const feed_problem& problem, std::int32_t first_tag = 0) {
  const outcome got = play<T>(problem, first_tag);
  CHECK(got.wrong == "");
  CHECK(got.allocated == 0);
  motet::index sent = 0, kept = 0;
  for (const auto& lengths : problem.steps) {
    const auto least = problem.least(lengths, sizeof(T));
    sent += 2 * least.sent;  // forward and backward
    kept += 2 * least.kept;
  }
  CHECK(got.sent == sent);
  CHECK(got.kept == kept);
}

feed_problem between(feed_module from, feed_module to, motet::index samples, motet::index width,
                     motet::index slots, unsigned seed = 1) {
  return {{std::move(from), std::move(to), samples, width}, laws::drawn_steps(samples, 3, seed), slots};
}

}  // namespace

TEST_CASE("between the degrees that others refuse, on ranks of their own") {
  using d = degrees;
  for (const motet::index slots : {1, 2, 6}) {
    CAPTURE(slots);
    // Data 3 to 2, 2 to 3, 1 to n, n to 1.
    check<float>(between(module_on(from_to(0, 3), d{1, 3, 1, 1}, 1, 2),
                         module_on(from_to(3, 5), d{1, 2, 1, 1}, 1, 3), 12, 5, slots));
    check<float>(between(module_on(from_to(0, 2), d{1, 2, 1, 1}, 1, 3),
                         module_on(from_to(2, 5), d{1, 3, 1, 1}, 1, 2), 11, 5, slots),
                 7);
    check<float>(
        between(module_on({0}, d{}, 1, 2), module_on(from_to(1, 5), d{1, 4, 1, 1}, 1, 1), 10, 5, slots));
    check<bf16>(
        between(module_on(from_to(0, 4), d{1, 4, 1, 1}, 1, 2), module_on({4}, d{}, 1, 5), 10, 5, slots));
    // Context 2 to tensor 4; context 3 with tensor 2 to context 2 with tensor 3.
    check<float>(between(module_on(from_to(0, 2), d{1, 1, 2, 1}, 1, 2),
                         module_on(from_to(2, 6), d{1, 1, 1, 4}, 1, 3), 7, 6, slots));
    check<bf16>(between(module_on(from_to(0, 6), d{1, 1, 3, 2}, 1, 2),
                        module_on(from_to(6, 12), d{1, 1, 2, 3}, 1, 2), 7, 7, slots));
    // The last of two stages to the first of two, in groups, with more tensor ranks than columns.
    check<double>(between(module_on(from_to(0, 8), d{2, 2, 1, 2}, 2, 3, 1),
                          module_on(from_to(8, 16), d{2, 1, 1, 4}, 3, 2, 0), 13, 3, slots));
  }
}

TEST_CASE("on shared ranks, all or some of them") {
  using d = degrees;
  check<float>(between(module_on({0, 1, 2, 3}, d{1, 2, 2, 1}, 2, 2),
                       module_on({0, 1, 2, 3}, d{1, 1, 2, 2}, 1, 3), 9, 5, 8));
  check<float>(
      between(module_on({3, 0, 1}, d{1, 3, 1, 1}, 1, 2), module_on({1, 2}, d{1, 1, 1, 2}, 1, 4), 9, 5, 8));
  check<bf16>(
      between(module_on({0, 1}, d{1, 1, 1, 2}, 1, 2), module_on({1, 0}, d{1, 1, 2, 1}, 1, 2), 9, 4, 8));
  // One rank, nothing to send: even with one slot it gets through.
  const feed_problem alone = between(module_on({0}, d{}, 2, 2), module_on({0}, d{}, 1, 3), 9, 5, 1);
  check<float>(alone);
  CHECK(play<float>(alone).sent == 0);
  CHECK(play<float>(alone).kept > 0);
}

TEST_CASE("no samples, samples without rows, more ranks than samples") {
  using d = degrees;
  const feed_module from = module_on(from_to(0, 4), d{1, 2, 1, 2}, 1, 3),
                    to = module_on(from_to(3, 7), d{1, 2, 2, 1}, 2, 1);
  check<float>({{from, to, 0, 4}, {{}, {}}, 4});
  check<float>({{from, to, 3, 4}, {{0, 0, 0}, {0, 3, 0}, {0, 0, 1}}, 4});
  CHECK(play<float>({{from, to, 3, 4}, {{0, 0, 0}}, 4}).sent == 0);
}

TEST_CASE("random sides") {
  for (unsigned seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    check<float>(laws::drawn_feed(seed, 1 + static_cast<std::int32_t>(seed % 8)));
    check<bf16>(laws::drawn_feed(1000 + seed, 1 + static_cast<std::int32_t>(seed % 11)));
  }
}
