// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <doctest/doctest.h>
#include <motet/backend/cuda/products/fp8.hpp>
#include <motet/backend/cuda/products/linear.hpp>

#include "laws/activation_reference.hpp"
#include "laws/cuda_run.hpp"
#include "laws/goldens.hpp"
#include "laws/grid.hpp"

namespace motet {
using laws::grid, laws::distance, laws::on_gpu;

namespace {

// Multiples of 1/16 up to 7/16, which is there: they keep all their digits in e4m3 and e5m2, as then the
// scales are powers of two.
template <class T>
grid<T> exact(isize rows, isize width, std::uint64_t seed) {
  const random_stream draw(seed, "exact");
  grid<T> made(rows, width);
  for (isize r = 0; r < rows; ++r)
    for (isize c = 0; c < width; ++c)
      made.at(r, c) =
          T(static_cast<float>(
                static_cast<int>(draw.uniform(static_cast<std::uint64_t>(r * width + c)) * 15) - 7) /
            16.0f);
  made.at(rows - 1, width / 2) = T(-7.0f / 16);
  return made;
}

struct outcome {
  grid<float> y, added;
  grid<bf16> active, dx;
  grid<float> dweight, dbias;
};

template <class X>
outcome run(const grid<X>& x, const grid<float>& weight, const grid<float>& bias, const grid<bf16>& dy,
            bool fp8, int steps) {
  const on_gpu<X> x_(x);
  const on_gpu<float> weight_(weight), bias_(bias);
  const on_gpu<bf16> dy_(dy);
  const isize rows = x.rows, in = x.width, out = weight.rows;
  const sequences seq{rows, 1, nullptr};
  outcome found;
  auto& copies = laws::gpu().part<motet::cuda::weight_copies>();
  copies.keep(weight_.data(), out * in);
  laws::gpu().part<motet::cuda::fp8_weights>().keep(weight_.data(), out * in);
  for (int step = 0; step < steps; ++step) {
    const on_gpu<float> y_(rows, out), added_(grid<float>(rows, out).fill(0.5)),
        dweight_(grid<float>(out, in).fill(1)), dbias_(grid<float>(1, out).fill(2));
    const on_gpu<bf16> active_(rows, out), dx_(rows, in);
    laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
      ctx.fp8 = fp8;
      refresh_weights(ctx);
      const matrix<const float> w = weight_.all();
      if constexpr (std::is_same_v<X, bf16>) {
        linear_forward(ctx, seq, x_.all(), w, bias_.data(), y_.all());
        linear_forward(ctx, seq, x_.all(), w, bias_.data(), added_.all(), added_.all());
        linear_forward(ctx, seq, x_.all(), w, bias_.data(), activation::gelu, matrix<bf16>{}, active_.all());
      }
      linear_backward_input(ctx, seq, dy_.all(), w, dx_.all());
      linear_backward_weight(ctx, x_.all(), dy_.all(), dweight_.all(), dbias_.data());
    });
    found = {y_.back(), added_.back(), active_.back(), dx_.back(), dweight_.back(), dbias_.back()};
  }
  copies.drop(weight_.data());
  return found;
}

struct wanted {
  grid<double> y, added, active, dx, dweight, dbias;
};
template <class X>
wanted reference(const grid<X>& x, const grid<float>& weight, const grid<float>& bias, const grid<bf16>& dy) {
  const isize rows = x.rows, in = x.width, out = weight.rows;
  wanted w{{rows, out}, {rows, out}, {rows, out}, {rows, in}, {out, in}, {1, out}};
  for (isize o = 0; o < out; ++o) {
    w.dbias.at(0, o) = 2;
    for (isize k = 0; k < in; ++k) w.dweight.at(o, k) = 1;
  }
  for (isize r = 0; r < rows; ++r)
    for (isize o = 0; o < out; ++o) {
      double sum = bias(0, o);
      for (isize k = 0; k < in; ++k) sum += x(r, k) * weight(o, k);
      w.y.at(r, o) = sum;
      w.added.at(r, o) = sum + 0.5;
      w.active.at(r, o) = laws::activation_reference(activation::gelu, sum);
    }
  for (isize r = 0; r < rows; ++r)
    for (isize k = 0; k < in; ++k) {
      w.dx.at(r, k) = 0;
      for (isize o = 0; o < out; ++o) {
        w.dx.at(r, k) += dy(r, o) * weight(o, k);
        w.dweight.at(o, k) += dy(r, o) * x(r, k);
      }
    }
  for (isize r = 0; r < rows; ++r)
    for (isize o = 0; o < out; ++o) w.dbias.at(0, o) += dy(r, o);
  return w;
}

}  // namespace

