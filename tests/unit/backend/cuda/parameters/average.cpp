// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/parameters/average.hpp>

#include <doctest/doctest.h>

#include <motet/backend/cpu/parameters/average.hpp>

#include <cpu_run.hpp>
#include <cuda_run.hpp>

namespace motet {
using laws::flat_on_gpu, laws::gpu_run_foretold, laws::cpu_run_foretold;

namespace {

template <class T>
std::vector<T> begun(isize count, std::uint64_t seed) {
  const auto from = laws::grid<T>(1, count).random(seed);
  return {from.data.begin(), from.data.begin() + count};
}

}  // namespace

TEST_CASE_TEMPLATE("averages on a GPU follow as on the CPU, but where a sum is not finite", T, float,
                   double) {
  const isize sizes[] = {1, 3, 0, 4099, 40};
  isize all = 0;
  for (const isize size : sizes) all += size + 5;
  const auto weights = begun<T>(all, 1), averages = begun<T>(all, 2);
  auto host = averages;
  const flat_on_gpu<T> on_weights(weights), on_averages(averages);
  const flat_on_gpu<double> sums{1.5, 1e4, NAN};
  // Some lie alike, some do not.
  const auto runs = [&](const T* from, T* to) {
    std::vector<average_run<T>> out;
    isize at = 0;
    for (const isize size : sizes) {
      out.push_back({from + at, to + at + (size == 40 ? 1 : 0), size});
      at += size + 5;
    }
    return out;
  };
  const motet::cuda::average_list<T> list(runs(on_weights.data(), on_averages.data()));
  const auto counted = gpu_run_foretold([&](motet::cuda::context& ctx) {
    average(ctx, list, 0.7);
    motet::cuda::real loss, squares, bad;
    if (!ctx.measuring())
      loss = {*ctx.on, sums.data()}, squares = {*ctx.on, sums.data() + 1}, bad = {*ctx.on, sums.data() + 2};
    average(ctx, list, 0.7, loss, bad);
    average(ctx, list, 0.7, bad, squares);
    average(ctx, list, 0.7, loss, squares);
    average(ctx, motet::cuda::average_list<T>(), 0.7);
  });
  const auto wanted = cpu_run_foretold(1, [&](cpu::context& ctx) {
    const cpu::average_list<T> own(runs(weights.data(), host.data()));
    for (int k = 0; k < (ctx.measuring() ? 4 : 2); ++k) average(ctx, own, 0.7);
  });
  CHECK(counted.flops() == wanted.flops());
  CHECK(laws::off_by(on_averages.back(), host, true) < (sizeof(T) == 4 ? 5e-7 : 1e-14));
  CHECK(laws::off_by(on_weights.back(), weights) == 0);
  CHECK(on_averages.back() != averages);
}

}  // namespace motet
