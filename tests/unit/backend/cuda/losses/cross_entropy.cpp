// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/losses/cross_entropy.hpp>

#include <doctest/doctest.h>

#include <motet/backend/cpu/losses/cross_entropy.hpp>

#include <cpu_run.hpp>
#include <cuda_run.hpp>

namespace motet {
using laws::cpu_run_foretold, laws::distance, laws::grid, laws::gpu_run_foretold, laws::on_gpu;

namespace {

struct problem {
  isize rows, classes, gap;
  double scale, smoothing;
  cross_entropy_shape shape() const {
    cross_entropy_shape of;
    of.smoothing = smoothing;
    of.share = 0.125;
    of.ignored = -1;
    return of;
  }
  template <class T>
  grid<T> logits() const {
    return grid<T>(rows, classes, gap).random(7, scale);
  }
  std::vector<std::int32_t> targets() const {
    std::vector<std::int32_t> out;
    for (isize r = 0; r < rows; ++r)
      out.push_back(r % 4 == 2 ? -1 : static_cast<std::int32_t>((r * 31 + 5) % classes));
    return out;
  }
};
// Long enough for several runs of each thread, whole runs and odd ones, large logits, one class, no row.
const problem problems[] = {{3, 20008, 0, 4, 0.1}, {2, 4099, 0, 4, 0}, {9, 136, 8, 3, 0},
                            {7, 136, 3, 3, 0.2},   {5, 3, 0, 1, 0.1},  {12, 32, 0, 2000, 0.25},
                            {1, 1, 0, 1, 0},       {0, 8, 0, 1, 0}};

template <class T>
grid<double> in_double(const grid<T>& x) {
  grid<double> out(x.rows, x.width);
  for (isize r = 0; r < x.rows; ++r)
    for (isize c = 0; c < x.width; ++c) out.at(r, c) = x(r, c);
  return out;
}

// The CPU computes what is wanted, in double.
template <class T>
double wanted_of(const problem& p, grid<double>& slopes) {
  const auto logits = in_double(p.logits<T>());
  const auto targets = p.targets();
  double found = 0;
  cpu_run_foretold(1, [&](cpu::context& ctx) {
    found = cross_entropy_loss(ctx, p.shape(), logits.view(), targets.data(), slopes.view());
  });
  return found;
}

template <class T>
constexpr double allowed = sizeof(T) == 8   ? 1e-12
                           : sizeof(T) == 4 ? 1e-5
                                            : 1e-2;

// A group of members that run one after the other: what each gives is kept, and given to the others when all
// run once more.
struct rehearsed_group {
  std::int32_t members = 1, own = 0;
  std::vector<std::vector<std::byte>>* kept = nullptr;
  cudaStream_t stream = nullptr;

