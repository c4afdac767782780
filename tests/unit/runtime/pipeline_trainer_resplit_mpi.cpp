// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4
#include <mpi_ranks.hpp>

#include <motet/backend/transport/mpi/mpi_group.hpp>
#include <motet/runtime/ranks/process_rank.hpp>

#include <resplit_laws.hpp>

#include <functional>

namespace {

// Both towers with a replica on each rank. The clock says that rank 0 is half as fast as the others.
class uneven_rank : public process_rank<mpi::world, mpi::endpoint> {
 public:
  using base = process_rank<mpi::world, mpi::endpoint>;
  using base::base;
  std::function<motet::isize(const voice&)> share_of;

  struct clockless {
    uneven_rank& all;
    std::int32_t rank;
    void set(std::int32_t number, action what) { all.base::player(rank).set(number, what); }
    void clock(double* seconds) { all.clock_ = seconds; }
  };
  clockless player(std::int32_t rank, std::int32_t = 0) { return {*this, rank}; }
  template <class Prepare>
  void run(Prepare&& prepare, timeline* record = nullptr) {
    base::run(prepare, record);
    const program& of = sheet().of;
    for (const voice& each : of.voices)
      if (clock_ != nullptr && of.place(each, 0) == rank())
        clock_[each.first_place] += 1e-3 * (rank() == 0 ? 2 : 1) * static_cast<double>(share_of(each));
  }

 private:
  double* clock_ = nullptr;
};

pipeline_config config_of(motet::isize batch, const resplit_options& how) {
  pipeline_config config;
  config.batch = batch;
  config.deadline = 60;
  config.resplit = how;
  return config;
}
score replicas(int ranks) {
  return placed(joined(beside(gpipe::write({1, 2}), gpipe::write({1, 2})), 1), {{ranks, 1}, {ranks, 1}},
                ranks,
                [](std::int32_t, std::int32_t replica, std::int32_t, std::int32_t) { return replica; });
}

}  // namespace

TEST_CASE("any shares over processes give the single rank's loss, gradients and weights") {
  const int ranks = motet::tests::mpi_session().ranks();
  if (ranks == 1) return;
  plan_maker maker(8, ranks, 2, ranks);
  for (std::uint64_t i = 0; i < 4; ++i)
    compare_any_shares<process_rank<mpi::world, mpi::endpoint>>(make_with_replicas(maker), i);
}

TEST_CASE("processes agree on the shares that each of them measures a part of") {
  const int ranks = motet::tests::mpi_session().ranks();
  pipeline_trainer<towers, cpu::device, fp32, uneven_rank> train(
      replicas(ranks), config_of(12 * ranks, {.every = 2, .most = 2, .step = 1, .smoothing = 0, .worth = 0}));
  train.ranks().share_of = [&](const voice& sings) { return train.shares(sings.module)[sings.replica]; };
  train.prepare();
  single_rank<towers, fp32> one(12 * ranks, 1);
  const std::vector<float> start = one.weights;
  const test_data data(12 * ranks);
  const auto whole = data.batch<towers>();
  for (int k = 0; k < 6; ++k) {
    const step_result wanted = one.step(whole, 1e-3), found = train.step(whole, 1e-3);
    CHECK(found.loss == doctest::Approx(wanted.loss).epsilon(1e-4));
  }
  CHECK(way_apart(train.weights(), one.weights, start) < 1e-3);
  // The samples of both modules together follow the speeds 1 to 2 to 2 ...
  const double quota = 24.0 * ranks / (2 * ranks - 1);
  for (int r = 0; r < ranks; ++r) {
    const auto both = static_cast<double>(train.shares(0)[r] + train.shares(1)[r]);
    CHECK(std::abs(both - (ranks == 1 ? 24 : r == 0 ? quota : 2 * quota)) <= 2);
  }
}

TEST_CASE("ranks with other options are told") {
  auto& here = motet::tests::mpi_session();
  if (here.ranks() == 1) return;
  std::string text;
  try {
    const resplit_options how{.every = 10, .most = here.rank() == 0 ? 1.5 : 1.25};
    pipeline_trainer<towers, cpu::device, fp32, process_rank<mpi::world, mpi::endpoint>>(
        replicas(here.ranks()), config_of(12 * here.ranks(), how));
  } catch (const error& problem) {
    text = problem.what();
  }
  CHECK(text.find("MT-R26") != std::string::npos);
  CHECK(text.find("the resplit is every 10, most 1.5") != std::string::npos);
}
