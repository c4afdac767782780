// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device/context.hpp>
#include <motet/tensor/view.hpp>

#include <cstring>

// Flat numbers between the memory that operations work on and the host's, which here are one.

namespace motet::cpu {

// to = from. [all]
template <class T>
void copy(context& ctx, const T* from, T* to, isize count) {
  if (ctx.measuring()) return;
  synchronize(ctx);
  const interval own = ctx.own(count, 64);
  if (own.size() > 0 && from != to)
    std::memmove(static_cast<void*>(to + own.begin), static_cast<const void*>(from + own.begin),
                 as_size(own.size()) * sizeof(T));
  synchronize(ctx);
}
// to += from. [all]
template <class T>
void accumulate(context& ctx, const T* from, T* to, isize count) {
  if (ctx.measuring()) return;
  synchronize(ctx);
  const interval own = ctx.own(count);
  for (isize i = own.begin; i < own.end; ++i) to[i] += from[i];
  synchronize(ctx);
}
// Matrices have gaps, which stay as they are. [all]
template <class T>
void copy(context& ctx, const matrix<const T>& from, const matrix<T>& to) {
  if (ctx.measuring()) return;
  synchronize(ctx);
  const interval own = ctx.own(from.rows, 1);
  const auto bytes = as_size(from.width) * sizeof(T);
  for (isize r = own.begin; bytes > 0 && r < own.end; ++r) std::memcpy(to.row(r), from.row(r), bytes);
  synchronize(ctx);
}
// to += what an operation found. [all]
inline void add_number(context& ctx, real found, double* to) {
  if (ctx.measuring()) return;
  synchronize(ctx);
  if (ctx.thread == 0) *to += found;
  synchronize(ctx);
}
// The number there as what an operation finds.
inline real real_at(context&, double* from) { return *from; }
// From the host's memory, which may change afterwards; into it, where it is when this returns.
template <class T>
void upload(context& ctx, const T* from, T* to, isize count) {
  copy(ctx, from, to, count);
}
template <class T>
void download(context& ctx, const T* from, T* to, isize count) {
  copy(ctx, from, to, count);
}
// Where products keep copies of weights, they follow the weights.
inline void refresh_weights(context&) {}
// Somebody else than adamw wrote these weights.
template <class T>
void weights_changed(context&, const T*, isize) {}
// Two sums on their way to the host, which numbers_of() waits for: what is begun in between waits for nobody.
// [all]
struct coming_numbers {
  real first = 0, second = 0;
};
inline coming_numbers begin_numbers(context&, real first, real second) { return {first, second}; }
inline coming_numbers numbers_of(context&, const coming_numbers& coming) { return coming; }
// A back end that can record work and give it again as a whole does so; here it is done. See the twin in
// cuda/device/recorder.hpp.
template <class Shape, class Work, class... State>
void run_recorded(context& ctx, Shape&&, Work&& work, State&...) {
  work(ctx);
}
inline void forget_recorded(context&) {}
// All that was begun is done.
inline void finish(context& ctx) { synchronize(ctx); }

}  // namespace motet::cpu
