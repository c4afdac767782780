// SPDX-License-Identifier: Apache-2.0
// Sums of a stage's gradients in buckets, with and without sharing the optimizer's work, beside one
// all-reduce of the whole buffer, in turns. A ratio above 1 says that buckets are faster.
//
//   bench_reduction [--ranks 2] [--mib 64] [flags of Google Benchmark]        ranks are threads
#include "meeting.hpp"
#include "suite.hpp"

#include <motet/backend/cpu/operations.hpp>
#include <motet/runtime/gradients/gradient_reduction.hpp>

namespace {

using namespace motet;
using bench::here;
using reduction = gradient_reduction<float, local::group, cpu::context>;

template <class Done>
void poll(local::endpoint& end, Done&& done) {
  for (;;) {
    const std::uint32_t seen = end.observe();
    if (done()) return;
    end.pause(seen);
  }
}

void reduce(benchmark::State& state, motet::isize mib, motet::isize bucket_kib, bool shards) {
  const motet::isize size = mib << 18;
  const buffer<float> gradients(size), weights(size);
  std::fill_n(gradients.data(), size, 0.0f);
  std::fill_n(weights.data(), size, 0.0f);
  local::endpoint end(here->all, state.thread_index());
  local::group plain(here->set, 0, end), own(here->set, 1, end);
  bucket_options options;
  options.elements = bucket_kib * 256;
  options.shards = shards;
  reduction sums(lay_out_reduction(size, {state.threads(), state.thread_index()}, {}, options), {&own});
  cpu::context ctx;
  std::byte nothing{};
  ctx.memory = arena(&nothing, 0);
  sums.prepare(ctx, gradients.data(), weights.data());
  bench::series whole, buckets;
  for (auto _ : state) {
    here->together.arrive_and_wait();
    whole.take([&] {
      plain.wait(plain.all_reduce_sum(gradients.data(), size));
      here->together.arrive_and_wait();
    });
    state.SetIterationTime(buckets.take([&] {
      sums.begin_step();
      // As backward tells it, in 24 layers.
      for (motet::isize l = 24; l-- > 0;) sums.ready(size * l / 24, size * (l + 1) / 24);
      poll(end, [&] { return sums.finish(); });
      poll(end, [&] { return sums.gather_weights(); });
      here->together.arrive_and_wait();
    }));
  }
  if (state.thread_index() != 0) return;
  auto& row = state.counters;
  row["own_ms"] = 1e3 * buckets.median();
  row["peer_ms"] = 1e3 * whole.median();
  row["ratio"] = (whole / buckets).median();
  row["own_bytes_per_second"] = 4 * static_cast<double>(size) / buckets.median();
  row["calls"] = static_cast<double>(sums.layout().lanes[0].buckets.size());
  row["moments_mib"] = static_cast<double>(2 * sums.layout().share.moments) * 4 / 1048576;
}

}  // namespace

int main(int count, char** words) {
  motet::isize ranks = 2, mib = 64;
  options line("bench_reduction", "sums of gradients in buckets beside one sum of them all");
  line.count("--ranks", ranks, 1, "threads that sum");
  line.count("--mib", mib, 1, "of gradients");
  return bench::run(count, words, line, [&] {
    for (const bool shards : {false, true})
      for (const motet::isize kib : {256, 1024, 4096})
        bench::add("reduction/mib:" + std::to_string(mib) + "/bucket_kib:" + std::to_string(kib) +
                       (shards ? "/shards" : ""),
                   reduce, mib, kib, shards)
            ->Threads(static_cast<int>(ranks))
            ->Setup([](const benchmark::State& state) {
              here = std::make_unique<bench::meeting>(state.threads(), 2);
            })
            ->Teardown([](const benchmark::State&) { here.reset(); })
            ->Unit(benchmark::kMillisecond);
  });
}
