// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/rows/norm.hpp>

#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/norm.hpp>

#include "laws/cpu_run.hpp"
#include "laws/cuda_run.hpp"
#include "laws/gpu_batches.hpp"

namespace motet {
using laws::grid, laws::distance, laws::tolerance;

namespace {

template <class To, class From>
grid<To> rounded(const grid<From>& from) {
  grid<To> made(from.rows, from.width);
  for (isize r = 0; r < from.rows; ++r)
    for (isize c = 0; c < from.width; ++c) made.at(r, c) = To(from.at(r, c));
  return made;
}

// All operations on both backends, from the same numbers.
template <class N>
void compare(const sequences& seq, norm_kind kind, isize width, isize gap, bool with_bias,
             std::uint64_t seed) {
  using value = typename N::value;
  using stream = typename N::stream;
  using master = typename N::master;
  const isize rows = seq.rows();
  const auto x = grid<stream>(rows, width, gap).random(seed, 2, 1);
  const auto gain = grid<master>(1, width).random(seed + 1), bias = grid<master>(1, width).random(seed + 2);
  const auto dy = grid<value>(rows, width, 2 * gap).random(seed + 3);
  const auto residual = grid<stream>(rows, width, gap).random(seed + 4);
  auto dgain = grid<master>(1, width).random(seed + 5), dbias = grid<master>(1, width).random(seed + 6);

  const laws::on_gpu<stream> gx(x), gresidual(residual), gdx(rows, width, width + gap),
      galone(rows, width, width + gap), gbare(rows, width, width + gap), gplace(residual);
  const laws::on_gpu<value> gdy(dy), gy(rows, width, width + gap), gagain(rows, width),
      grounded(rows, width, width + gap), gover(dy);
  const laws::on_gpu<master> ggain(gain), gbias(bias), gstats(rows, 2, 3), gdgain(dgain), gdbias(dbias);
  const master* const b = with_bias ? gbias.data() : nullptr;
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    norm_forward(ctx, seq, kind, gx.all(), ggain.data(), b, 1e-5, gy.all(), gstats.all());
    const auto sums = norm_sums<master>(ctx, rows, width);
    const norm_also<value, master> also{gagain.all(), b, grounded.all(), sums};
    norm_backward_input(ctx, seq, kind, gx.all(), ggain.data(), gstats.all(), gdy.all(), gresidual.all(),
                        gdx.all(), also);
    norm_backward_input(ctx, seq, kind, gx.all(), ggain.data(), gstats.all(), gdy.all(), gresidual.all(),
                        galone.all());
    norm_backward_input(ctx, seq, kind, gx.all(), ggain.data(), gstats.all(), gdy.all(),
                        matrix<const stream>{}, gbare.all());
    norm_backward_input(ctx, seq, kind, gx.all(), ggain.data(), gstats.all(), gdy.all(), gplace.all(),
                        gplace.all());
    norm_backward_input(ctx, seq, kind, gx.all(), ggain.data(), gstats.all(), gover.all(),
                        matrix<const stream>{}, gover.all());
    norm_backward_weight(ctx, kind, gx.all(), gstats.all(), gdy.all(), sums, gdgain.data(),
                         with_bias ? gdbias.data() : nullptr);
  });

