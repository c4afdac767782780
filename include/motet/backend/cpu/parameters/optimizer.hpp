// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/flat_runs.hpp>
#include <motet/backend/core/update_step.hpp>
#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>

#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

namespace motet::cpu {

// What updates do with numbers that follow each other.
template <class T>
struct update_kernel {
  static double squares(const T* data, isize count);
  static void adamw(T* weight, T* gradient, T* first, T* second, isize count, T keep, T take, T root, T clip,
                    T epsilon, T new1, T old2, T new2, bool clear);
  static void lion(T* weight, T* gradient, T* first, isize count, T keep, T take, T clip, T new1, T new2,
                   bool clear);
  static void average(const T* weight, T* mean, isize count, T fresh);
};

template <class T>
void zero(context& ctx, T* data, isize count) {
  ctx.note("zero", 0, static_cast<double>(count) * bytes_of<T>);
  if (ctx.measuring()) return;
  synchronize(ctx);
  const interval own = ctx.own(count);
  if (own.size() > 0) std::memset(static_cast<void*>(data + own.begin), 0, as_size(own.size()) * sizeof(T));
  synchronize(ctx);
}

// The same number on every thread; it depends on the number of threads only by rounding in double.
template <class T>
double sum_of_squares(context& ctx, const T* data, isize count) {
  ctx.note("sum_of_squares", 2 * static_cast<double>(count), static_cast<double>(count) * bytes_of<T>);
  if (ctx.measuring()) return 0;
  synchronize(ctx);
  const interval own = ctx.own(count);
  const double sum = update_kernel<T>::squares(data + own.begin, own.size());
  if (ctx.crew == nullptr || ctx.threads == 1) return sum;
  ctx.crew->slot(ctx.thread) = sum;
  synchronize(ctx);
  double total = 0;
  for (int t = 0; t < ctx.threads; ++t) total += ctx.crew->slot(t);
  synchronize(ctx);
  return total;
}

// Parts whose squares are added up together, in their order.
template <class T>
class flat_list {
 public:
  flat_list() = default;
  explicit flat_list(std::vector<flat_run<T>> runs) : all_(std::move(runs)) {}
  void prepare(context&) const {}
  const std::vector<flat_run<T>>& all() const { return all_; }

 private:
  std::vector<flat_run<T>> all_;
};
template <class T>
double sum_of_squares(context& ctx, const flat_list<T>& list) {
  double sum = 0;
  for (const flat_run<T>& each : list.all()) sum += sum_of_squares(ctx, each.data, each.count);
  return sum;
}

using motet::update_step, motet::update_sums;

// AdamW (Loshchilov and Hutter), with decoupled decay and epsilon outside the root. With `clear` the gradient
// is left zero for the next step.
template <class T>
void adamw(context& ctx, T* weight, T* gradient, T* first, T* second, isize count, const update_step& step,
           bool clear) {
  ctx.note("adamw", 12 * static_cast<double>(count),
           (clear ? 8 : 7) * static_cast<double>(count) * bytes_of<T>);
  if (ctx.measuring()) return;
  synchronize(ctx);
  const interval own = ctx.own(count);
  update_kernel<T>::adamw(weight + own.begin, gradient + own.begin, first + own.begin, second + own.begin,
                          own.size(), T(1 - step.rate * step.decay), T(step.rate / step.correction1),
                          T(1 / std::sqrt(step.correction2)), T(step.clip_scale), T(step.epsilon),
                          T(1 - step.beta1), T(step.beta2), T(1 - step.beta2), clear);
  synchronize(ctx);
}

// Lion (Chen and others, 2023): each number moves by the rate, in the direction of the sign of a mean of its
// gradient and the moment; the moment then follows the gradient more slowly. Decay is decoupled.
template <class T>
void lion(context& ctx, T* weight, T* gradient, T* first, isize count, const update_step& step, bool clear) {
  ctx.note("lion", 10 * static_cast<double>(count),
           (clear ? 6 : 5) * static_cast<double>(count) * bytes_of<T>);
  if (ctx.measuring()) return;
  synchronize(ctx);
  const interval own = ctx.own(count);
  update_kernel<T>::lion(weight + own.begin, gradient + own.begin, first + own.begin, own.size(),
                         T(1 - step.rate * step.decay), T(step.rate), T(step.clip_scale), T(1 - step.beta1),
                         T(1 - step.beta2), clear);
  synchronize(ctx);
}

// One update moves the runs of a list; their memory may be there only when the list is first used.
template <class T>
class update_list {
 public:
  update_list() = default;
  explicit update_list(std::vector<update_run<T>> runs) : all_(std::move(runs)) {}
  void prepare(context&) const {}
  const std::vector<update_run<T>>& all() const { return all_; }

