// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/kernels/transfer.hpp>

#include "cuda_run.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace motet {
namespace {

TEST_CASE("numbers go up, are copied, added to, and come down, in the order of the stream") {
  for (const isize count : {0, 1, 33, 5000}) {
    std::vector<float> from(static_cast<std::size_t>(count)), more(from), found(from.size(), -1.0f);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i), more[i] = 0.5f;
    const std::vector<float> kept = from;
    const laws::flat_on_gpu<float> a(count), b(count), c(more);
    laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
      motet::cuda::upload(ctx, from.data(), a.data(), count);
      if (!ctx.measuring()) from.assign(from.size(), 99.0f);  // may change afterwards
      motet::cuda::copy(ctx, a.data(), b.data(), count);
      motet::cuda::copy(ctx, b.data(), b.data(), count);
      motet::cuda::accumulate(ctx, c.data(), b.data(), count);
      motet::cuda::accumulate(ctx, c.data(), b.data(), count);
      motet::cuda::download(ctx, b.data(), found.data(), count);
      if (ctx.measuring()) return;
      std::vector<float> wanted = kept;
      for (float& each : wanted) each += 1;
      CHECK(laws::off_by(found, wanted) == 0);
    });
    CHECK(laws::off_by(a.back(), kept) == 0);
  }
}

TEST_CASE("a dry run moves nothing and needs no GPU") {
  motet::cuda::context ctx;
  float one = 1;
  motet::cuda::upload(ctx, &one, &one, 1);
  motet::cuda::download(ctx, &one, &one, 1);
  motet::cuda::copy(ctx, &one, &one, 1);
  motet::cuda::accumulate(ctx, &one, &one, 1);
  motet::cuda::finish(ctx);
  CHECK(one == 1);
}

TEST_CASE("matrices are copied without their gaps") {
  laws::grid<float> from(7, 5, 3);
  from.random(1);
  const laws::on_gpu<float> x(from), y(7, 5, 6), none(0, 5, 6);
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    motet::cuda::copy(ctx, matrix<const float>(x.all()), y.all());
    motet::cuda::copy(ctx, matrix<const float>(none.all()), none.all());
  });
  CHECK(laws::distance(y.back(), from) == 0);
  CHECK(y.untouched());
}

TEST_CASE("what was found is added to a place") {
  const laws::flat_on_gpu<double> to({1.5}), from({2.25});
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    if (ctx.measuring()) return motet::cuda::add_number(ctx, motet::cuda::real(), to.data());
    const motet::cuda::real found = ctx.on->take_real();
    motet::cuda::copy(ctx, from.data(), found.at(), 1);
    motet::cuda::add_number(ctx, found, to.data());
    motet::cuda::add_number(ctx, motet::cuda::real(), to.data());
  });
  CHECK(to.back()[0] == 3.75);
}

}  // namespace
}  // namespace motet
