// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/row_kernels.hpp>

#include <cmath>

#define MOTET_SIMD_BODY <motet/backend/cpu/optimizer_kernels.inc>
#include <motet/backend/cpu/simd_each.inc>

namespace motet::cpu {

template <class T>
void zero(context& ctx, T* data, index count) {
  ctx.note(0, static_cast<double>(count) * detail::bytes_of<T>);
  if (ctx.measuring()) return;
  synchronize(ctx);
  const interval own = ctx.own(count);
  if (own.size() > 0) std::memset(static_cast<void*>(data + own.begin), 0, static_cast<std::size_t>(own.size()) * sizeof(T));
  synchronize(ctx);
}

// The same number on every thread; it depends on the number of threads only by rounding in double.
template <class T>
double sum_of_squares(context& ctx, const T* data, index count) {
  ctx.note(2 * static_cast<double>(count), static_cast<double>(count) * detail::bytes_of<T>);
  if (ctx.measuring()) return 0;
  synchronize(ctx);
  const interval own = ctx.own(count);
  double sum = 0;
  MOTET_SIMD_DISPATCH(sum =, squares_of(data + own.begin, own.size()));
  if (ctx.crew == nullptr || ctx.threads == 1) return sum;
  ctx.crew->slot(ctx.thread) = sum;
  synchronize(ctx);
  double total = 0;
  for (int t = 0; t < ctx.threads; ++t) total += ctx.crew->slot(t);
  synchronize(ctx);
  return total;
}

struct adamw_step {
  double rate = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double decay = 0;
  double clip_scale = 1;   // the gradient is multiplied by this first
  double correction1 = 1;  // 1 - beta1^t
  double correction2 = 1;  // 1 - beta2^t
};

// AdamW (Loshchilov and Hutter), with decoupled decay and epsilon outside the root. With `clear` the gradient is left zero for the next step.
template <class T>
void adamw(context& ctx, T* weight, T* gradient, T* first, T* second, index count, const adamw_step& step, bool clear) {
  ctx.note(12 * static_cast<double>(count), (clear ? 8 : 7) * static_cast<double>(count) * detail::bytes_of<T>);
  if (ctx.measuring()) return;
  synchronize(ctx);
  const interval own = ctx.own(count);
  MOTET_SIMD_DISPATCH(, adamw_values(weight + own.begin, gradient + own.begin, first + own.begin, second + own.begin, own.size(),
                                     T(1 - step.rate * step.decay), T(step.rate / step.correction1), T(1 / std::sqrt(step.correction2)),
                                     T(step.clip_scale), T(step.epsilon), T(1 - step.beta1), T(step.beta2), T(1 - step.beta2), clear));
  synchronize(ctx);
}

}  // namespace motet::cpu
