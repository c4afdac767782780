// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/products/continued_linear.hpp>
#include <motet/tensor/random.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/deviation.hpp"
#include "../../../../laws/each_kernel.hpp"

#include <doctest/doctest.h>

namespace motet {
namespace {

template <class T>
std::vector<T> drawn(isize count, std::uint64_t name) {
  std::vector<T> out;
  const random_stream draws(5, name);
  for (isize i = 0; i < count; ++i)
    out.push_back(static_cast<T>(static_cast<float>(draws.normal(static_cast<std::uint64_t>(i)))));
  return out;
}

// Two whole passes over memory that is exactly as large as the dry run says.
template <class T, class Body>
void run_continued(int threads, cpu::rounded_weights rounded, Body&& body) {
  const cpu::key_value_cache<T> cache(1, 1, 1, 1);
  isize memory = 0, scratch = 0;
  for (int t = 0; t < threads; ++t) {
    cpu::context dry;
    dry.thread = t;
    dry.threads = threads;
    cpu::continue_rows(dry, cache, rounded, body);
    memory = std::max(memory, dry.memory.peak());
    scratch = std::max(scratch, dry.scratch.peak());
  }
  laws::cpu_run(threads, memory, scratch,
                [&](cpu::context& ctx) { cpu::continue_rows(ctx, cache, rounded, body); });
}

}  // namespace

TEST_CASE_TEMPLATE("products shared by columns are those shared by rows", N, fp32, mixed_bf16, fp64) {
  using value = typename N::value;
  using stream = typename N::stream;
  using master = typename N::master;
  const double near = sizeof(value) == 2 ? 6e-2 : sizeof(value) == 4 ? 2e-5 : 1e-12;
  laws::with_each_kernel([&] {
    for (const int threads : {1, 3})
      for (const isize rows : {1, 2, 3, 4, 5, 8, 16, 17, 33})
        for (const auto& [in, out] : {std::pair<isize, isize>{1, 1}, {7, 19}, {65, 50}}) {
          CAPTURE(threads);
          CAPTURE(rows);
          CAPTURE(in);
          const sequences seq{1, rows, nullptr};
          const auto x = drawn<value>(rows * in, 1);
          const auto weight = drawn<master>(out * in, 2), bias = drawn<master>(out, 3);
          const auto residual = drawn<stream>(rows * out, 4);
          const matrix<const value> from{x.data(), rows, in, in};
          const matrix<const master> by{weight.data(), out, in, in};
          const matrix<const stream> beside{residual.data(), rows, out, out};
          std::vector<value> plain[2], pre[2], active[2];
          std::vector<stream> added[2];
          const auto products = [&](auto& ctx, int which) {
            const auto to = [&](auto& of) {
              return matrix<typename std::remove_reference_t<decltype(of)>::value_type>{of.data(), rows, out,
                                                                                        out};
            };
            linear_forward(ctx, seq, from, by, nullptr, to(plain[which]));
            linear_forward(ctx, seq, from, by, bias.data(), beside, to(added[which]));
            linear_forward(ctx, seq, from, by, bias.data(), activation::gelu, to(pre[which]),
                           to(active[which]));
            linear_forward(ctx, seq, from, by, nullptr, activation::silu, matrix<value>{}, to(plain[which]));
          };
          for (int which = 0; which < 2; ++which) {
            for (auto* of : {&plain[which], &pre[which], &active[which]}) of->resize(as_size(rows * out));
            added[which].resize(as_size(rows * out));
          }
          laws::cpu_run_foretold(1, [&](cpu::context& ctx) { products(ctx, 0); });
          run_continued<value>(threads, {}, [&](auto& ctx) { products(ctx, 1); });
          CHECK(laws::off_by(plain[1], plain[0], true) <= near);
          CHECK(laws::off_by(added[1], added[0], true) <= near);
          CHECK(laws::off_by(pre[1], pre[0], true) <= near);
          CHECK(laws::off_by(active[1], active[0], true) <= near);
        }
  });
}

TEST_CASE("a row by the rounded copy of weights is a row by rounded weights") {
  constexpr isize in = 70, out = 37;
  const auto x = drawn<float>(in, 1), weight = drawn<float>(out * in, 2);
  const std::vector<bf16> copy = laws::rounded(weight);
  const std::vector<float> rounded(copy.begin(), copy.end());
  std::vector<float> plain(out), by_copy(out);
  const auto product = [&](auto& ctx, const std::vector<float>& by, std::vector<float>& to) {
    linear_forward(ctx, {1, 1, nullptr}, matrix<const float>{x.data(), 1, in, in},
                   matrix<const float>{by.data(), out, in, in}, nullptr,
                   matrix<float>{to.data(), 1, out, out});
  };
  run_continued<float>(2, {}, [&](auto& ctx) { product(ctx, rounded, plain); });
  run_continued<float>(2, {weight.data(), copy.data()}, [&](auto& ctx) { product(ctx, weight, by_copy); });
  CHECK(plain == by_copy);
}

}  // namespace motet
