// SPDX-License-Identifier: Apache-2.0
// ranks: 2 3 5
#include <mpi_ranks.hpp>

#include <join_laws.hpp>

#include <motet/backend/transport/mpi/mpi.hpp>

#include <doctest/doctest.h>

using namespace motet;
using laws::model_of;

namespace {

// Ranks are processes, each with its own part.
template <class Model>
void compare(std::vector<std::vector<int>> ranks, std::uint64_t seed) {
  const mpi::session& here = tests::mpi_session();
  for (auto& each : ranks)
    for (int& rank : each) rank %= here.ranks();
  laws::join_problem<Model, fp64> problem(laws::drawn(ranks, 11, seed), here.ranks(), 11,
                                          1 + static_cast<motet::isize>(seed % 3));
  mpi::world world(here.ranks(), 0, problem.members.all());
  mpi::endpoint end(world, here.rank());
  laws::join_rank<Model, fp64, mpi::endpoint> own(problem, here.rank(), end);
  for (std::uint64_t turn = 0; turn < 3; ++turn) {
    problem.draw(turn);
    end.begin_step();
    own.step();
    end.finish_step();
    CHECK(own.worst <= 1e-12);
    std::vector<double> parts = own.numbers, sums(parts.size() + 1);
    parts.push_back(own.loss);
    MPI_Allreduce(parts.data(), sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
    CHECK(sums.back() == doctest::Approx(problem.loss).epsilon(1e-12));
    for (std::size_t i = 0; i < problem.d_numbers.size(); ++i)
      CHECK(sums[i] == doctest::Approx(problem.d_numbers[i]).epsilon(1e-11));
  }
}

template <class Model>
void all_of_three() {
  std::uint64_t seed = 0;
  for (const auto& ranks : laws::members_of_three) {
    ++seed;
    CAPTURE(seed);
    compare<Model>(ranks, seed);
  }
}

}  // namespace

TEST_CASE("softmax over processes is that of one rank") {
  all_of_three<model_of<info_nce, false, false, false>>();
}
TEST_CASE("softmax with a pair of frozen modules") { all_of_three<model_of<info_nce, true, false, true>>(); }
TEST_CASE("pairwise sigmoid over processes, whose rows pass by") {
  all_of_three<model_of<pairwise_sigmoid, false, false, false>>();
}
TEST_CASE("pairwise sigmoid with a pair of frozen modules") {
  all_of_three<model_of<pairwise_sigmoid, true, false, true>>();
}
