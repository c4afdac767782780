// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/optimizer.hpp>

#include <doctest/doctest.h>

#include <motet/backend/cpu/optimizer.hpp>

#include <cpu_run.hpp>
#include <cuda_run.hpp>

namespace motet {
using laws::flat_on_gpu, laws::gpu_run_planned, laws::cpu_run_planned;

namespace {

template <class T>
std::vector<T> drawn(index count, std::uint64_t seed, double scale = 1, double shift = 0) {
  const auto from = laws::grid<T>(1, count).random(seed, scale, shift);
  return {from.data.begin(), from.data.begin() + count};
}
template <class T>
double apart(const std::vector<T>& got, const std::vector<T>& want) {
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double off = std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i])) / (1 + std::abs(static_cast<double>(want[i])));
    worst = off <= worst ? worst : std::isnan(off) ? INFINITY : off;
  }
  return worst;
}

}  // namespace

TEST_CASE_TEMPLATE("zero and the sum of squares of a part of a flat buffer on a GPU", T, float, double) {
  for (const index count : {0, 1, 3, 15, 16, 100, 4099, 40000})
    for (const index first : {0, 1, 3}) {
      const auto x = drawn<T>(count + 8, 1);
      const flat_on_gpu<T> on(x);
      double want = 0, got = -1, again = -1, after = -1;
      for (index i = first; i < first + count; ++i)
        want += static_cast<double>(x[static_cast<std::size_t>(i)]) * static_cast<double>(x[static_cast<std::size_t>(i)]);
      const auto noted = gpu_run_planned([&](motet::cuda::context& ctx) {
        const auto one = sum_of_squares(ctx, on.data() + first, count), two = sum_of_squares(ctx, on.data() + first, count);
        zero(ctx, on.data() + first, count);
        const auto three = sum_of_squares(ctx, on.data() + first, count);
        if (ctx.measuring()) return;
        got = number_of(ctx, one);
        again = number_of(ctx, two);
        after = number_of(ctx, three);
      });
      CHECK(std::abs(got - want) <= 1e-12 * (1 + want));
      CHECK(again == got);
      CHECK(after == 0);
      CHECK(noted.flops() == 6 * static_cast<double>(count));
      const auto left = on.back();
      for (std::size_t i = 0; i < left.size(); ++i) {
        const bool inside = static_cast<index>(i) >= first && static_cast<index>(i) < first + count;
        CHECK(left[i] == (inside ? T(0) : x[i]));
      }
    }
}

TEST_CASE_TEMPLATE("adamw on a GPU is that of the CPU", T, float, double) {
  for (const index count : {0, 1, 3, 100, 4099})
    // Buffers that begin alike, from a multiple of 16 bytes on or not; and such that do not.
    for (const index first : {0, 1, 3})
      for (const bool crooked : {false, true})
        for (const bool clear : {false, true})
          for (const bool copied : {false, true}) {
            const index all = count + 8, other = crooked ? first + 1 : first;
            auto w = drawn<T>(all, 1), g = drawn<T>(all, 2), m = drawn<T>(all, 3), v = drawn<T>(all, 4, 0.5, 0.5);
            const flat_on_gpu<T> on_w(w), on_g(g), on_m(m), on_v(v);
            const flat_on_gpu<bf16> on_copy(std::vector<bf16>(static_cast<std::size_t>(all), bf16(-7.0f)));
            const adamw_step step{1e-2, 0.9, 0.98, 1e-6, 0.1, 0.5, 0.271, 0.0588};
            const auto noted = gpu_run_planned([&](motet::cuda::context& ctx) {
              adamw(ctx, on_w.data() + first, on_g.data() + other, on_m.data() + first, on_v.data() + first, count, step, clear,
                    copied ? on_copy.data() + first : nullptr);
            });
            const auto wanted = cpu_run_planned(1, [&](cpu::context& ctx) {
              adamw(ctx, w.data() + first, g.data() + other, m.data() + first, v.data() + first, count, step, clear);
            });
            CHECK(noted.flops() == wanted.flops());
            const double tolerance = sizeof(T) == 4 ? 5e-7 : 1e-14;
            const auto got_w = on_w.back();
            CHECK(apart(got_w, w) < tolerance);
            CHECK(apart(on_g.back(), g) == 0);
            CHECK(apart(on_m.back(), m) < tolerance);
            CHECK(apart(on_v.back(), v) < tolerance);
            const auto copy = on_copy.back();
            bool right = true;
            for (index i = 0; i < all; ++i) {
              const auto at = static_cast<std::size_t>(i);
              right = right && copy[at].bits == (copied && i >= first && i < first + count ? bf16(static_cast<float>(got_w[at])) : bf16(-7.0f)).bits;
            }
            CHECK(right);
          }
}

TEST_CASE_TEMPLATE("a number is clamped where it lies", T, float, double) {
  const flat_on_gpu<T> on(std::vector<T>{T(5), T(4), T(-9), T(5)});
  std::vector<T> of_host{T(5), T(4), T(-9), T(5)};
  const auto clamp = [](auto& ctx, T* at) {
    for (int i = 0; i < 3; ++i) clamp_to(ctx, at + i, T(4.5));
  };
  gpu_run_planned([&](motet::cuda::context& ctx) { clamp(ctx, on.data()); });
  cpu_run_planned(2, [&](cpu::context& ctx) { clamp(ctx, of_host.data()); });
  CHECK(on.back() == std::vector<T>{T(4.5), T(4), T(-9), T(5)});
  CHECK(of_host == on.back());
}

}  // namespace motet