  grid<value> y(rows, width), over(rows, width);
  grid<master> stats(rows, 2);
  grid<stream> dx(rows, width), bare(rows, width);
  const master* const host_bias = with_bias ? bias.data.data() : nullptr;
  laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
    norm_forward(ctx, seq, kind, x.view(), gain.data.data(), host_bias, 1e-5, y.view(), stats.view());
    norm_backward_input(ctx, seq, kind, x.view(), gain.data.data(), stats.view(), dy.view(), residual.view(),
                        dx.view());
    norm_backward_input(ctx, seq, kind, x.view(), gain.data.data(), stats.view(), dy.view(),
                        matrix<const stream>{}, bare.view());
    norm_backward_input(ctx, seq, kind, x.view(), gain.data.data(), stats.view(), dy.view(),
                        matrix<const stream>{}, over.view());
    norm_backward_weight(ctx, kind, x.view(), stats.view(), dy.view(), dgain.data.data(),
                         with_bias ? dbias.data.data() : nullptr);
  });
  // A single column has deviation sqrt(epsilon), so rounding is magnified; long sums are taken in another
  // order.
  const double slack = width == 1     ? 400
                       : width > 1000 ? 4
                                      : 1,
               fine = slack * tolerance<stream>, coarse = slack * tolerance<value>;
  CAPTURE(rows);
  CAPTURE(width);
  CHECK(distance(gy.back(), y) < coarse);
  CHECK(distance(gagain.back(), y) < coarse);
  CHECK(distance(gstats.back(), stats) < fine);
  CHECK(distance(gdx.back(), dx) < fine);
  CHECK(distance(galone.back(), gdx.back()) == 0);
  CHECK(distance(grounded.back(), rounded<value>(gdx.back())) == 0);
  CHECK(distance(gbare.back(), bare) < fine);
  CHECK(distance(gplace.back(), dx) < fine);
  CHECK(distance(gover.back(), over) < coarse);
  CHECK(distance(gdgain.back(), dgain) < fine);
  CHECK(distance(gdbias.back(), dbias) < fine);
  for (const auto& left : {gy.untouched(), gagain.untouched(), gdx.untouched(), galone.untouched(),
                           grounded.untouched(), gbare.untouched(), gplace.untouched(), gover.untouched()})
    CHECK(left);
}

}  // namespace

TEST_CASE_TEMPLATE("norms on a GPU are those of the CPU", N, fp32, mixed_bf16, fp64) {
  std::uint64_t seed = 1;
  laws::each_gpu_batch([&](const sequences& seq) {
    for (const isize width : {1, 5, 16, 45, 96})
      for (const norm_kind kind : {norm_kind::layer, norm_kind::rms})
        compare<N>(seq, kind, width, seed % 2 == 0 ? 8 : 3, seed % 3 != 0, seed), seed += 7;
  });
}

TEST_CASE_TEMPLATE("rows that a warp keeps, that a block keeps, and that nobody keeps", N, fp32, mixed_bf16) {
  std::uint64_t seed = 100;
  // In runs and, where the width is odd, number by number.
  for (const isize width : {512, 520, 1024, 1032, 4096, 4097, 8192, 12288})
    compare<N>({3, 1, nullptr}, norm_kind::layer, width, 0, true, seed += 7);
  compare<N>({3, 1, nullptr}, norm_kind::rms, 2056, 8, false, seed + 7);
}

TEST_CASE("gains of many rows: blocks have several of them") {
  compare<fp32>({1, 700, nullptr}, norm_kind::layer, 40, 0, true, 300);
  compare<mixed_bf16>({1, 300, nullptr}, norm_kind::layer, 264, 0, true, 310);
}

TEST_CASE("a norm notes what its twin notes") {
  const sequences seq{4, 3, nullptr};
  const auto note = [&](auto& ctx) {
    norm_forward(ctx, seq, norm_kind::layer, matrix<const float>{nullptr, 12, 16, 16},
                 static_cast<const float*>(nullptr), nullptr, 1e-5,
                 matrix<bf16>{reinterpret_cast<bf16*>(64), 12, 16, 16},
                 matrix<float>{reinterpret_cast<float*>(64), 12, 2, 2});
  };
  cpu::profile on_cpu;
  cpu::context host;
  host.costs = &on_cpu;
  note(host);
  motet::cuda::profile on_gpu;
  motet::cuda::context device;
  device.costs = &on_gpu;
  note(device);
  CHECK(on_cpu.at(-1).flops == on_gpu.at(-1).flops);
  CHECK(on_cpu.at(-1).bytes == on_gpu.at(-1).bytes);
}

}  // namespace motet
