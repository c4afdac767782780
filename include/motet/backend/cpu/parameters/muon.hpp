// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/parameters/optimizer.hpp>
#include <motet/backend/cpu/products/linear.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace motet::cpu {

namespace detail {

// body(element) of this thread's elements, between two meetings of all.
template <class Body>
void each_element(context& ctx, isize count, Body&& body) {
  if (ctx.measuring()) return;
  synchronize(ctx);
  const interval own = ctx.own(count);
  for (isize i = own.begin; i < own.end; ++i) body(i);
  synchronize(ctx);
}

}  // namespace detail

// x becomes nearly the orthogonal matrix next to it: singular values of what has the norm 1 go to between 0.7
// and 1.2, by five steps of an odd polynomial of Newton and Schulz's kind whose slope at zero is steep
// (Jordan and others, 2024). The products are of the smaller side, so that no matrix is turned over. `other`:
// as large as x; the result is there. gram, square: of the smaller side, squared.
template <class T>
void orthogonalise(context& ctx, matrix<T> x, matrix<T> other, matrix<T> gram, matrix<T> square) {
  constexpr double a = 3.4445, b = -4.7750, c = 2.0315;
  constexpr int steps = 5;  // an odd number, as the result is in `other`
  const bool tall = x.rows > x.width;
  const sequences rows{x.rows, 1, nullptr}, side{gram.rows, 1, nullptr};
  for (int k = 0; k < steps; ++k) {
    if (tall) {
      zero(ctx, gram.data, gram.rows * gram.width);
      linear_backward_weight(ctx, x, x, gram, static_cast<T*>(nullptr));
    } else {
      linear_forward(ctx, rows, x, x, static_cast<const T*>(nullptr), gram);
    }
    synchronize(ctx);
    linear_forward(ctx, side, gram, gram, static_cast<const T*>(nullptr), square);
    detail::each_element(ctx, gram.rows * gram.width, [&](isize i) {
      const T own = i % (gram.width + 1) == 0 ? T(a) : T(0);
      square.data[i] = own + T(b) * gram.data[i] + T(c) * square.data[i];
    });
    if (tall) linear_forward(ctx, rows, x, square, static_cast<const T*>(nullptr), other);
    else linear_backward_input(ctx, rows, square, x, other);
    synchronize(ctx);
    std::swap(x, other);
  }
}

// Muon (Jordan and others, 2024) of one matrix: what Nesterov's momentum would move it by is made orthogonal,
// and long enough that numbers move as far as AdamW moves them (Liu and others, 2025), so that both share a
// rate and a decay. Leaves the gradient zero.
template <class T>
void muon(context& ctx, matrix<T> weight, T* gradient, T* first, const update_step& step) {
  const isize count = weight.rows * weight.width, least = std::min(weight.rows, weight.width);
  ctx.note("muon", 12 * static_cast<double>(count), 11 * static_cast<double>(count) * bytes_of<T>);
  const isize mark = ctx.memory.mark();
  const auto room = [&](isize rows, isize width) {
    return matrix<T>{ctx.memory.template take<T>(rows * width), rows, width, width};
  };
  const matrix<T> turn = room(weight.rows, weight.width), other = room(weight.rows, weight.width);
  const matrix<T> gram = room(least, least), square = room(least, least);
  const T clip = T(step.clip_scale), old = T(step.momentum), fresh = T(1 - step.momentum);
  detail::each_element(ctx, count, [&](isize i) {
    const T g = gradient[i] * clip;
    first[i] = old * first[i] + fresh * g;
    turn.data[i] = old * first[i] + fresh * g;
  });
  const double length = std::sqrt(sum_of_squares(ctx, static_cast<const T*>(turn.data), count));
  const T unit = T(1 / (length + 1e-12));
  detail::each_element(ctx, count, [&](isize i) { turn.data[i] *= unit; });
  orthogonalise(ctx, turn, other, gram, square);
  const double far = 0.2 * std::sqrt(static_cast<double>(std::max(weight.rows, weight.width)));
  const T keep = T(1 - step.rate * step.decay), take = T(step.rate * far);
  detail::each_element(ctx, count, [&](isize i) {
    weight.data[i] = weight.data[i] * keep - take * other.data[i];
    gradient[i] = 0;
  });
  release(ctx, mark);
}
template <class T>
void muon(context& ctx, std::span<const matrix_run<T>> runs, const update_step& step) {
  for (const matrix_run<T>& each : runs) {
    update_step own = step;
    own.rate *= each.rate;
    if (!each.decays) own.decay = 0;
    for (isize k = 0; k < each.count; ++k) {
      const isize at = k * each.rows * each.width;
      muon(ctx, matrix<T>{each.weight + at, each.rows, each.width, each.width}, each.gradient + at,
           each.first + at, own);
    }
  }
}
// Clips by these sums, as adamw() does.
template <class T>
void muon(context& ctx, std::span<const matrix_run<T>> runs, update_step step, const real& loss,
          const real& squares, double clip) {
  const update_sums by{loss, squares, clip};
  if (!by.allow()) return;
  step.clip_scale = by.scale();
  muon(ctx, runs, step);
}

}  // namespace motet::cpu
