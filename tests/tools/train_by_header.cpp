// SPDX-License-Identifier: Apache-2.0
// Trains two small towers by the plan of a header that plan_cluster made, small_layout.hpp, which the
// compiler proves here. Ranks are threads, or the processes of MPI that started it; status 0 when losses and
// features are those of one rank. tests/programs/plan_cluster.py builds it.
#include <laws/single_rank.hpp>
#include <small_layout.hpp>
#include <unit/runtime/small_model.hpp>

#include <motet/front/trainer.hpp>
#include <motet/plan/prove/check_plan.hpp>

#include <cmath>
#include <cstdio>

using namespace motet;

static_assert(require<prove_plan<small_model, small_layout, small_layout_batch>()>);

int main(int count, char** words) {
  try {
    const auto world = launch(count, words);
    trainer<small_model> spread(world, small_layout(), {.batch = small_layout_batch});
    single_rank<small_model, fp32> alone(small_layout_batch, 1);
    int wrong = 0;
    const small_batch few(2);
    const auto compare = [&](const std::vector<float>& got, const std::vector<float>& wanted) {
      for (std::size_t i = 0; i < got.size(); ++i)
        if (!(std::abs(got[i] - wanted[i]) <= 1e-3f)) ++wrong;
    };
    std::vector<float> got(2 * 8), wanted(2 * 8);
    // Some processes may hold a module whole, others a part of it, or nothing; all go on to the same step.
    spread.embed<"caption">(std::get<1>(few.get()), got.data());
    alone.embed<1>(std::get<1>(few.get()), wanted.data());
    compare(got, wanted);
    for (std::uint64_t step = 0; step < 4; ++step) {
      const small_batch batch(small_layout_batch, step);
      const double found = spread.step(batch.get(), 1e-2).loss, loss = alone.step(batch.get(), 1e-2).loss;
      if (spread.is_main()) std::printf("%.9g %.9g\n", found, loss);
      if (!(std::abs(found - loss) <= 2e-5 * loss)) ++wrong;
    }
    spread.embed<"picture">(std::get<0>(few.get()), got.data());
    alone.embed<0>(std::get<0>(few.get()), wanted.data());
    compare(got, wanted);
    return wrong;
  } catch (const error& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 2;
  }
}
