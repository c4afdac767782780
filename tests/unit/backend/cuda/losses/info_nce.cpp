// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/losses/info_nce.hpp>

#include <doctest/doctest.h>

#include <motet/backend/cpu/losses/info_nce.hpp>

#include <cuda_pair_loss.hpp>

namespace motet {
namespace {

// Runs the loss of the backend that the context belongs to.
struct run {
  template <class C, class S, class M>
  auto operator()(C& ctx, matrix<const S> a, matrix<const S> b, const M* log_scale, const M*, double share,
                  matrix<S> da, matrix<S> db, M* dlog_scale, M*) const {
    return info_nce_loss(ctx, a, b, log_scale, share, da, db, dlog_scale);
  }
};

}  // namespace

TEST_CASE("info_nce on a GPU is that of the CPU") {
  for (const auto& p : laws::pair_problems()) {
    laws::compare_on_gpu<double>(p, run{}, run{}, 1e-11);
    laws::compare_on_gpu<float>(p, run{}, run{}, 2e-5);
  }
}

TEST_CASE("info_nce of more rows than a panel has") {
  const laws::pair_problem p(1091, 2, 1.5, 1);
  laws::compare_on_gpu<float>(p, run{}, run{}, 2e-5);
}

TEST_CASE("info_nce on a GPU stays finite and right where logits are ten thousand") {
  laws::pair_problem p(70, 24, 4.6, 1);
  for (auto& x : p.a) x *= 10;
  for (auto& x : p.b) x *= -10;  // matching pairs look least alike
  laws::compare_on_gpu<double>(p, run{}, run{}, 1e-9);
  laws::compare_on_gpu<float>(p, run{}, run{}, 3e-2);
}

TEST_CASE("info_nce of equal features on a GPU") {
  laws::pair_problem same(33, 5, 4.6, 1);
  for (std::size_t i = 0; i < same.a.size(); ++i) same.a[i] = same.b[i] = 1 / std::sqrt(5.0);
  laws::pair_trial<double> wanted(same);
  wanted.run(1, run{});
  laws::gpu_pair_trial<float> t(same);
  CHECK(t.run(run{}, wanted).loss == doctest::Approx(std::log(33.0)));
}

TEST_CASE("a trained model's loss and temperature keep their digits in float on a GPU") {
  laws::pair_problem p(90, 32, 4.6, 1);
  for (std::size_t i = 0; i < p.a.size(); ++i)
    p.b[i] = static_cast<double>(static_cast<float>(p.a[i] + 0.05 * p.b[i]));
  laws::pair_trial<double> wanted(p);
  wanted.run(1, run{});
  laws::gpu_pair_trial<float> t(p);
  t.run(run{}, wanted);
  CHECK(laws::off_by(t.loss, wanted.loss) < 2e-6 + 1e-4 * wanted.loss);
  CHECK(laws::off_by(t.dlog_scale, wanted.dlog_scale - wanted.start) <
        2e-5 + 1e-4 * std::abs(wanted.dlog_scale));
}

TEST_CASE("info_nce on a GPU notes what the CPU notes") {
  const auto noted = [](auto& ctx) {
    using S = float;
    const matrix<S> rows{nullptr, 100, 20, 20};
    S* const number = nullptr;
    S gradient = 0;
    info_nce_loss(ctx, rows, rows, static_cast<const S*>(number), 1, rows, rows, &gradient);
  };
  motet::cuda::profile gpu, cpu;
  motet::cuda::context one;
  one.costs = &gpu;
  noted(one);
  cpu::context other;
  other.costs = &cpu;
  noted(other);
  CHECK(gpu.flops() == cpu.flops());
}

}  // namespace motet
