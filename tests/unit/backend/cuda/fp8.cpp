// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <doctest/doctest.h>
#include <motet/backend/cuda/fp8.hpp>
#include <motet/backend/cuda/linear.hpp>

#include "laws/activation_reference.hpp"
#include "laws/cuda_run.hpp"
#include "laws/grid.hpp"

namespace motet {
using laws::grid, laws::distance, laws::on_gpu;

namespace {

// Multiples of 1/16 up to 7/16, which is there: they keep all their digits in e4m3 and e5m2, as then the scales are powers of two.
template <class T>
grid<T> exact(index rows, index width, std::uint64_t seed) {
  const random_stream draw(seed, "exact");
  grid<T> made(rows, width);
  for (index r = 0; r < rows; ++r)
    for (index c = 0; c < width; ++c)
      made.at(r, c) = T(static_cast<float>(static_cast<int>(draw.uniform(static_cast<std::uint64_t>(r * width + c)) * 15) - 7) / 16.0f);
  made.at(rows - 1, width / 2) = T(-7.0f / 16);
  return made;
}

struct outcome {
  grid<float> y, added;
  grid<bf16> active, dx;
  grid<float> dweight, dbias;
};

template <class X>
outcome run(const grid<X>& x, const grid<float>& weight, const grid<float>& bias, const grid<bf16>& dy, bool fp8, int steps) {
  const on_gpu<X> x_(x);
  const on_gpu<float> weight_(weight), bias_(bias);
  const on_gpu<bf16> dy_(dy);
  const index rows = x.rows, in = x.width, out = weight.rows;
  const sequences seq{rows, 1, nullptr};
  outcome found;
  auto& copies = laws::gpu().part<motet::cuda::weight_copies>();
  copies.keep(weight_.data(), out * in);
  for (int step = 0; step < steps; ++step) {
    const on_gpu<float> y_(rows, out), added_(grid<float>(rows, out).fill(0.5)), dweight_(grid<float>(out, in).fill(1)),
        dbias_(grid<float>(1, out).fill(2));
    const on_gpu<bf16> active_(rows, out), dx_(rows, in);
    laws::gpu_run_planned([&](motet::cuda::context& ctx) {
      if (ctx.on != nullptr) ctx.on->part<motet::cuda::product_settings>().fp8 = fp8;
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
  laws::gpu().part<motet::cuda::product_settings>().fp8 = false;
  return found;
}

struct wanted {
  grid<double> y, added, active, dx, dweight, dbias;
};
template <class X>
wanted reference(const grid<X>& x, const grid<float>& weight, const grid<float>& bias, const grid<bf16>& dy) {
  const index rows = x.rows, in = x.width, out = weight.rows;
  wanted w{{rows, out}, {rows, out}, {rows, out}, {rows, in}, {out, in}, {1, out}};
  for (index o = 0; o < out; ++o) {
    w.dbias.at(0, o) = 2;
    for (index k = 0; k < in; ++k) w.dweight.at(o, k) = 1;
  }
  for (index r = 0; r < rows; ++r)
    for (index o = 0; o < out; ++o) {
      double sum = bias(0, o);
      for (index k = 0; k < in; ++k) sum += x(r, k) * weight(o, k);
      w.y.at(r, o) = sum;
      w.added.at(r, o) = sum + 0.5;
      w.active.at(r, o) = laws::activation_reference(activation::gelu, sum);
    }
  for (index r = 0; r < rows; ++r)
    for (index k = 0; k < in; ++k) {
      w.dx.at(r, k) = 0;
      for (index o = 0; o < out; ++o) {
        w.dx.at(r, k) += dy(r, o) * weight(o, k);
        w.dweight.at(o, k) += dy(r, o) * x(r, k);
      }
    }
  for (index r = 0; r < rows; ++r)
    for (index o = 0; o < out; ++o) w.dbias.at(0, o) += dy(r, o);
  return w;
}

}  // namespace

TEST_CASE("numbers that fp8 holds are multiplied exactly") {
  for (const auto& [rows, in, out] : {std::tuple<index, index, index>{16, 16, 16}, {48, 80, 144}, {144, 64, 32}}) {
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

// Of numbers at random e4m3 keeps four digits (2^-4 at worst), e5m2 three; sums of n of them are off by the root of n.
TEST_CASE("fp8 against fp32, whatever the size of the numbers") {
  const index rows = 64, in = 96, out = 48;
  for (const double size : {1.0, 1e-6, 1e5}) {
    const auto x = grid<bf16>(rows, in).random(1), dy = grid<bf16>(rows, out).random(3, size);
    const auto weight = grid<float>(out, in).random(2, 0.1), bias = grid<float>(1, out).random(4, 0.1);
    const auto want = reference(x, weight, bias, dy);
    const auto got = run(x, weight, bias, dy, true, 3), plain = run(x, weight, bias, dy, false, 1);
    CHECK(distance(got.y, want.y) < 0.06);  // 96 products, each off by 4 % of 0.03: the worst of 3072 sums
    CHECK(distance(got.y, want.y) > 1e-4);  // it is fp8
    CHECK(distance(plain.y, want.y) < 2e-3);
    double square = 0, off_dx = 0, off_dweight = 0, square_dweight = 0;
    for (index r = 0; r < rows; ++r)
      for (index k = 0; k < in; ++k) square += want.dx(r, k) * want.dx(r, k), off_dx += std::pow(got.dx(r, k) - want.dx(r, k), 2);
    for (index o = 0; o < out; ++o)
      for (index k = 0; k < in; ++k)
        square_dweight += std::pow(want.dweight(o, k) - 1, 2), off_dweight += std::pow(got.dweight(o, k) - want.dweight(o, k), 2);
    CHECK(std::sqrt(off_dx / square) < 0.08);
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

TEST_CASE("a refresh rounds all weights that were met, whatever their shapes") {
  struct layer {
    grid<float> weight;
    grid<bf16> x, dy;
  };
  std::vector<layer> layers;
  for (const auto& [in, out] : {std::pair<index, index>{16, 16}, {80, 144}, {144, 64}, {16, 208}})
    layers.push_back({exact<float>(out, in, static_cast<std::uint64_t>(in)), exact<bf16>(16, in, 1), exact<bf16>(16, out, 3)});
  std::vector<float> flat;
  for (const layer& each : layers) flat.insert(flat.end(), each.weight.data.begin(), each.weight.data.begin() + each.weight.rows * each.weight.width);
  const laws::flat_on_gpu<float> weights(flat);
  auto& copies = laws::gpu().part<motet::cuda::weight_copies>();
  copies.keep(weights.data(), weights.size());
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
      copies.keep(weights.data(), weights.size());
    }
    std::vector<on_gpu<float>> y_;
    std::vector<on_gpu<bf16>> x_, dy_, dx_;
    for (const layer& each : layers) {
      y_.emplace_back(16, each.weight.rows);
      dx_.emplace_back(16, each.weight.width);
      x_.emplace_back(each.x);
      dy_.emplace_back(each.dy);
    }
    laws::gpu_run_planned([&](motet::cuda::context& ctx) {
      if (ctx.on != nullptr) ctx.on->part<motet::cuda::product_settings>().fp8 = true;
      refresh_weights(ctx);
      const sequences seq{16, 1, nullptr};
      index at = 0;
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
      const auto want = reference(layers[l].x, layers[l].weight, grid<float>(1, layers[l].weight.rows).fill(0), layers[l].dy);
      CHECK(distance(y_[l].back(), want.y) < 1e-6);
      CHECK(distance(dx_[l].back(), want.dx) < 5e-3);
    }
  }
  copies.drop(weights.data());
  laws::gpu().part<motet::cuda::product_settings>().fp8 = false;
}

TEST_CASE("scales follow the largest of the last steps") {
  const index rows = 16, width = 16;
  const auto weight = exact<float>(width, width, 2), bias = exact<float>(1, width, 4);
  const auto dy = exact<bf16>(rows, width, 3);
  // A step that is eight times as large saturates at first; the next one knows.
  auto x = exact<bf16>(rows, width, 1), large = x;
  for (auto& v : large.data) v = bf16(static_cast<float>(v) * 8);
  const on_gpu<float> weight_(weight), y_(rows, width);
  const on_gpu<bf16> small_(x), large_(large);
  const auto want = reference(large, weight, bias, dy);
  laws::gpu().part<motet::cuda::weight_copies>().keep(weight_.data(), width * width);
  const auto step = [&](const on_gpu<bf16>& from) {
    laws::gpu_run_planned([&](motet::cuda::context& ctx) {
      if (ctx.on != nullptr) ctx.on->part<motet::cuda::product_settings>().fp8 = true;
      refresh_weights(ctx);
      const on_gpu<float>& w = weight_;
      linear_forward(ctx, sequences{rows, 1, nullptr}, from.all(), matrix<const float>(w.all()), static_cast<const float*>(nullptr), y_.all());
    });
    return y_.back();
  };
  const auto off = [&](const grid<float>& y) {
    laws::deviation worst;
    for (index r = 0; r < rows; ++r)
      for (index c = 0; c < width; ++c) worst.add_off(y(r, c), want.y(r, c) - bias(0, c), laws::in_matrix(r, c));
    return worst;
  };
  step(small_);
  CHECK(off(step(large_)) > 0.1);
  CHECK(off(step(large_)) < 1e-5);
  laws::gpu().part<motet::cuda::weight_copies>().drop(weight_.data());
  laws::gpu().part<motet::cuda::product_settings>().fp8 = false;
}

}  // namespace motet
