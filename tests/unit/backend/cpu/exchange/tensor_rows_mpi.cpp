// SPDX-License-Identifier: Apache-2.0
// ranks: 2 3
#include <mpi_ranks.hpp>

#include <motet/backend/transport/mpi/mpi_group.hpp>

#include <doctest/doctest.h>
#include <tensor_rows_laws.hpp>

using namespace motet;

TEST_CASE("rows of all processes are gathered, and sums go back to their owners") {
  mpi::session& here = tests::mpi_session();
  mpi::world world(here.ranks(), 0, {});
  mpi::endpoint end(world, here.rank());
  std::vector<std::int32_t> all;
  for (std::int32_t r = 0; r < here.ranks(); ++r) all.push_back(r);
  mpi::group_set set(world, std::vector<std::vector<std::int32_t>>{all});
  mpi::group group(set, 0, end);
  CHECK_EQ(laws::wrong_rows_of_all_kinds(any_group(group)), 0);
}
