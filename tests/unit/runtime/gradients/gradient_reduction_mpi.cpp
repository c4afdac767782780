// SPDX-License-Identifier: Apache-2.0
// ranks: 2 3 4
#include <mpi_ranks.hpp>

#include <motet/backend/transport/mpi/mpi_group.hpp>

#include <doctest/doctest.h>
#include <reduction_laws.hpp>

using namespace motet;

TEST_CASE("every element is summed once over the processes that hold it") {
  mpi::session& here = tests::mpi_session();
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    // The ways to cut the ranks into replicas and shards come one after the other.
    const auto tensor = static_cast<std::int32_t>(1 + seed % 4);
    if (here.ranks() % tensor != 0) continue;
    const laws::made_ranks ranks{here.ranks() / tensor, tensor};
    CAPTURE(seed);
    mpi::world world(here.ranks(), 0, {});
    mpi::endpoint end(world, here.rank());
    const auto lists = ranks.groups();
    mpi::group_set set(world, lists);
    mpi::group cut(set, here.rank() % tensor, end), shared(set, tensor, end);
    laws::host_site site;
    CHECK(laws::check_reduction(site, ranks, here.rank(), ranks.replicas > 1 ? &cut : nullptr,
                                ranks.size() > 1 ? &shared : nullptr, end, seed, seed % 8 < 4) == 0);
    CHECK(laws::check_ring(site, ranks, here.rank(), ranks.replicas > 1 ? &cut : nullptr,
                           ranks.size() > 1 ? &shared : nullptr, end, seed,
                           1 + static_cast<std::int32_t>(seed % 2)) == 0);
  }
}