TEST_CASE("numbers that fp8 holds are multiplied exactly") {
  for (const auto& [rows, in, out] : {std::tuple<isize, isize, isize>{16, 16, 16},
                                      {48, 80, 144},
                                      {144, 64, 32},
                                      {1, 32, 16},
                                      {77, 16, 48}}) {
    const auto x = exact<bf16>(rows, in, 1), dy = exact<bf16>(rows, out, 3);
    const auto weight = exact<float>(out, in, 2), bias = exact<float>(1, out, 4);
    const auto want = reference(x, weight, bias, dy);
    for (const int steps : {1, 2}) {
      const auto got = run(x, weight, bias, dy, true, steps);
      CHECK(distance(got.y, want.y) < 1e-6);
      CHECK(distance(got.added, want.added) < 1e-6);
      CHECK(distance(got.active, want.active) < 1e-2);
      CHECK(distance(got.dx, want.dx) < 5e-3);
      CHECK(distance(got.dweight, want.dweight) < 1e-6);
      CHECK(distance(got.dbias, want.dbias) < 1e-6);
    }
  }
}

// Of numbers at random e4m3 keeps four digits (2^-4 at worst), e5m2 three; sums of n of them are off by the
// root of n.
TEST_CASE("fp8 against fp32, whatever the size of the numbers") {
  const isize rows = 64, in = 96, out = 48;
  for (const double size : {1.0, 1e-6, 1e5, 1e-36}) {
    const auto x = grid<bf16>(rows, in).random(1), dy = grid<bf16>(rows, out).random(3, size);
    const auto weight = grid<float>(out, in).random(2, 0.1), bias = grid<float>(1, out).random(4, 0.1);
    const auto want = reference(x, weight, bias, dy);
    const auto got = run(x, weight, bias, dy, true, 3), plain = run(x, weight, bias, dy, false, 1);
    CHECK(distance(got.y, want.y) < 0.06);  // 96 products, each off by 4 % of 0.03: the worst of 3072 sums
    CHECK(distance(got.y, want.y) > 1e-4);  // it is fp8
    CHECK(distance(plain.y, want.y) < 2e-3);
    double square = 0, off_dx = 0, off_dweight = 0, square_dweight = 0;
    for (isize r = 0; r < rows; ++r)
      for (isize k = 0; k < in; ++k)
        square += want.dx(r, k) * want.dx(r, k), off_dx += std::pow(got.dx(r, k) - want.dx(r, k), 2);
    for (isize o = 0; o < out; ++o)
      for (isize k = 0; k < in; ++k)
        square_dweight += std::pow(want.dweight(o, k) - 1, 2),
            off_dweight += std::pow(got.dweight(o, k) - want.dweight(o, k), 2);
    if (size > 1e-30) CHECK(std::sqrt(off_dx / square) < 0.08);  // bf16 itself ends there
    if (size == 1.0) CHECK(std::sqrt(off_dweight / square_dweight) < 0.08);
  }
}

TEST_CASE("what fp8 does not take is multiplied in bf16") {
  const auto x = grid<bf16>(15, 24).random(1), dy = grid<bf16>(15, 16).random(3);
  const auto weight = grid<float>(16, 24).random(2), bias = grid<float>(1, 16).random(4);
  const auto with = run(x, weight, bias, dy, true, 1), without = run(x, weight, bias, dy, false, 1);
  CHECK(distance(with.y, reference(x, weight, bias, dy).y) < 2e-2);
  CHECK(with.y.data == without.y.data);
  CHECK(with.dweight.data == without.dweight.data);
}

TEST_CASE("a number that is not finite stays so") {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    auto x = exact<bf16>(16, 16, 1), dy = exact<bf16>(16, 16, 3);
    const auto weight = exact<float>(16, 16, 2), bias = exact<float>(1, 16, 4);
    x.at(3, 5) = bf16(bad);
    dy.at(7, 2) = bf16(bad);
    const auto got = run(x, weight, bias, dy, true, 1);
    CHECK(!std::isfinite(got.y(3, 0)));
    CHECK(!std::isfinite(static_cast<float>(got.dx(7, 0))));
    CHECK(!std::isfinite(got.dweight(2, 5)));
  }
}

// The same products by PyTorch's casts to these formats, with a scale for each tensor; see
// tests/goldens/make_goldens.py.
TEST_CASE("the numbers of PyTorch's fp8") {
  const laws::golden_file golden("fp8");
  for (const std::string name : {"even", "small", "large", "ragged"}) {
    CAPTURE(name);
    const auto at = [&]<class T>(const char* tensor, T) {
      const stored_tensor& found = golden.tensor(name + "/" + tensor);
      const laws::reals numbers = golden.at(name + "/" + tensor);
      grid<T> made(found.shape[0], found.shape[1]);
      for (isize r = 0; r < made.rows; ++r)
        for (isize c = 0; c < made.width; ++c)
          made.at(r, c) = T(static_cast<float>(numbers[static_cast<std::size_t>(r * made.width + c)]));
      return made;
    };
    const auto x = at("x", bf16()), dy = at("dy", bf16());
    const auto weight = at("weight", float());
    const auto got = run(x, weight, grid<float>(1, weight.rows).fill(0), dy, true, 2);
#if defined(__CUDACC__)
    // The chip's matrix units keep some 14 bits of a sum of such products: so much was seen on an H200.
    const double of_sums = 3e-3, of_gradient = 3e-2;
#else
    const double of_sums = 1e-6, of_gradient = 5e-3;  // the latter comes in bf16
#endif
    CHECK(distance(got.y, at("y", double())) < of_sums);
    CHECK(distance(got.dx, at("dx", double())) < of_gradient);
    grid<double> dweight = at("dweight", double());
    for (double& each : dweight.data) each += 1;  // where ours began
    CHECK(distance(got.dweight, dweight) < of_sums);
  }
}

