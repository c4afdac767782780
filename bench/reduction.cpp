// SPDX-License-Identifier: Apache-2.0
// Sums of a stage's gradients in buckets, with and without sharing the optimizer's work, beside one all-reduce of the whole buffer. They take turns.
// Prints one JSON line for each size of buckets; a ratio above 1 says that buckets are faster.
//
//   bench_reduction [--ranks 2] [--seconds 1] [--mib 64]
#include <motet/backend/cpu/operations.hpp>
#include <motet/backend/transport/local_group.hpp>
#include <motet/runtime/gradients/gradient_reduction.hpp>

#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <thread>

namespace {

using namespace motet;
using reduction = gradient_reduction<float, local::group, cpu::context>;

struct settings {
  std::int32_t ranks = 2;
  double seconds = 1;
  motet::index mib = 64;
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double middle(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}
template <class Done>
void poll(local::endpoint& end, Done&& done) {
  for (;;) {
    const std::uint32_t seen = end.observe();
    if (done()) return;
    end.pause(seen);
  }
}

void measure(const settings& of, motet::index bucket_kib, bool shards) {
  const motet::index size = of.mib << 18;
  std::vector<std::vector<std::int32_t>> everyone(2, std::vector<std::int32_t>(static_cast<std::size_t>(of.ranks)));
  for (auto& each : everyone) std::iota(each.begin(), each.end(), 0);
  local::world all(of.ranks, 0, {});
  local::group_set set(all, everyone);
  std::barrier together(of.ranks);
  bool more = true;
  std::vector<std::thread> team;
  for (std::int32_t rank = 0; rank < of.ranks; ++rank)
    team.emplace_back([&, rank] {
      const buffer<float> gradients(size), weights(size);
      std::fill_n(gradients.data(), size, 0.0f);
      std::fill_n(weights.data(), size, 0.0f);
      local::endpoint end(all, rank);
      local::group plain(set, 0, end), own(set, 1, end);
      bucket_options options;
      options.elements = bucket_kib * 256;
      options.shards = shards;
      reduction sums(plan_reduction(size, {}, {of.ranks, rank}, {}, options), &own, nullptr);
      cpu::context ctx;
      std::byte nothing{};
      ctx.memory = arena(&nothing, 0);
      sums.prepare(ctx, gradients.data(), weights.data());
      std::vector<double> whole, buckets;
      const double begin = now();
      for (bool go = true; go;) {
        together.arrive_and_wait();
        double start = now();
        plain.wait(plain.all_reduce_sum(gradients.data(), size));
        together.arrive_and_wait();
        whole.push_back(now() - start);
        start = now();
        sums.begin_step();
        // As backward tells it, in 24 layers.
        for (motet::index l = 24; l-- > 0;) sums.ready(size * l / 24, size * (l + 1) / 24);
        poll(end, [&] { return sums.finish(); });
        poll(end, [&] { return sums.gather_weights(); });
        together.arrive_and_wait();
        buckets.push_back(now() - start);
        if (rank == 0) more = buckets.size() < 5 || now() - begin < of.seconds;
        together.arrive_and_wait();
        go = more;
      }
      if (rank == 0)
        std::printf(
            "{\"ranks\": %d, \"mib\": %td, \"bucket_kib\": %td, \"shards\": %s, \"calls\": %zu, \"moments_mib\": %.1f, \"ms\": %.2f, "
            "\"one_all_reduce_ms\": %.2f, \"ratio\": %.3f}\n",
            of.ranks, of.mib, bucket_kib, shards ? "true" : "false", sums.plan().lanes[0].buckets.size(),
            static_cast<double>(2 * sums.plan().share.moments) * 4 / 1048576, 1e3 * middle(buckets), 1e3 * middle(whole),
            middle(whole) / middle(buckets));
      together.arrive_and_wait();
    });
  for (std::thread& each : team) each.join();
}

}  // namespace

int main(int count, char** words) {
  settings of;
  for (int w = 1; w + 1 < count; w += 2) {
    const std::string_view name = words[w];
    if (name == "--ranks") of.ranks = std::atoi(words[w + 1]);
    if (name == "--seconds") of.seconds = std::atof(words[w + 1]);
    if (name == "--mib") of.mib = std::atoi(words[w + 1]);
  }
  for (const bool shards : {false, true})
    for (const motet::index kib : {256, 1024, 4096}) measure(of, kib, shards);
}
