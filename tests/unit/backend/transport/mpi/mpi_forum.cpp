// SPDX-License-Identifier: Apache-2.0
// ranks: 2 3
#include <mpi_ranks.hpp>

#include <motet/backend/transport/mpi/mpi_forum.hpp>

#include <doctest/doctest.h>

TEST_CASE("ranks of MPI hear what each brings, of any size, in their order") {
  const motet::mpi::session& here = motet::tests::mpi_session();
  const motet::forum at = motet::mpi::everyone();
  CHECK(at.rank() == here.rank());
  CHECK(at.ranks() == here.ranks());
  const auto text = [](int rank, int round) {
    return std::string(static_cast<std::size_t>(rank * 7 + round * round * 1001),
                       static_cast<char>('a' + rank));
  };
  for (int round = 0; round < 5; ++round) {
    const std::vector<std::string> all = at.all_gather(text(at.rank(), round));
    REQUIRE(all.size() == static_cast<std::size_t>(at.ranks()));
    for (int r = 0; r < at.ranks(); ++r) CHECK(all[static_cast<std::size_t>(r)] == text(r, round));
  }
}
