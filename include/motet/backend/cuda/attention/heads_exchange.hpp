// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/attention/attention.hpp>
#include <motet/backend/cuda/exchange/rows_exchange.hpp>
#include <motet/backend/exchange/heads_exchange.hpp>

// Attention whose ranks hold rows before and after it, and heads within: rows of heads as they change places,
// on GPUs.
namespace motet::cuda {

using motet::heads_attention_backward;
using motet::heads_attention_forward;
using motet::reserve_exchanged;

namespace detail {

// Rows of all heads, and the same on the wire, by member: each has its own width. A block moves one head of
// some rows: to all members that have it, or from them, as their sum in the order of members. Bound by
// memory: what a thread does besides is paid once for many rows.
template <int Each, class X, class T, bool ToWire>
struct head_moves_kernel {
  static constexpr int most_threads = 256;
  head_columns cut;
  std::conditional_t<ToWire, const X*, X*> x;
  isize x_stride;
  T* wire;
  isize rows, chunk;  // of a block
  int shift;          // 2^shift threads take a row of a head

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    // of each member that has the head: where it lies
    isize* const starts = self.template shared<isize>(cut.members);
    isize* const strides = self.template shared<isize>(cut.members);  // likewise, elements from row to row
    const isize heads = cut.all.heads, kv_heads = cut.all.kv_heads,
                units = cut.keys ? heads + 2 * kv_heads : heads;
    const isize unit = self.block() % units, d = cut.head_width;
    isize count = 0, before = 0;
    for (isize m = 0; m < cut.members; ++m) {
      const interval own = share(heads, cut.members, m), kv = cut.all.kv_of(own);
      const isize width = cut.width(m);
      isize at = -1;  // which of the member's heads it is
      if (unit < heads) {
        if (unit >= own.begin && unit < own.end) at = unit - own.begin;
      } else {
        const bool value = unit >= heads + kv_heads;
        const isize head = unit - heads - (value ? kv_heads : 0);
        if (head >= kv.begin && head < kv.end) at = own.size() + (value ? kv.size() : 0) + head - kv.begin;
      }
      if (at >= 0) {
        if (self.thread() == 0) {
          starts[count] = before + at * d;
          strides[count] = width;
        }
        ++count;
      }
      before += rows * width;
    }
    self.barrier();
    const isize first = self.block() / units * chunk, end = first + chunk < rows ? first + chunk : rows,
                steps = d / Each;
    for (isize r = first + (self.thread() >> shift); r < end; r += self.threads() >> shift)
      for (isize i = self.thread() & ((1 << shift) - 1); i < steps; i += isize{1} << shift) {
        auto* const here = x + r * x_stride + unit * d + i * Each;
        if constexpr (ToWire) {
          X in[Each];
          T out[Each];
          load_each<Each>(here, in);
          MOTET_UNROLLED
          for (int e = 0; e < Each; ++e) out[e] = converted<T>(in[e]);
          for (isize m = 0; m < count; ++m)
            store_each<Each>(wire + starts[m] + r * strides[m] + i * Each, out);
        } else if (count == 1) {
          convert_each<Each>(wire + starts[0] + r * strides[0] + i * Each, here);
        } else {
          using number = arithmetic<T>;
          number sum[Each] = {};
          for (isize m = 0; m < count; ++m) {
            T in[Each];
            load_each<Each>(wire + starts[m] + r * strides[m] + i * Each, in);
            MOTET_UNROLLED
            for (int e = 0; e < Each; ++e) sum[e] += static_cast<number>(in[e]);
          }
          X out[Each];
          MOTET_UNROLLED
          for (int e = 0; e < Each; ++e) out[e] = static_cast<X>(sum[e]);
          store_each<Each>(here, out);
        }
      }
  }
};

// Moves heads from rows of all heads to the wire, or back.
template <bool ToWire, class X, class T>
void move_heads(context& ctx, const heads_transfer<T>& wire, matrix<X> x) {
  using element = std::remove_const_t<X>;
  const head_columns& cut = wire.cut;
  T* const at = wire.part.data;
  const isize units = cut.all.heads + (cut.keys ? 2 * cut.all.kv_heads : 0), d = cut.head_width;
  if (ctx.measuring() || units == 0 || x.rows == 0) return;
  constexpr int each = pack_of<element, T>();
  const auto run = [&]<int Each>() {
    const row_walk walk(x.rows, d / Each);
    const isize at_once = 256 >> walk.shift,
                chunk = round_up(x.rows < 16 * at_once ? x.rows : 16 * at_once, at_once);
    launch(ctx.stream(),
           {units * ((x.rows + chunk - 1) / chunk), 256,
            2 * round_up(cut.members * static_cast<isize>(sizeof(isize)), 16)},
           head_moves_kernel<Each, element, T, ToWire>{cut, x.data, x.stride, at, x.rows, chunk, walk.shift});
  };
  if (in_pieces<each>(x.data, d, x.stride) && in_pieces<each>(at, d, d)) run.template operator()<each>();
  else run.template operator()<1>();
}

}  // namespace detail

template <class X, class T>
void heads_to_wire(context& ctx, const heads_transfer<T>& wire, matrix<X> x) {
  detail::move_heads<true>(ctx, wire, x);
}
template <class T>
void heads_from_wire(context& ctx, const heads_transfer<T>& wire, matrix<T> y) {
  detail::move_heads<false>(ctx, wire, y);
}

}  // namespace motet::cuda
