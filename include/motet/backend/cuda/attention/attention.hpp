// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/backend/cuda/attention/attention_matrix_kernel.hpp>
#include <motet/backend/cuda/attention/attention_plain_kernel.hpp>
#include <motet/backend/cuda/attention/library_attention.hpp>
#include <motet/backend/cuda/rows/elementwise.hpp>

#include <string>

// Scaled dot-product attention of ragged samples; the scores are never stored as a whole. cuDNN computes it
// where it is there and takes the shape, else kernels of our own do, which take all heads up to 256 wide.

namespace motet::cuda {

namespace detail {

template <class T>
inline constexpr const char* own_attention = std::is_same_v<T, bf16> ? "own matrix kernels" : "own kernels";

// Calls run with the smallest of these widths that the head fits into.
template <int... Widths, class Run>
void for_head_width(isize width, Run run) {
  bool found = false;
  ((found = found || (width <= Widths && (run(std::integral_constant<int, Widths>{}), true))), ...);
  if (!found) fail(gpu_shape_refused, "attention takes heads up to 256 wide, got " + std::to_string(width));
}
template <class T, class Run>
void for_attention_kernels(isize width, Run run) {
  if constexpr (std::is_same_v<T, bf16>) for_head_width<32, 64, 80, 96, 128, 256>(width, run);
  else for_head_width<64, 128, 256>(width, run);
}

template <class T, class Of>
matrix<T> as(const matrix<Of>& x) {
  static_assert(std::is_same_v<std::remove_const_t<T>, std::remove_const_t<Of>>,
                "motet: attention takes matrices of one type, lse of its arithmetic");
  return {x.data, x.rows, x.width, x.stride};
}
template <class A, class B>
bool overlap(const matrix<A>& a, const matrix<B>& b) {
  if (a.rows == 0 || b.rows == 0) return false;
  const auto first = [](const auto& x) { return reinterpret_cast<std::uintptr_t>(x.data); };
  const auto last = [](const auto& x) {
    return reinterpret_cast<std::uintptr_t>(x.row(x.rows - 1) + x.width);
  };
  return first(a) < last(b) && first(b) < last(a);
}
template <class... T>
bool heads_in_packs(isize head_width, const matrix<T>&... of) {
  return (in_packs(of.data, head_width, of.stride) && ...);
}

template <class T>
void note_copied_gradient(context& ctx, isize elements) {
  ctx.note("copy", 0, 2 * static_cast<double>(elements) * bytes_of<T>);
}
template <class T>
void copy_gradient(context& ctx, const matrix<const T>& from, const matrix<T>& to) {
  map_numbers(ctx, from, to, unchanged{});
}

}  // namespace detail

// y = softmax(scale q k^T) v for each sample and head; lse is the log of the sum of each softmax, for
// backward. A query that sees no key gets zeros.
template <class Q, class K, class V, class Y, class L>
void attention_forward(context& ctx, const sequences& q_seq, const sequences& kv_seq,
                       const attention_shape& shape, matrix<Q> q, matrix<K> k, matrix<V> v, matrix<Y> y,
                       matrix<L> lse) {
  using T = std::remove_const_t<Q>;
  const double pairs = detail::attention_pairs(q_seq, kv_seq);
  const double width = static_cast<double>(shape.head_width), heads = static_cast<double>(shape.heads),
               kv_heads = static_cast<double>(shape.kv_heads);
  // Nothing is taken off for a causal mask, as is usual when efficiency is reported.
  const double of_queries = heads * static_cast<double>(q_seq.rows()),
               of_keys = kv_heads * static_cast<double>(kv_seq.rows());
  ctx.note("attention_forward", 4 * heads * width * pairs,
           bytes_of<Q> * width * (2 * of_queries + 2 * of_keys) + bytes_of<L> * of_queries,
           flops_of::attention);
  detail::note_lengths<T>(ctx, q_seq, kv_seq, shape);
  const scratch_scope scope(ctx);
  [[maybe_unused]] const detail::attention_notes notes = detail::take_notes<T>(ctx, q_seq, false);
  if (ctx.measuring() || shape.heads == 0 || q_seq.rows() == 0) return;  // a part of a net may hold no head

  const auto keys = detail::as<const T>(k), values = detail::as<const T>(v), queries = detail::as<const T>(q);
  const matrix<T> out = detail::as<T>(y);
  detour why{"cuDNN is asked for bf16 alone"};
  if constexpr (std::is_same_v<T, bf16>) {
    why = detail::library_attention_forward<T>(ctx, notes, q_seq, kv_seq, shape, queries, keys, values, out,
                                               detail::as<float>(lse));
    if (why.none()) return;
  }
  detail::attention_batch batch = detail::batch_of(ctx, q_seq, kv_seq, shape);
  batch.packed = detail::heads_in_packs(shape.head_width, q, k, v, y);
  const auto run = [&](const auto& kernel) {
    using kernel_type = std::remove_cvref_t<decltype(kernel)>;
    const isize blocks = detail::tile_slots(q_seq, q_seq.rows(), kernel_type::queries) * shape.heads;
    launch(ctx.stream(), {blocks, kernel_type::most_threads, kernel_type::shared_bytes}, kernel);
  };
  detail::for_attention_kernels<T>(shape.head_width, [&](auto padded) {
    if constexpr (std::is_same_v<T, bf16>) {
      constexpr int strips = padded() <= 128 ? 2 : 1;
      const isize mean = q_seq.rows() / q_seq.samples;
      if (mean > 64)
        run(detail::attention_forward_matrix<padded(), strips>{batch, queries, keys, values, out,
                                                               detail::as<float>(lse)});
      else
        run(detail::attention_forward_matrix<padded(), 1>{batch, queries, keys, values, out,
                                                          detail::as<float>(lse)});
    } else
      run(detail::attention_forward_plain<T, padded()>{batch, queries, keys, values, out,
                                                       detail::as<T>(lse)});
  });
  took(ctx, detail::attention_name(false), detail::own_attention<T>, why);
}

// Gradients of the above, with the probabilities recomputed from q, k and lse. dq, dk and dv may be the
// memory of q, k and v: dq is then made aside and copied, as other blocks read the queries later, while keys
// and values have one block each, which reads them before it writes. Of a library all three are.
template <class Q, class K, class V, class Y, class L, class G, class DQ, class DK, class DV>
void attention_backward(context& ctx, const sequences& q_seq, const sequences& kv_seq,
                        const attention_shape& shape, matrix<Q> q, matrix<K> k, matrix<V> v, matrix<Y> y,
                        matrix<L> lse, matrix<G> dy, matrix<DQ> dq, matrix<DK> dk, matrix<DV> dv) {
  using T = std::remove_const_t<Q>;
  using number = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const double pairs = detail::attention_pairs(q_seq, kv_seq);
  const double width = static_cast<double>(shape.head_width), heads = static_cast<double>(shape.heads),
               kv_heads = static_cast<double>(shape.kv_heads);
  const double of_queries = heads * static_cast<double>(q_seq.rows()),
               of_keys = kv_heads * static_cast<double>(kv_seq.rows());
  // Sums of y dy of each row are made first, and read with the logs.
  ctx.note("attention_backward", 10 * heads * width * pairs,
           bytes_of<Q> * width * (5 * of_queries + 4 * of_keys) + bytes_of<number> * 3 * of_queries +
               detail::bytes_of_added_queries<T>(q_seq, shape),
           flops_of::attention);
  detail::note_lengths<T>(ctx, q_seq, kv_seq, shape);

  const scratch_scope scope(ctx);
  const isize q_rows = q_seq.rows(), kv_rows = kv_seq.rows(), q_width = shape.heads * shape.head_width,
              kv_width = shape.kv_heads * shape.head_width;
  number* const delta = ctx.scratch.take<number>(q_rows * shape.heads);  // (query rows, heads)
  const auto reads = [&](const auto& to) {
    return detail::overlap(to, q) || detail::overlap(to, k) || detail::overlap(to, v) ||
           detail::overlap(to, y) || detail::overlap(to, dy);
  };
  const auto aside = [&](bool over, isize rows, isize columns) {
    return matrix<T>{over ? ctx.scratch.take<T>(rows * columns) : nullptr, rows, columns, columns};
  };
  // A library may not write over what it reads at all.
  constexpr bool lent = std::is_same_v<T, bf16> && detail::has_library_attention;
  const bool over = reads(dq), over_k = lent && reads(dk), over_v = lent && reads(dv);
  const matrix<T> aside_q = aside(over, q_rows, q_width), aside_k = aside(over_k, kv_rows, kv_width),
                  aside_v = aside(over_v, kv_rows, kv_width);
  [[maybe_unused]] const detail::attention_notes notes = detail::take_notes<T>(ctx, q_seq, true);
  if (over) detail::note_copied_gradient<T>(ctx, q_rows * q_width);
  if (over_k) detail::note_copied_gradient<T>(ctx, kv_rows * kv_width);
  if (over_v) detail::note_copied_gradient<T>(ctx, kv_rows * kv_width);
  if (ctx.measuring() || shape.heads == 0) return;

  const auto queries = detail::as<const T>(q), keys = detail::as<const T>(k), values = detail::as<const T>(v),
             out = detail::as<const T>(y), dout = detail::as<const T>(dy);
  const auto logs = detail::as<const number>(lse);
  const matrix<T> to_q = detail::as<T>(dq), to_k = detail::as<T>(dk), to_v = detail::as<T>(dv);
  const matrix<T> made_q = over ? aside_q : to_q;
  detour why{"cuDNN is asked for bf16 alone"};
  if constexpr (std::is_same_v<T, bf16>) {
    const matrix<T> made_k = over_k ? aside_k : to_k, made_v = over_v ? aside_v : to_v;
    why = detail::library_attention_backward<T>(ctx, notes, q_seq, kv_seq, shape, queries, keys, values, out,
                                                logs, dout, made_q, made_k, made_v);
    if (why.none()) {
      if (over) detail::copy_gradient<T>(ctx, made_q, to_q);
      if (over_k) detail::copy_gradient<T>(ctx, made_k, to_k);
      if (over_v) detail::copy_gradient<T>(ctx, made_v, to_v);
      return;
    }
  }
  detail::attention_batch batch = detail::batch_of(ctx, q_seq, kv_seq, shape);
  batch.packed = detail::heads_in_packs(shape.head_width, q, k, v, dy, made_q, dk, dv);
  const auto run = [&](const sequences& seq, isize rows, isize count, isize tile, const auto& kernel) {
    using kernel_type = std::remove_cvref_t<decltype(kernel)>;
    launch(
        ctx.stream(),
        {detail::tile_slots(seq, rows, tile) * count, kernel_type::most_threads, kernel_type::shared_bytes},
        kernel);
  };
  detail::for_attention_kernels<T>(shape.head_width, [&](auto padded) {
    if constexpr (std::is_same_v<T, bf16>) {
      using for_queries = detail::attention_dq_matrix<padded()>;
      using for_keys = detail::attention_dkv_matrix<padded()>;
      run(q_seq, q_rows, shape.heads, for_queries::queries,
          for_queries{batch, queries, keys, values, out, logs, dout, made_q, delta});
      run(kv_seq, kv_rows, shape.kv_heads, for_keys::keys,
          for_keys{batch, queries, keys, values, logs, dout, to_k, to_v, delta});
    } else {
      using for_queries = detail::attention_dq_plain<T, padded()>;
      using for_keys = detail::attention_dkv_plain<T, padded()>;
      run(q_seq, q_rows, shape.heads, for_queries::queries,
          for_queries{batch, queries, keys, values, out, logs, dout, made_q, delta});
      run(kv_seq, kv_rows, shape.kv_heads, for_keys::keys,
          for_keys{batch, queries, keys, values, logs, dout, to_k, to_v, delta});
    }
  });
  if (over) detail::copy_gradient<T>(ctx, made_q, to_q);
  took(ctx, detail::attention_name(true), detail::own_attention<T>, why);
}

}  // namespace motet::cuda
