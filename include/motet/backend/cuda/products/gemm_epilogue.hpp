// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/cuda/device/launch.hpp>
#include <motet/backend/cuda/kernels/activation_math.hpp>
#include <motet/backend/cuda/kernels/runs.hpp>
#include <motet/tensor/dtype.hpp>

namespace motet::cuda {

// An epilogue carries the code of an activation, forward or backward; a product without activation compiles
// none.
enum class epilogue_mode : int { linear, forward, backward };

// An epilogue finishes a sum before it is stored. All pieces are optional; in this order:
//   v = sum + bias[j]
//   forward:  pre[i, j] = v;  v = activation(v)
//   backward: v = v * activation'(pre[i, j]);  replayed[i, j] = activation(pre[i, j])
//   out[i, j] = v + residual[i, j] (+ out[i, j] when accumulating)
// `replayed` may be the memory of `pre`, `residual` that of the output.
template <class Sum = float, class Residual = Sum, class Pre = Sum,
          epilogue_mode Mode = epilogue_mode::linear>
struct gemm_epilogue {
  using sum = Sum;
  using residual_number = Residual;
  using pre_number = Pre;
  static constexpr epilogue_mode mode = Mode;

  const Sum* bias = nullptr;
  const Residual* residual = nullptr;
  isize residual_stride = 0;
  activation kind = activation::none;
  Pre* pre = nullptr;  // forward: written, or null; backward: read
  isize pre_stride = 0;
  Pre* replayed = nullptr;
  isize replayed_stride = 0;
  bool accumulate = false;

