// SPDX-License-Identifier: Apache-2.0
// ranks: 3
#include <mpi_ranks.hpp>

#include <motet/tools/process/exit_code.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a session knows its rank, and lets no launcher tell it another") {
  mpi::session& here = tests::mpi_session();
  int rank = -1, ranks = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(here.rank() == rank);
  CHECK(here.ranks() == ranks);
  // A session within another neither begins nor ends MPI.
  { const mpi::session inner({.rank = rank, .ranks = ranks}); }
  int ended = 1;
  MPI_Finalized(&ended);
  CHECK(ended == 0);
  const std::string said = "MPI says rank " + std::to_string(rank) + " of " + std::to_string(ranks);
  CHECK_THROWS_WITH_AS(
      mpi::session({.rank = rank, .ranks = ranks + 1}),
      doctest::Contains((said + ", the launcher said " + std::to_string(ranks + 1) + " ranks").c_str()),
      error);
  CHECK_THROWS_WITH_AS(mpi::session({.rank = rank + 1, .ranks = ranks}), doctest::Contains("MT-B02"), error);
}

static_assert(mpi::session::status_of_lost == exit_peer_lost.status);

TEST_CASE("run gives the status of its body, or 1 when that throws") {
  tests::mpi_session();
  CHECK(mpi::run({}, [](mpi::session&) { return 0; }) == 0);
  CHECK(mpi::run({}, [](mpi::session&) { return 3; }) == 3);
  CHECK(mpi::run({.patience = 5},
                 [](mpi::session&) -> int { throw std::runtime_error("as the test wants it"); }) == 1);
  CHECK(mpi::run({.patience = 5}, [](mpi::session&) -> int { throw mpi::stopped{"the test wants it"}; }) ==
        1);
  // A program says itself how what was thrown ends it; who was stopped ends as the one that failed.
  const auto status_of = [](const std::exception& problem) { return exit_code_of(problem).status; };
  CHECK(mpi::run(
            {.patience = 5},
            [](mpi::session&) -> int { throw mpi::stopped{"rank 1 stopped because of it [MT-D03]"}; },
            status_of) == exit_refused.status);
  CHECK(mpi::run(
            {.patience = 5}, [](mpi::session&) -> int { throw mpi::stopped{"a signal"}; }, status_of) ==
        mpi::session::status_of_lost);
  CHECK(mpi::run({.ranks = 1000}, [](mpi::session&) { return 0; }) == 1);
  mpi::session::has_failed() = false;
}

TEST_CASE("what MPI says becomes an error") {
  tests::mpi_session();
  CHECK_NOTHROW(mpi::check(MPI_SUCCESS, "nothing"));
  CHECK_THROWS_WITH_AS(mpi::check(MPI_ERR_TRUNCATE, "this test"),
                       doctest::Contains("this test says MPI_ERR_TRUNCATE"), error);
}

TEST_CASE("who waits sleeps in the end, but never long") {
  mpi::backoff wait(10);
  const auto begin = std::chrono::steady_clock::now();
  for (int turn = 0; turn < 400; ++turn) wait();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  CHECK(seconds > 0.005);  // 290 naps, of 50 us after the first few
}

TEST_CASE("who waits sleeps, too, where each look takes as long as a turn of somebody else's") {
  mpi::backoff wait(1 << 30);
  int looks = 0;
  for (; looks < 1000 && !wait.is_long(); ++looks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    wait();
  }
  CHECK(looks < 100);
}
