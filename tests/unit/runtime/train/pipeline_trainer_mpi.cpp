// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4
#include <mpi_ranks.hpp>

#include <motet/backend/transport/mpi/mpi_group.hpp>
#include <motet/runtime/ranks/process_rank.hpp>

#include <plan_laws.hpp>

#include <unistd.h>

TEST_CASE("plans over processes equal the single rank") {
  const int ranks = motet::tests::mpi_session().ranks();
  plan_maker maker(3, ranks, 2, ranks);
  for (int i = 0; i < 6; ++i) compare<process_rank<mpi::world, mpi::endpoint>>(maker.make());
}

TEST_CASE("processes go on from a checkpoint of other plans") {
  auto& here = motet::tests::mpi_session();
  const std::filesystem::path run =
      std::filesystem::temp_directory_path() / ("motet_plans_" + std::to_string(::getppid()));
  plan_maker maker(5, here.ranks(), 2, here.ranks());
  for (int i = 0; i < 2; ++i) {
    const plan first = maker.make(1), second = maker.make(1);
    go_on<process_rank<mpi::world, mpi::endpoint>>(first, second, run);
    if (here.rank() == 0) std::filesystem::remove_all(run);
  }
}
