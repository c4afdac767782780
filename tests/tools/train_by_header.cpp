// SPDX-License-Identifier: Apache-2.0
// Trains two small towers by the plan of a header that plan_cluster made, small_layout.hpp, which the compiler proves here. Ranks are threads, or the
// processes of MPI that started it; status 0 when the losses are those of one rank. Built by tests/programs/plan_cluster.py.
#include <small_layout.hpp>
#include <unit/runtime/small_model.hpp>

#include <motet/backend/transport/local_group.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/runtime/launch.hpp>
#include <motet/runtime/pipeline_trainer.hpp>
#include <motet/runtime/plan_choices.hpp>
#if defined(MOTET_HAS_MPI)
#include <motet/backend/transport/mpi_group.hpp>
#include <motet/runtime/process_rank.hpp>
#endif

#include <cmath>
#include <cstdio>

using namespace motet;

static_assert(require<prove_plan<small_model, small_layout, small_layout_batch>()>);

namespace {

template <class Host>
int train(bool tells) {
  score order;
  enforce(write_plan(small_layout(), facts_of<small_model>(), order), "the plan");
  pipeline_config config;
  config.batch = small_layout_batch;
  config.modules = choices_of(small_layout());
  pipeline_trainer<small_model, cpu::device, fp32, Host> spread(order, config);
  spread.prepare();
  cpu::device device(1);
  trainer_config one;
  one.batch = small_layout_batch;
  small_trainer alone(device, one);
  alone.prepare();
  int wrong = 0;
  for (std::uint64_t step = 0; step < 4; ++step) {
    const small_batch batch(small_layout_batch, step);
    const double got = spread.step(batch.get(), 1e-2).loss, wanted = alone.step(batch.get(), 1e-2).loss;
    if (tells) std::printf("%.9g %.9g\n", got, wanted);
    if (!(std::abs(got - wanted) <= 2e-5 * wanted)) ++wrong;
  }
  return wrong;
}

}  // namespace

int main() {
  try {
    [[maybe_unused]] const launched by = find_launch(read_environment(), {});
#if defined(MOTET_HAS_MPI)
    if (by.ranks > 1)
      return mpi::run({by.rank, by.ranks}, [&](mpi::session&) { return train<process_rank<mpi::world, mpi::endpoint>>(by.rank == 0); });
#endif
    return train<thread_ranks<local::world, local::endpoint>>(true);
  } catch (const error& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 2;
  }
}
