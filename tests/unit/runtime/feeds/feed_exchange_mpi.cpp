// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4
#include <mpi_ranks.hpp>

#include <motet/backend/transport/mpi/mpi_group.hpp>
#include <motet/runtime/feeds/feed_exchange.hpp>

#include <doctest/doctest.h>

#include <feed_laws.hpp>
#include <optional>

using namespace motet;
using laws::feed_problem;
using laws::module_on;

namespace {

// Ranks are processes, each with its own seats. Sums of what each sent are what had to cross.
template <class T>
void check(const feed_problem& problem) {
  const mpi::session& here = tests::mpi_session();
  constexpr std::int32_t first_tag = 3;
  const auto lists = problem.groups();
  mpi::world world(here.ranks(), first_tag + problem.edge.tags(), {});
  mpi::endpoint end(world, here.rank());
  mpi::group_set set(world, lists);
  std::optional<mpi::group> groups[2];
  any_group tensor[2];
  for (int side = 0; side < 2; ++side)
    if (const std::int32_t number = problem.group(side == 0, here.rank()); number >= 0) {
      groups[side].emplace(set, number, end);
      tensor[side] = any_group(*groups[side]);
    }
  laws::feed_rank<T, mpi::endpoint> player(problem, end, first_tag, tensor[0], tensor[1]);
  for (std::size_t step = 0; step < problem.steps.size(); ++step) {
    end.begin_step();
    CHECK(player.step(step) == "");
    end.finish_step();
  }
  long long sent = player.exchange.bytes_sent(), sum = 0, least = 0;
  MPI_Allreduce(&sent, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  for (const auto& lengths : problem.steps) least += 2 * problem.least(lengths, sizeof(T)).sent;
  CHECK(sum == least);
}

}  // namespace

TEST_CASE("a tensor group to replicas and to context parts, over processes") {
  using d = degrees;
  const std::int32_t ranks = tests::mpi_session().ranks();
  const auto all = laws::from_to(0, ranks);
  const feed_module tensor = module_on(all, d{1, 1, 1, ranks}, 1, 3),
                    data = module_on(all, d{1, ranks, 1, 1}, 1, 2),
                    context = module_on(all, d{1, 1, ranks, 1}, 2, 1);
  check<float>({{tensor, data, 11, 6}, laws::drawn_steps(11, 3, 1), 6});
  check<bf16>({{context, tensor, 11, 6}, laws::drawn_steps(11, 3, 2), 6});
  check<float>({{data, context, 11, 6}, laws::drawn_steps(11, 3, 3), 6});
}

TEST_CASE("one slot: a rank that sends to itself and to others") {
  const std::int32_t ranks = tests::mpi_session().ranks();
  check<float>({{module_on({0}, degrees{}, 1, 5),
                 module_on(laws::from_to(0, ranks), degrees{1, ranks, 1, 1}, 1, 2), 13, 4},
                laws::drawn_steps(13, 3, 4),
                1});
}

TEST_CASE("messages of some 100 KiB") {
  const std::int32_t ranks = tests::mpi_session().ranks();
  const auto all = laws::from_to(0, ranks);
  check<float>(
      {{module_on(all, degrees{1, ranks, 1, 1}, 1, 1), module_on(all, degrees{1, 1, 1, ranks}, 1, 1), 4, 500},
       {{255, 200, 0, 255}, {255, 0, 255, 31}},
       1});
}

TEST_CASE("random sides over processes") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    check<float>(laws::drawn_feed(seed, tests::mpi_session().ranks()));
    check<bf16>(laws::drawn_feed(100 + seed, tests::mpi_session().ranks()));
  }
}
