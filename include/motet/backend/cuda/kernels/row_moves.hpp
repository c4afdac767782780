// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/cuda/device/context.hpp>

// Rows that are copied, converted or added on their way between ranks. Memory's bandwidth decides: a row of n
// bytes is read once and written once, in pieces of 16 bytes, which neighbouring threads take.

namespace motet::cuda {

// Rows are dealt to teams of 2^shift threads, each of which walks over `steps` pieces of a row.
struct row_walk {
  isize rows = 0, steps = 0;
  int shift = 0;

  row_walk(isize row_count, isize step_count) : rows(row_count), steps(step_count) {
    while (shift < 8 && (isize{1} << shift) < steps) ++shift;
  }
  grid shape() const { return {blocks_for(steps == 0 ? 0 : rows, 256 >> shift), 256, 0}; }
};

// A thread moves so many elements at once that all types fill whole packs.
template <class... T>
constexpr int pack_of() {
  int most = 1;
  ((most = pack<std::remove_const_t<T>>::size > most ? pack<std::remove_const_t<T>>::size : most), ...);
  return most;
}
template <int Each, class T>
MOTET_HOST_DEVICE void load_each(const T* from, T* to) {
  if constexpr (Each == 1) {
    to[0] = from[0];
  } else {
    constexpr int size = pack<T>::size;
    MOTET_UNROLLED
    for (int p = 0; p < Each; p += size) {
      const pack<T> some = load_pack(from + p);
      MOTET_UNROLLED
      for (int i = 0; i < size; ++i) to[p + i] = some.of[i];
    }
  }
}
template <int Each, class T>
MOTET_HOST_DEVICE void store_each(T* to, const T* from) {
  if constexpr (Each == 1) {
    to[0] = from[0];
  } else {
    constexpr int size = pack<T>::size;
    MOTET_UNROLLED
    for (int p = 0; p < Each; p += size) {
      pack<T> some;
      MOTET_UNROLLED
      for (int i = 0; i < size; ++i) some.of[i] = from[p + i];
      store_pack(to + p, some);
    }
  }
}
// Whole numbers are only ever copied.
template <class Y, class X>
MOTET_HOST_DEVICE Y converted(X value) {
  if constexpr (std::is_same_v<X, Y>) return value;
  else return static_cast<Y>(static_cast<arithmetic<X, Y>>(value));
}
template <int Each, class X, class Y>
MOTET_HOST_DEVICE void convert_each(const X* from, Y* to) {
  X in[Each];
  Y out[Each];
  load_each<Each>(from, in);
  MOTET_UNROLLED
  for (int i = 0; i < Each; ++i) out[i] = converted<Y>(in[i]);
  store_each<Each>(to, out);
}

namespace detail {

template <int Each, class X, class Y>
struct convert_rows_kernel {
  static constexpr int most_threads = 256;
  const X* x;
  Y* y;
  isize x_stride, y_stride;
  row_walk walk;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize r = self.number() >> walk.shift; r < walk.rows; r += self.all() >> walk.shift)
      for (isize i = self.number() & ((isize{1} << walk.shift) - 1); i < walk.steps;
           i += isize{1} << walk.shift)
        convert_each<Each>(x + r * x_stride + i * Each, y + r * y_stride + i * Each);
  }
};
template <int Each, class A, class B, class Y>
struct sum_rows_kernel {
  static constexpr int most_threads = 256;
  const A* a;
  const B* b;
  Y* y;
  isize a_stride, b_stride, y_stride;
  row_walk walk;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    using number = arithmetic<A, B, Y>;
    for (isize r = self.number() >> walk.shift; r < walk.rows; r += self.all() >> walk.shift)
      for (isize i = self.number() & ((isize{1} << walk.shift) - 1); i < walk.steps;
           i += isize{1} << walk.shift) {
        A left[Each];
        B right[Each];
        Y out[Each];
        load_each<Each>(a + r * a_stride + i * Each, left);
        load_each<Each>(b + r * b_stride + i * Each, right);
        MOTET_UNROLLED
        for (int e = 0; e < Each; ++e)
          out[e] = static_cast<Y>(static_cast<number>(left[e]) + static_cast<number>(right[e]));
        store_each<Each>(y + r * y_stride + i * Each, out);
      }
  }
};

