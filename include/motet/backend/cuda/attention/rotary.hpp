// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/cuda/device/context.hpp>
#include <motet/nn/core/operations.hpp>
#include <motet/tensor/row_parts.hpp>
#include <motet/tensor/sequences.hpp>
#include <motet/tensor/view.hpp>

#include <cmath>
#include <type_traits>

namespace motet::cuda {
namespace detail {

// Whole turns are taken off in double, or far positions would lose their angle.
MOTET_HOST_DEVICE inline void sine_and_cosine(double angle, float& sine, float& cosine) {
  const double turns = angle * 0.15915494309189533577;
  const float half_turns = static_cast<float>(2 * (turns - ::rint(turns)));
#if defined(__CUDA_ARCH__)
  ::sincospif(half_turns, &sine, &cosine);  // has no branch for large angles, unlike sinf
#else
  sine = ::sinf(half_turns * 3.14159265358979f);
  cosine = ::cosf(half_turns * 3.14159265358979f);
#endif
}
MOTET_HOST_DEVICE inline void sine_and_cosine(double angle, double& sine, double& cosine) {
  sine = ::sin(angle);
  cosine = ::cos(angle);
}

// Turns rows by the angles of their positions. Floor: x is read and written once. A thread has the same Size
// angles of all its rows, so powers are taken once, and uses each sine for `together` heads, whose loads are
// in flight at the same time.
template <class X, int Size, bool Parts>
struct turn_rows {
  static constexpr int most_threads = 256, together = 4;
  using number = arithmetic<X>;
  struct alignas(Size * sizeof(X)) piece {
    X of[Size];
  };

  matrix<X> x;
  sequences seq;    // of these rows, on the GPU
  sequences whole;  // where Parts: the same samples with all their rows
  row_parts cut;
  isize member = 0;
  isize heads = 0;
  int half = 0;  // of a head's width
  rotary_angles angles{1};
  int direction = 1;

  MOTET_HOST_DEVICE isize position(isize row) const {
    isize sample;
    if (seq.offsets == nullptr) {
      sample = row / seq.length;
    } else {
      // the last sample that begins here or before; those without rows are passed over
      isize low = 0, high = seq.samples - 1;
      while (low < high) {
        const isize middle = (low + high + 1) / 2;
        if (seq.offsets[middle] <= row) low = middle;
        else high = middle - 1;
      }
      sample = low;
    }
    const isize at = row - seq.begin(sample);
    if constexpr (Parts) return cut.position(whole.rows_of(sample), member, at);
    else return at;
  }

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const int pieces = half / Size, threads = self.threads();
    const int groups = pieces < threads ? threads / pieces : 1,
              group = pieces < threads ? self.thread() / pieces : 0;
    if (group >= groups) return;
    const isize chunks = (heads + together - 1) / together, rows = seq.rows();
    for (int p = pieces < threads ? self.thread() % pieces : self.thread(); p < pieces; p += threads) {
      double step[Size];
      MOTET_UNROLLED
      for (int e = 0; e < Size; ++e) step[e] = direction * angles.of(p * Size + e, half);
      for (isize i = self.block() * groups + group; i < rows * chunks; i += self.blocks() * groups) {
        const isize row = i / chunks, head = i % chunks * together, at = position(row);
        X* const low = x.row(row) + head * 2 * half + p * Size;
        piece a[together], b[together];
        MOTET_UNROLLED
        for (int h = 0; h < together; ++h)
          if (head + h < heads) {
            a[h] = *reinterpret_cast<const piece*>(low + h * 2 * half);
            b[h] = *reinterpret_cast<const piece*>(low + h * 2 * half + half);
          }
        MOTET_UNROLLED
        for (int e = 0; e < Size; ++e) {
          number sine, cosine;
          sine_and_cosine(step[e] * static_cast<double>(at), sine, cosine);
          MOTET_UNROLLED
          for (int h = 0; h < together; ++h)
            if (head + h < heads) {
              const number first = static_cast<number>(a[h].of[e]), second = static_cast<number>(b[h].of[e]);
              a[h].of[e] = static_cast<X>(first * cosine - second * sine);
              b[h].of[e] = static_cast<X>(second * cosine + first * sine);
            }
        }
        MOTET_UNROLLED
        for (int h = 0; h < together; ++h)
          if (head + h < heads) {
            store_whole(reinterpret_cast<piece*>(low + h * 2 * half), a[h]);
            store_whole(reinterpret_cast<piece*>(low + h * 2 * half + half), b[h]);
          }
      }
    }
  }
};

template <bool Parts, class X>
void turn_heads(context& ctx, const sequences& seq, const sequences& whole, const row_parts& cut,
                isize member, isize head_width, const rotary_angles& angles, int direction, matrix<X> x) {
  const isize half = head_width / 2, heads = head_width > 0 ? x.width / head_width : 0, rows = seq.rows();
  if (rows == 0 || half == 0 || heads == 0) return;
  constexpr int size = pack<X>::size;
  const sequences here{seq.samples, seq.length, ctx.on->offsets(seq)},
      all{whole.samples, whole.length, ctx.on->offsets(whole)};
  const auto go = [&](auto each) {
    constexpr int pieces_of = each();
    const turn_rows<X, pieces_of, Parts> kernel{
        x, here, all, cut, member, heads, static_cast<int>(half), angles, direction};
    const isize pieces = half / pieces_of, groups = pieces < 256 ? 256 / pieces : 1;
    launch(
        ctx.stream(),
        {blocks_for(rows * ((heads + kernel.together - 1) / kernel.together), 2 * groups, 132 * 8), 256, 0},
        kernel);
  };
  if (in_packs(x.data, half, x.stride)) go(std::integral_constant<int, size>{});
  else go(std::integral_constant<int, 1>{});
}

}  // namespace detail

// Rotary positions (Su et al., RoFormer) as released Llama weights expect them: element i of a head's first
// half turns with element i of its second half, by the position times the angle of the pair. Gradients are
// turned back with direction -1.
template <class X>
void rotary(context& ctx, const sequences& seq, isize head_width, const rotary_angles& angles, int direction,
            matrix<X> x) {
  ctx.note("rotary", 3 * elements_in(x), 2 * bytes_in(x));
  if (!ctx.measuring())
    detail::turn_heads<false>(ctx, seq, seq, row_parts{}, 0, head_width, angles, direction, x);
}

}  // namespace motet::cuda