TEST_CASE("a refresh rounds all weights that were met, whatever their shapes") {
  struct layer {
    grid<float> weight;
    grid<bf16> x, dy;
  };
  std::vector<layer> layers;
  for (const auto& [in, out] : {std::pair<isize, isize>{16, 16}, {80, 144}, {144, 64}, {16, 208}})
    layers.push_back({exact<float>(out, in, static_cast<std::uint64_t>(in)), exact<bf16>(16, in, 1),
                      exact<bf16>(16, out, 3)});
  std::vector<float> flat;
  for (const layer& each : layers)
    flat.insert(flat.end(), each.weight.data.begin(),
                each.weight.data.begin() + each.weight.rows * each.weight.width);
  const laws::flat_on_gpu<float> weights(flat);
  auto& copies = laws::gpu().part<motet::cuda::weight_copies>();
  auto& narrow = laws::gpu().part<motet::cuda::fp8_weights>();
  copies.keep(weights.data(), weights.size());
  narrow.keep(weights.data(), weights.size());
  // The second and third turn meet all, the fourth two of them, after they were dropped.
  for (int turn = 0; turn < 4; ++turn) {
    if (turn > 0) {
      for (float& w : flat) w = -w;
      for (layer& each : layers)
        for (float& w : each.weight.data) w = -w;
      weights.put(flat);
      copies.changed(weights.data(), weights.size());
    }
    if (turn == 3) {
      copies.drop(weights.data());
      CHECK(narrow.of({weights.data(), 16, 16, 16}).why == std::string("nobody keeps a copy of the weight"));
      copies.keep(weights.data(), weights.size());
      narrow.keep(weights.data(), weights.size());
    }
    std::vector<on_gpu<float>> y_;
    std::vector<on_gpu<bf16>> x_, dy_, dx_;
    for (const layer& each : layers) {
      y_.emplace_back(16, each.weight.rows);
      dx_.emplace_back(16, each.weight.width);
      x_.emplace_back(each.x);
      dy_.emplace_back(each.dy);
    }
    laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
      ctx.fp8 = true;
      refresh_weights(ctx);
      const sequences seq{16, 1, nullptr};
      isize at = 0;
      for (std::size_t l = 0; l < layers.size(); ++l) {
        const auto& [rows, width] = std::pair(layers[l].weight.rows, layers[l].weight.width);
        const matrix<const float> w{weights.data() + at, rows, width, width};
        at += rows * width;
        if (turn == 3 && l % 2 == 0) continue;
        linear_forward(ctx, seq, x_[l].all(), w, static_cast<const float*>(nullptr), y_[l].all());
        linear_backward_input(ctx, seq, dy_[l].all(), w, dx_[l].all());
      }
    });
    for (std::size_t l = 0; l < layers.size(); ++l) {
      if (turn == 3 && l % 2 == 0) continue;
      const auto want = reference(layers[l].x, layers[l].weight,
                                  grid<float>(1, layers[l].weight.rows).fill(0), layers[l].dy);
      CHECK(distance(y_[l].back(), want.y) < 1e-6);
      CHECK(distance(dx_[l].back(), want.dx) < 5e-3);
    }
  }
  copies.drop(weights.data());
}

TEST_CASE("a weight is kept as one matrix, and not cut") {
  const grid<float> weight = exact<float>(32, 16, 2);
  const on_gpu<float> weight_(weight);
  auto& copies = laws::gpu().part<motet::cuda::weight_copies>();
  auto& narrow = laws::gpu().part<motet::cuda::fp8_weights>();
  copies.keep(weight_.data(), 32 * 16);
  narrow.keep(weight_.data(), 32 * 16);
  CHECK(narrow.of({weight_.data() + 256, 16, 16, 16}).why == nullptr);
  const std::string other = "another matrix lies where the weight does";
  CHECK(narrow.of({weight_.data(), 32, 16, 16}).why == other);
  CHECK(narrow.of({weight_.data() + 256, 8, 32, 32}).why == other);
  CHECK(narrow.of({weight_.data() + 8, 8, 16, 16}).why == std::string("rows do not lie at 16 bytes"));
  CHECK(narrow.of({weight_.data(), 16, 16, 16}).why == nullptr);
  CHECK(motet::cuda::fp8_weights::bytes(512) == 2 * 512 + 4096 * 16);
  copies.drop(weight_.data());
}

TEST_CASE("a chip without fp8 is refused") {
  CHECK_THROWS_WITH_AS(motet::cuda::require_fp8(8, 6),
                       doctest::Contains("fp8 on a chip of sm_86; sm_89 and newer multiply it"), error);
  motet::cuda::require_fp8(8, 9);
  motet::cuda::require_fp8(10, 0);
}

}  // namespace motet