  // `Count` neighbours go through all pieces but the accumulation. Where `packed`, whole packs are moved.
  template <int Count, bool Packed>
  MOTET_HOST_DEVICE void apply(isize i, isize j, Sum (&v)[Count]) const;
};

// Count neighbours as numbers of N. Packs are a multiple of 16 bytes of each type, at such an address.
template <int Count, bool Packed, class N, class T>
MOTET_HOST_DEVICE void load_values(const T* at, N (&to)[Count]) {
  if constexpr (Packed) {
    constexpr int size = pack<T>::size;
    static_assert(Count % size == 0, "motet: what is moved is whole accesses");
    MOTET_UNROLLED
    for (int p = 0; p < Count / size; ++p) {
      const pack<T> found = load_pack(at + p * size);
      MOTET_UNROLLED
      for (int i = 0; i < size; ++i) to[p * size + i] = static_cast<N>(found.of[i]);
    }
  } else {
    MOTET_UNROLLED
    for (int i = 0; i < Count; ++i) to[i] = static_cast<N>(at[i]);
  }
}
template <int Count, bool Packed, class N, class T>
MOTET_HOST_DEVICE void store_values(const N (&from)[Count], T* at) {
  if constexpr (Packed) {
    constexpr int size = pack<T>::size;
    static_assert(Count % size == 0, "motet: what is moved is whole accesses");
    MOTET_UNROLLED
    for (int p = 0; p < Count / size; ++p) {
      pack<T> made;
      MOTET_UNROLLED
      for (int i = 0; i < size; ++i) made.of[i] = stored_as<T>(from[p * size + i]);
      store_pack(at + p * size, made);
    }
  } else {
    MOTET_UNROLLED
    for (int i = 0; i < Count; ++i) at[i] = stored_as<T>(from[i]);
  }
}

template <class Sum, class Residual, class Pre, epilogue_mode Mode>
template <int Count, bool Packed>
MOTET_HOST_DEVICE void gemm_epilogue<Sum, Residual, Pre, Mode>::apply(isize i, isize j,
                                                                      Sum (&v)[Count]) const {
  if (bias != nullptr) {
    Sum beside[Count];
    load_values<Count, Packed>(bias + j, beside);
    MOTET_UNROLLED
    for (int c = 0; c < Count; ++c) v[c] += beside[c];
  }
  if constexpr (Mode == epilogue_mode::forward) {
    if (pre != nullptr) store_values<Count, Packed>(v, pre + i * pre_stride + j);
    for_activation(kind, [&](auto which) {
      constexpr activation one = decltype(which)::value;
      MOTET_UNROLLED
      for (int c = 0; c < Count; ++c) v[c] = activate(one, v[c]);
    });
  } else if constexpr (Mode == epilogue_mode::backward) {
    Sum before[Count];
    load_values<Count, Packed>(pre + i * pre_stride + j, before);
    for_activation(kind, [&](auto which) {
      constexpr activation one = decltype(which)::value;
      MOTET_UNROLLED
      for (int c = 0; c < Count; ++c) {
        Sum value;
        v[c] *= derivative(one, before[c], value);
        before[c] = value;
      }
    });
    if (replayed != nullptr) store_values<Count, Packed>(before, replayed + i * replayed_stride + j);
  }
  if (residual != nullptr) {
    Sum beside[Count];
    load_values<Count, Packed>(residual + i * residual_stride + j, beside);
    MOTET_UNROLLED
    for (int c = 0; c < Count; ++c) v[c] += beside[c];
  }
}

namespace detail {

// y = epilogue(x) of what a product left, where the library has no such epilogue; without pieces it converts.
// x may be y. It moves each number once: the floor is rows * width * (bytes of x + y + pre + ...) over the
// copy bandwidth. A thread keeps its columns, so a bias is read once for many rows.
template <class X, class Y, class Epilogue, bool Packed>
struct finish_product {
  static constexpr int most_threads = 256;
  static constexpr int each = Packed ? 8 : 1;
  using sum = typename Epilogue::sum;
  const X* x;
  isize x_stride;
  Y* y;
  isize y_stride;
  isize rows, width;
  int across;  // threads side by side
  Epilogue epilogue;

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const int down = self.threads() / across, here = self.thread() / across;
    if (here >= down) return;
    for (isize j = static_cast<isize>(self.thread() % across) * each; j < width;
         j += static_cast<isize>(across) * each) {
      const isize step = self.blocks() * down;
      isize i = self.block() * down + here;
      for (; i + step < rows; i += 2 * step) {  // two rows in flight
        sum v[2][each];
        load_values<each, Packed>(x + i * x_stride + j, v[0]);
        load_values<each, Packed>(x + (i + step) * x_stride + j, v[1]);
        end_row(i, j, v[0]);
        end_row(i + step, j, v[1]);
      }
      if (i < rows) {
        sum v[each];
        load_values<each, Packed>(x + i * x_stride + j, v);
        end_row(i, j, v);
      }
    }
  }
  MOTET_HOST_DEVICE void end_row(isize i, isize j, sum (&v)[each]) const {
    epilogue.template apply<each, Packed>(i, j, v);
    if (epilogue.accumulate) {
      sum old[each];
      load_values<each, Packed>(y + i * y_stride + j, old);
      MOTET_UNROLLED
      for (int c = 0; c < each; ++c) v[c] += old[c];
    }
    store_values<each, Packed>(v, y + i * y_stride + j);
  }
};

// Says whether eight neighbours can be moved in packs.
template <class T>
bool in_eights(const T* data, isize width, isize stride) {
  return data == nullptr ||
         (reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && width % 8 == 0 && stride % 8 == 0);
}

template <class X, class Y, class Epilogue>
void finish(cudaStream_t stream, isize rows, isize width, const X* x, isize x_stride, Y* y, isize y_stride,
            const Epilogue& epilogue) {
  if (rows <= 0 || width <= 0) return;
  const bool packed = in_eights(x, width, x_stride) && in_eights(y, width, y_stride) &&
                      in_eights(epilogue.bias, width, 0) &&
                      in_eights(epilogue.residual, width, epilogue.residual_stride) &&
                      in_eights(epilogue.pre, width, epilogue.pre_stride) &&
                      in_eights(epilogue.replayed, width, epilogue.replayed_stride);
  const isize pieces = packed ? width / 8 : width;
  const int across = pieces < 256 ? static_cast<int>(pieces) : 256;
  const grid shape{blocks_for(rows, 256 / across), 256, 0};
  if (packed)
    launch(stream, shape,
           finish_product<X, Y, Epilogue, true>{x, x_stride, y, y_stride, rows, width, across, epilogue});
  else
    launch(stream, shape,
           finish_product<X, Y, Epilogue, false>{x, x_stride, y, y_stride, rows, width, across, epilogue});
}

// Calls pass(rows, width, first, x_stride, y_stride) for each pass that a conversion takes: over one long row
// where nothing lies between the rows.
template <class Pass>
void each_conversion(isize rows, isize width, isize x_stride, isize y_stride, Pass&& pass) {
  if (rows <= 0 || width <= 0) return;
  if (x_stride != width || y_stride != width || rows == 1)
    return pass(rows, width, isize(0), x_stride, y_stride);
  constexpr isize side = 8 * 256;
  const isize all = rows * width, whole = all / side * side, left = all - whole;
  if (whole > 0) pass(whole / side, side, isize(0), side, side);
  if (left > 0) pass(isize(1), left, whole, left, left);
}

// y = x in another type.
template <class X, class Y>
void convert(cudaStream_t stream, isize rows, isize width, const X* x, isize x_stride, Y* y, isize y_stride) {
  each_conversion(
      rows, width, x_stride, y_stride, [&](isize down, isize across, isize first, isize from, isize to) {
        finish(stream, down, across, x + first, from, y + first, to, gemm_epilogue<arithmetic<X, Y>>{});
      });
}

}  // namespace detail
}  // namespace motet::cuda
