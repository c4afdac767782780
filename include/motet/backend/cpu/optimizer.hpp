// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/adamw_step.hpp>
#include <motet/backend/cpu/row_kernels.hpp>

#include <cmath>
#include <type_traits>

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

using motet::adamw_step;

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

// The number there is no larger than this afterwards.
template <class T>
void clamp_to(context& ctx, T* at, std::type_identity_t<T> most) {
  if (ctx.measuring()) return;
  synchronize(ctx);
  if (ctx.thread == 0 && *at > most) *at = most;
  synchronize(ctx);
}

}  // namespace motet::cpu