  std::int32_t size() const { return members; }
  std::int32_t member() const { return own; }
  bool test(ticket) { return true; }
  void wait(ticket) {}
  ticket all_gather(const std::byte* from, std::byte* all, std::span<const isize> bytes) {
    cudaStreamSynchronize(stream);
    isize at = 0;
    for (std::int32_t m = 0; m < members; ++m) {
      auto& here = (*kept)[static_cast<std::size_t>(m)];
      const auto size = static_cast<std::size_t>(bytes[static_cast<std::size_t>(m)]);
      if (m == own) {
        here.resize(size);
        motet::cuda::check(cudaMemcpy(here.data(), from, size, cudaMemcpyDeviceToHost), "cudaMemcpy");
      } else if (here.size() == size && size > 0) {
        motet::cuda::check(cudaMemcpy(all + at, here.data(), size, cudaMemcpyHostToDevice), "cudaMemcpy");
      }
      at += static_cast<isize>(size);
    }
    return 0;
  }
  template <class T>
  ticket all_reduce_sum(T*, isize) {
    return 0;
  }
  template <class T>
  ticket reduce_scatter_sum(const T*, T*, std::span<const isize>) {
    return 0;
  }
  ticket all_to_all(const std::byte*, std::span<const isize>, std::byte*, std::span<const isize>) {
    return 0;
  }
  [[maybe_unused]] ticket broadcast(std::byte*, isize, std::int32_t) { return 0; }
  ticket barrier() { return 0; }
};

}  // namespace

TEST_CASE_TEMPLATE("cross-entropy on a GPU is that of the CPU, in place and aside", T, float, double, bf16) {
  for (const auto& p : problems) {
    CAPTURE(p.classes);
    grid<double> slopes(p.rows, p.classes);
    const double want = wanted_of<T>(p, slopes);
    const on_gpu<T> logits(p.logits<T>()), aside(p.rows, p.classes, p.classes + p.gap);
    const on_gpu<motet::arithmetic<T>> wide(p.rows, p.classes, p.classes + p.gap);
    const laws::flat_on_gpu<std::int32_t> targets(p.targets());
    double got[4] = {NAN, NAN, NAN, NAN};
    const auto noted = gpu_run_foretold([&](motet::cuda::context& ctx) {
      const matrix<const T> from = logits.all();
      const motet::cuda::real all[] = {
          cross_entropy_loss(ctx, p.shape(), from, targets.data(), aside.all()),
          cross_entropy_loss(ctx, p.shape(), from, targets.data(), matrix<T>{}),
          cross_entropy_loss(ctx, p.shape(), from, targets.data(), wide.all()),
          cross_entropy_loss(ctx, p.shape(), from, targets.data(), logits.all())};
      if (ctx.measuring()) return;
      for (int i = 0; i < 4; ++i) got[i] = number_of(ctx, all[i]);
    });
    CHECK(noted.flops() == (7 + 4 + 7 + 7) * static_cast<double>(p.rows * p.classes));
    CHECK(laws::off_by(got[0], want) <= std::min(allowed<T>, 1e-5) * (1 + std::abs(want)));
    for (int i = 1; i < 4; ++i) CHECK(laws::off_by(got[i], got[0]) <= 1e-6 * (1 + std::abs(want)));
    CHECK(distance(aside.back(), slopes) < allowed<T>);
    CHECK(distance(logits.back(), aside.back()) == 0);
    CHECK(distance(wide.back(), slopes) < std::min(allowed<T>, 1e-5));
    CHECK(laws::all_intact({aside.untouched(), logits.untouched(), wide.untouched()}));
  }
}

TEST_CASE_TEMPLATE("members that have some classes each find what one finds that has all, on a GPU", T, float,
                   double) {
  for (const auto& p : problems)
    for (const std::int32_t members : {2, 3}) {
      if (p.classes < members || p.classes > 10000) continue;
      CAPTURE(p.classes);
      grid<double> wanted(p.rows, p.classes);
      const double want = wanted_of<T>(p, wanted);
      const on_gpu<T> logits(p.logits<T>());
      const laws::flat_on_gpu<std::int32_t> targets(p.targets());
      std::vector<std::vector<std::byte>> kept(static_cast<std::size_t>(members));
      for (const bool rehearsal : {true, false})
        for (std::int32_t member = 0; member < members; ++member) {
          rehearsed_group group{members, member, &kept, laws::gpu().stream()};
          microbatch_spread shared;
          shared.tensor = any_group(group);
          const interval own{p.classes * member / members, p.classes * (member + 1) / members};
          auto shape = p.shape();
          shape.classes = p.classes;
          shape.first = own.begin;
          const on_gpu<T> slopes(p.rows, own.size());
          double got = NAN;
          gpu_run_foretold([&](motet::cuda::context& ctx) {
            ctx.shared = &shared;
            const auto found = cross_entropy_loss(ctx, shape, logits.all().columns(own.begin, own.size()),
                                                  targets.data(), slopes.all());
            if (!ctx.measuring()) got = number_of(ctx, found);
          });
          if (rehearsal) continue;
          CHECK(laws::off_by(got, want) <= allowed<T> * (1 + std::abs(want)));
          const auto back = slopes.back();
          laws::deviation worst;
          for (isize r = 0; r < p.rows; ++r)
            for (isize c = 0; c < own.size(); ++c)
              worst.add_off(back(r, c), wanted(r, own.begin + c), laws::in_matrix(r, c));
          CHECK(worst < allowed<T>);
        }
    }
}

TEST_CASE("logits of minus infinity have no part in it, and a row of large ones does not overflow") {
  problem p{3, 40, 0, 1, 0};
  auto x = p.logits<float>();
  for (isize r = 0; r < p.rows; ++r)
    for (isize c = 0; c < p.classes; ++c) x.at(r, c) = c % 3 == 1 ? -INFINITY : 1e30f + static_cast<float>(c);
  const on_gpu<float> logits(x);
  const laws::flat_on_gpu<std::int32_t> targets(std::vector<std::int32_t>{0, 3, 6});
  double got = NAN;
  gpu_run_foretold([&](motet::cuda::context& ctx) {
    const auto found = cross_entropy_loss(ctx, p.shape(), logits.all(), targets.data(), logits.all());
    if (!ctx.measuring()) got = number_of(ctx, found);
  });
  double of_cpu = NAN;
  const std::int32_t ids[] = {0, 3, 6};
  cpu_run_foretold(1, [&](cpu::context& ctx) {
    of_cpu = cross_entropy_loss(ctx, p.shape(), x.view(), ids, matrix<float>{});
  });
  CHECK(got == doctest::Approx(3 * 0.125 * std::log(27.0)));  // the others are equal in float
  CHECK(of_cpu == doctest::Approx(got));
  for (const float slope : logits.back().data) CHECK(!std::isnan(slope));
}

}  // namespace motet