 private:
  std::vector<update_run<T>> all_;
};
namespace detail {

// move(run, its own step) of each run that is moved here.
template <class T, class Move>
void move_each(context& ctx, const update_list<T>& list, const update_step& step, Move&& move) {
  for (const update_run<T>& each : list.all()) {
    update_step own = step;
    own.rate *= each.rate;
    if (!each.decays) own.decay = 0;
    if (each.only_clears) zero(ctx, each.gradient, each.count);
    else move(each, own);
  }
}

}  // namespace detail

// Leaves all gradients zero. step.decay is that of the runs that decay.
template <class T>
void adamw(context& ctx, const update_list<T>& list, const update_step& step) {
  detail::move_each(ctx, list, step, [&](const update_run<T>& run, const update_step& own) {
    adamw(ctx, run.weight, run.gradient, run.first, run.second, run.count, own, true);
  });
}
// Clips by these sums. Where they allow no update, weights, moments and gradients stay as they are.
template <class T>
void adamw(context& ctx, const update_list<T>& list, update_step step, const real& loss, const real& squares,
           double clip) {
  const update_sums by{loss, squares, clip};
  if (!by.allow()) return;
  step.clip_scale = by.scale();
  adamw(ctx, list, step);
}
template <class T>
void lion(context& ctx, const update_list<T>& list, const update_step& step) {
  detail::move_each(ctx, list, step, [&](const update_run<T>& run, const update_step& own) {
    lion(ctx, run.weight, run.gradient, run.first, run.count, own, true);
  });
}
template <class T>
void lion(context& ctx, const update_list<T>& list, update_step step, const real& loss, const real& squares,
          double clip) {
  const update_sums by{loss, squares, clip};
  if (!by.allow()) return;
  step.clip_scale = by.scale();
  lion(ctx, list, step);
}

// The number there is no larger than this afterwards.
template <class T>
void clamp_to(context& ctx, T* at, std::type_identity_t<T> most) {
  if (ctx.measuring()) return;
  synchronize(ctx);
  if (ctx.thread == 0 && *at > most) *at = most;
  synchronize(ctx);
}

// Nothing is clamped where the sums do not allow an update.
template <class T>
void clamp_to(context& ctx, T* at, std::type_identity_t<T> most, const real& loss, const real& squares) {
  if (update_sums{loss, squares}.allow()) clamp_to(ctx, at, most);
}

}  // namespace motet::cpu

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/rows/optimizer.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu {

template <class T>
double update_kernel<T>::squares(const T* data, isize count) {
  double sum = 0;
  MOTET_SIMD_DISPATCH(sum =, squares_of(data, count));
  return sum;
}
template <class T>
void update_kernel<T>::adamw(T* weight, T* gradient, T* first, T* second, isize count, T keep, T take, T root,
                             T clip, T epsilon, T new1, T old2, T new2, bool clear) {
  MOTET_SIMD_DISPATCH(, adamw_values(weight, gradient, first, second, count, keep, take, root, clip, epsilon,
                                     new1, old2, new2, clear));
}
template <class T>
void update_kernel<T>::lion(T* weight, T* gradient, T* first, isize count, T keep, T take, T clip, T new1,
                            T new2, bool clear) {
  MOTET_SIMD_DISPATCH(, lion_values(weight, gradient, first, count, keep, take, clip, new1, new2, clear));
}
template <class T>
void update_kernel<T>::average(const T* weight, T* mean, isize count, T fresh) {
  MOTET_SIMD_DISPATCH(, average_values(weight, mean, count, fresh));
}

}  // namespace motet::cpu
#endif
