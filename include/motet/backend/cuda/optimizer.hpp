// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/adamw_step.hpp>
#include <motet/backend/amounts.hpp>
#include <motet/backend/cuda/runs.hpp>
#include <motet/backend/cuda/sums.hpp>

#include <cmath>
#include <type_traits>

// Flat buffers of parameters. All of these move each byte once, sixteen at a time, and are as quick as the memory: zero writes them, sum_of_squares
// reads them, adamw reads four arrays and writes three, or four where it leaves the gradient zero.

namespace motet::cuda {

namespace detail {

// What of a flat buffer may be moved in packs: all but the elements before the first multiple of 16 bytes, and those after the last.
struct flat_packs {
  index head = 0, packs = 0;
};
// Of buffers that are walked together, which must begin alike.
template <class T, class... More>
flat_packs packs_of(index count, const T* data, const More*... more) {
  const auto phase = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) % 16; };
  constexpr auto size = static_cast<std::uintptr_t>(sizeof(T));
  if (((phase(data) != phase(more)) || ...) || phase(data) % size != 0) return {count, 0};
  const index head = static_cast<index>((16 - phase(data)) % 16 / size);
  if (count <= head) return {count, 0};
  return {head, (count - head) / pack<T>::size};
}

// Each block's part, in double, and in an order that only the count decides.
template <class T>
struct squares_of_part {
  static constexpr int most_threads = 256, at_once = 4;
  const T* data;
  index count;
  flat_packs in;
  double* parts;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    constexpr int size = pack<T>::size;
    double* const scratch = self.template shared<double>(warp_size);
    const index all = self.all();
    const T* const from = data + in.head;
    double sums[size] = {};
    index i = self.number();
    for (; i + (at_once - 1) * all < in.packs; i += at_once * all) {
      pack<T> x[at_once];
      MOTET_UNROLLED
      for (int n = 0; n < at_once; ++n) x[n] = load_pack(from + (i + n * all) * size);
      MOTET_UNROLLED
      for (int n = 0; n < at_once; ++n) add(x[n], sums);
    }
    for (; i < in.packs; i += all) add(load_pack(from + i * size), sums);
    double sum = 0;
    MOTET_UNROLLED
    for (int k = 0; k < size; ++k) sum += sums[k];
    for (index e = self.number(); e < in.head; e += all) sum += square(data[e]);
    for (index e = in.head + in.packs * size + self.number(); e < count; e += all) sum += square(data[e]);
    sum = block_sum(self, sum, scratch);
    if (self.thread() == 0) parts[self.block()] = sum;
  }

 private:
  MOTET_HOST_DEVICE static double square(T x) { return static_cast<double>(x) * static_cast<double>(x); }
  MOTET_HOST_DEVICE static void add(const pack<T>& x, double* sums) {
    MOTET_UNROLLED
    for (int k = 0; k < pack<T>::size; ++k) sums[k] += square(x.of[k]);
  }
};

// The numbers of an update as the elements need them.
template <class T>
struct adamw_factors {
  T keep, take, root, clip, epsilon, new1, old2, new2;
  explicit adamw_factors(const adamw_step& step)
      : keep(T(1 - step.rate * step.decay)),
        take(T(step.rate / step.correction1)),
        root(T(1 / std::sqrt(step.correction2))),
        clip(T(step.clip_scale)),
        epsilon(T(step.epsilon)),
        new1(T(1 - step.beta1)),
        old2(T(step.beta2)),
        new2(T(1 - step.beta2)) {}
  MOTET_HOST_DEVICE void turn(T& weight, T gradient, T& first, T& second) const {
    const T g = gradient * clip;
    first = (g - first) * new1 + first;
    second = g * g * new2 + second * old2;
    weight = weight * keep - first * take / (std::sqrt(second) * root + epsilon);
  }
};

