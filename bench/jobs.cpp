// SPDX-License-Identifier: Apache-2.0
// Times one event of motet's policy on 1,280 devices of four kinds: a job comes or ends, and who gets what is
// chosen anew for all, while as many run or wait as are asked for.
//
//   bench_jobs [flags of Google Benchmark]
#include "suite.hpp"

#include <motet/jobs/files/cluster.hpp>
#include <motet/jobs/play/events.hpp>
#include <motet/jobs/policies/motet_policy.hpp>
#include <motet/tensor/random.hpp>

#include <cmath>

namespace {

using namespace motet;

// Five models on all kinds. Alike: equal work, and speeds by one curve, so that hundreds of choices are worth
// the same; else as they are drawn.
iteration_times times_on(const job_cluster& cluster, bool alike) {
  iteration_times out;
  for (std::size_t k = 0; k < cluster.kinds.size(); ++k)
    for (motet::isize model = 0; model < 5; ++model)
      for (motet::isize devices = 1; devices <= 16; devices *= 2) {
        const device_group& kind = cluster.kinds[k];
        const motet::isize per_node = std::min(devices, kind.per_node);
        const double curve = alike ? 0.5 : 0.35 + 0.05 * static_cast<double>(model),
                     rate = 1 + 0.5 * static_cast<double>(k);
        out.add({"model", std::to_string(model + 1) + "B", 256, kind.kind, devices / per_node, per_node},
                {static_cast<double>(model + 1) * rate * std::pow(static_cast<double>(devices), -curve)});
      }
  return out;
}

void event(benchmark::State& state, std::size_t jobs, bool alike) {
  const job_cluster cluster = known_job_clusters()[0];
  const iteration_times times = times_on(cluster, alike);
  const data_parallel_memory memory;
  job_world world(cluster, times, memory, {});
  event_player player(world, {});
  motet_policy policy;
  const random_stream chance(7, "jobs");
  std::uint64_t drawn = 0;
  const auto come = [&] {
    traced_job job;
    job.id = std::to_string(drawn);
    job.submitted = world.now;
    job.iterations = alike ? 20000 : 2000 + chance.below(drawn++, 40000);
    job.model = "model__" + std::to_string(chance.below(drawn++, 5) + 1) + "B";
    job.batch = 256;
    player.submit(job, "drawn");
  };
  while (world.jobs.size() < jobs) come();
  player.decide(policy);
  bench::series took(bench::thread_seconds);
  double running = 0;
  for (auto _ : state) {
    const double next = std::min(world.now + 60, player.ends());
    state.SetIterationTime(took.take([&] {
      player.move_to(next);
      if (world.running.size() + world.waiting.size() < jobs) come();
      player.decide(policy);
    }));
    running += static_cast<double>(world.running.size());
  }
  auto& row = state.counters;
  row["seconds"] = took.median();
  row["longest"] = took.most();
  row["running"] = running / static_cast<double>(state.iterations());
  row["gap_mean"] = policy.mean_gap();
}

}  // namespace

int main(int count, char** words) {
  return bench::run(count, words, motet::options("bench_jobs", "what an event takes motet's policy"), [] {
    for (const std::size_t jobs : {std::size_t{600}, std::size_t{1000}})
      for (const bool alike : {true, false})
        bench::add("event/jobs:" + std::to_string(jobs) + (alike ? "/alike" : "/drawn"), event, jobs, alike)
            ->Iterations(200)
            ->Unit(benchmark::kMillisecond);
  });
}