// Rows that change places: y.row(to) = x.row(r) with `scatters`, else y.row(r) = x.row(to), where to =
// positions[r] / divisor, and negative ones mean none.
template <int Each, class X, class Y>
struct map_rows_kernel {
  static constexpr int most_threads = 256;
  const X* x;
  Y* y;
  isize x_stride, y_stride;
  row_walk walk;
  const std::int32_t* positions;
  std::int32_t divisor;
  const isize* count;  // so many rows have a position; null: all
  bool scatters;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize rows = count == nullptr || *count > walk.rows ? walk.rows : *count;
    for (isize r = self.number() >> walk.shift; r < rows; r += self.all() >> walk.shift) {
      const std::int32_t position = positions[r];
      if (position < 0) continue;
      const isize to = static_cast<isize>(divisor == 1 ? position : position / divisor);
      const X* const from = x + (scatters ? r : to) * x_stride;
      Y* const into = y + (scatters ? to : r) * y_stride;
      for (isize i = self.number() & ((isize{1} << walk.shift) - 1); i < walk.steps;
           i += isize{1} << walk.shift)
        convert_each<Each>(from + i * Each, into + i * Each);
    }
  }
};

}  // namespace detail

// Rows can be moved in pieces of Each elements where they begin at 16 bytes and nothing is left over.
template <int Each, class T>
bool in_pieces(const T* data, isize width, isize stride) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && width % Each == 0 && stride % Each == 0;
}

// y = x, converting; y may be the memory of x.
template <class X, class Y>
void convert_rows(context& ctx, matrix<X> x, matrix<Y> y) {
  using from = std::remove_const_t<X>;
  if constexpr (std::is_integral_v<Y>)
    static_assert(std::is_same_v<from, Y>, "motet: whole numbers are moved as they are");
  if (y.rows == 0 || y.width == 0 || (static_cast<const void*>(x.data) == y.data && std::is_same_v<from, Y>))
    return;
  constexpr int each = pack_of<from, Y>();
  const auto run = [&]<int Each>() {
    const row_walk walk(y.rows, y.width / Each);
    launch(ctx.stream(), walk.shape(),
           detail::convert_rows_kernel<Each, from, Y>{x.data, y.data, x.stride, y.stride, walk});
  };
  if (in_pieces<each>(x.data, y.width, x.stride) && in_pieces<each>(y.data, y.width, y.stride))
    run.template operator()<each>();
  else run.template operator()<1>();
}

// y = a + b; y may be the memory of either.
template <class A, class B, class Y>
void sum_rows(context& ctx, matrix<A> a, matrix<B> b, matrix<Y> y) {
  if (y.rows == 0 || y.width == 0) return;
  using left = std::remove_const_t<A>;
  using right = std::remove_const_t<B>;
  constexpr int each = pack_of<left, right, Y>();
  const auto run = [&]<int Each>() {
    const row_walk walk(y.rows, y.width / Each);
    launch(ctx.stream(), walk.shape(),
           detail::sum_rows_kernel<Each, left, right, Y>{a.data, b.data, y.data, a.stride, b.stride, y.stride,
                                                         walk});
  };
  if (in_pieces<each>(a.data, y.width, a.stride) && in_pieces<each>(b.data, y.width, b.stride) &&
      in_pieces<each>(y.data, y.width, y.stride))
    run.template operator()<each>();
  else run.template operator()<1>();
}

// Each of `rows` rows goes to its position, or comes from there; `count` is where the GPU finds how many
// there are, or none.
template <class X, class Y>
void map_rows(context& ctx, bool scatters, isize rows, const std::int32_t* positions, std::int32_t divisor,
              const isize* count, matrix<X> x, matrix<Y> y) {
  if (rows == 0 || y.width == 0) return;
  using from = std::remove_const_t<X>;
  constexpr int each = pack_of<from, Y>();
  const auto run = [&]<int Each>() {
    const row_walk walk(rows, y.width / Each);
    launch(ctx.stream(), walk.shape(),
           detail::map_rows_kernel<Each, from, Y>{x.data, y.data, x.stride, y.stride, walk, positions,
                                                  divisor, count, scatters});
  };
  if (in_pieces<each>(x.data, y.width, x.stride) && in_pieces<each>(y.data, y.width, y.stride))
    run.template operator()<each>();
  else run.template operator()<1>();
}

}  // namespace motet::cuda