// The weights' copy is made from registers: two bytes written more, none read.
template <class T, bool Clear, class Copy>
struct adamw_values {
  static constexpr int most_threads = 256;
  T *weight, *gradient, *first, *second;
  Copy* copy;  // or none
  index count;
  flat_packs in;
  adamw_factors<T> by;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    constexpr int size = pack<T>::size;
    for (index i = self.number(); i < in.packs; i += self.all()) {
      const index at = in.head + i * size;
      pack<T> w = load_pack(weight + at), m = load_pack(first + at), v = load_pack(second + at);
      const pack<T> g = load_pack(gradient + at);
      run<T, size> narrow;
      MOTET_UNROLLED
      for (int k = 0; k < size; ++k) {
        by.turn(w.of[k], g.of[k], m.of[k], v.of[k]);
        narrow.of[k] = w.of[k];
      }
      store_pack(first + at, m);
      store_pack(second + at, v);
      store_pack(weight + at, w);
      if (Clear) store_pack(gradient + at, pack<T>{});
      if (copy != nullptr) store_run(copy + at, narrow);
    }
    for (index e = self.number(); e < in.head; e += self.all()) one(e);
    for (index e = in.head + in.packs * size + self.number(); e < count; e += self.all()) one(e);
  }

 private:
  MOTET_HOST_DEVICE void one(index e) const {
    T w = weight[e], m = first[e], v = second[e];
    by.turn(w, gradient[e], m, v);
    first[e] = m;
    second[e] = v;
    weight[e] = w;
    if (Clear) gradient[e] = T(0);
    if (copy != nullptr) copy[e] = stored_as<Copy>(w);
  }
};

template <class T>
struct clamp_number {
  T* at;
  T most;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    if (self.number() == 0 && *at > most) *at = most;
  }
};

}  // namespace detail

template <class T>
void zero(context& ctx, T* data, index count) {
  ctx.note(0, static_cast<double>(count) * motet::detail::bytes_of<T>);
  if (ctx.measuring() || count == 0) return;
  check(cudaMemsetAsync(static_cast<void*>(data), 0, static_cast<std::size_t>(count) * sizeof(T), ctx.stream()), "cudaMemsetAsync");
}

// In double, as a gradient has many small elements; the same bits in every run.
template <class T>
real sum_of_squares(context& ctx, const T* data, index count) {
  ctx.note(2 * static_cast<double>(count), static_cast<double>(count) * motet::detail::bytes_of<T>);
  if (ctx.measuring() || count == 0) return {};
  using kernel = detail::squares_of_part<T>;
  const real found = ctx.on->take_real();
  double* const parts = ctx.on->template part<detail::partial_sums>().of.data();
  const index blocks = blocks_for(count, kernel::most_threads * kernel::at_once * pack<T>::size, detail::partial_sums::most);
  launch(ctx.stream(), {blocks, kernel::most_threads, block_scratch<double>}, kernel{data, count, detail::packs_of(count, data), parts});
  detail::add_up(ctx, parts, blocks, 1, found);
  return found;
}

using motet::adamw_step;

// AdamW (Loshchilov and Hutter), with decoupled decay and epsilon outside the root. With `clear` the gradient is left zero for the next step. With
// `copy` the new weights are written there, too, narrower: what matrix products read.
template <class T>
void adamw(context& ctx, T* weight, T* gradient, T* first, T* second, index count, const adamw_step& step, bool clear, bf16* copy = nullptr) {
  const double bytes = (clear ? 8 : 7) * motet::detail::bytes_of<T> + (copy != nullptr ? motet::detail::bytes_of<bf16> : 0);
  ctx.note(12 * static_cast<double>(count), bytes * static_cast<double>(count));
  if (ctx.measuring() || count == 0) return;
  auto in = detail::packs_of(count, static_cast<const T*>(weight), gradient, first, second);
  constexpr auto narrow = sizeof(bf16) * static_cast<std::size_t>(pack<T>::size);
  if (reinterpret_cast<std::uintptr_t>(copy + (copy != nullptr ? in.head : 0)) % narrow != 0) in = {count, 0};
  const auto start = [&](const auto& kernel) { launch(ctx.stream(), {blocks_for(count, 256 * pack<T>::size, 132 * 32), 256, 0}, kernel); };
  const detail::adamw_factors<T> by(step);
  if (clear) start(detail::adamw_values<T, true, bf16>{weight, gradient, first, second, copy, count, in, by});
  else start(detail::adamw_values<T, false, bf16>{weight, gradient, first, second, copy, count, in, by});
}

// The number there is no larger than this afterwards.
template <class T>
void clamp_to(context& ctx, T* at, std::type_identity_t<T> most) {
  if (!ctx.measuring()) launch(ctx.stream(), {1, warp_size, 0}, detail::clamp_number<T>{at, most});
}

}  // namespace motet::cuda
