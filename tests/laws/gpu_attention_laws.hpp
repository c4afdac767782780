// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cpu_run.hpp"
#include "cuda_run.hpp"

#include <doctest/doctest.h>

#include <motet/backend/cpu/attention/attention.hpp>
#include <motet/backend/cuda/attention/attention.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

// Attention on a GPU against the same in double on the CPU, whose own tests compare it with the definition.

namespace motet::laws {

struct attention_case {
  attention_shape shape;
  std::vector<isize> queries, keys;  // rows of each sample
  bool even = false;                 // all alike, given without offsets
};

inline std::vector<isize> offsets_of(const std::vector<isize>& rows) {
  std::vector<isize> offsets{0};
  for (const isize n : rows) offsets.push_back(offsets.back() + n);
  return offsets;
}
inline isize total_rows(const std::vector<isize>& rows) {
  return std::accumulate(rows.begin(), rows.end(), isize{0});
}

template <class T>
using log_of_attention = std::conditional_t<std::is_same_v<T, double>, double, float>;

struct attention_answer {
  grid<double> y, lse, dq, dk, dv;
};

template <class T>
grid<double> widened(const grid<T>& x) {
  grid<double> out(x.rows, x.width);
  for (isize r = 0; r < x.rows; ++r)
    for (isize c = 0; c < x.width; ++c) out.at(r, c) = x(r, c);
  return out;
}

// q, k, v and their gradients lie in one of these ways.
enum class attention_layout {
  apart,
  fused,
  over
};  // matrices of their own; columns of one, and of another the gradients; gradients over q, k, v of one

template <class T>
void check_attention(const attention_case& p, attention_layout how, double allowed, double size = 1,
                     isize gap = 3) {
  const auto& s = p.shape;
  const isize q_rows = total_rows(p.queries), k_rows = total_rows(p.keys), q_width = s.heads * s.head_width,
              k_width = s.kv_heads * s.head_width;
  const auto q_at = offsets_of(p.queries), k_at = offsets_of(p.keys);
  const auto samples = static_cast<isize>(p.keys.size());
  const sequences q_seq =
      p.even ? sequences{samples, p.queries[0], nullptr} : sequences{samples, 1, q_at.data()};
  const sequences kv_seq =
      p.even ? sequences{samples, p.keys[0], nullptr} : sequences{samples, 1, k_at.data()};
  const auto q = grid<T>(q_rows, q_width).random(1, size), k = grid<T>(k_rows, k_width).random(2, size),
             v = grid<T>(k_rows, k_width).random(3, size), dy = grid<T>(q_rows, q_width).random(4, size);

  attention_answer want{grid<double>(q_rows, q_width), grid<double>(q_rows, s.heads),
                        grid<double>(q_rows, q_width), grid<double>(k_rows, k_width),
                        grid<double>(k_rows, k_width)};
  {
    auto wq = widened(q), wk = widened(k), wv = widened(v), wdy = widened(dy);
    cpu_run_foretold(1, [&](cpu::context& ctx) {
      attention_forward(ctx, q_seq, kv_seq, s, wq.view(), wk.view(), wv.view(), want.y.view(),
                        want.lse.view());
      attention_backward(ctx, q_seq, kv_seq, s, wq.view(), wk.view(), wv.view(), want.y.view(),
                         want.lse.view(), wdy.view(), want.dq.view(), want.dk.view(), want.dv.view());
    });
  }

  // One matrix of queries | keys | values; where rows differ, the shorter part has unused rows.
  const isize all_rows = std::max(q_rows, k_rows), all_width = q_width + 2 * k_width;
  grid<T> all(all_rows, all_width, how == attention_layout::apart ? 0 : 8);
  for (isize r = 0; r < all_rows; ++r)
    for (isize c = 0; c < all_width; ++c)
      all.at(r, c) =
          c < q_width
              ? (r < q_rows ? q.at(r, c) : T(0))
              : (r < k_rows ? (c < q_width + k_width ? k.at(r, c - q_width) : v.at(r, c - q_width - k_width))
                            : T(0));
  on_gpu<T> packed(all), own_q(q), own_k(k), own_v(v), given(dy);
  on_gpu<T> y(q_rows, q_width, q_width + gap), d_packed(all_rows, all_width, all_width + 8),
      dq(q_rows, q_width), dk(k_rows, k_width), dv(k_rows, k_width);
  on_gpu<log_of_attention<T>> lse(q_rows, s.heads);
  const auto parts = [&](const matrix<T>& x, matrix<T>& mq, matrix<T>& mk, matrix<T>& mv) {
    mq = x.columns(0, q_width).slice(0, q_rows), mk = x.columns(q_width, k_width).slice(0, k_rows),
    mv = x.columns(q_width + k_width, k_width).slice(0, k_rows);
  };
  matrix<T> mq = own_q.all(), mk = own_k.all(), mv = own_v.all(), mdq = dq.all(), mdk = dk.all(),
            mdv = dv.all();
  if (how != attention_layout::apart)
    parts(packed.all(), mq, mk, mv),
        parts(how == attention_layout::over ? packed.all() : d_packed.all(), mdq, mdk, mdv);
  gpu_run_foretold([&](cuda::context& ctx) {
    attention_forward(ctx, q_seq, kv_seq, s, mq, mk, mv, y.all(), lse.all());
    attention_backward(ctx, q_seq, kv_seq, s, matrix<const T>(mq), matrix<const T>(mk), matrix<const T>(mv),
                       matrix<const T>(y.all()), matrix<const log_of_attention<T>>(lse.all()), given.all(),
                       mdq, mdk, mdv);
  });
  CHECK(distance(y.back(), want.y) <= allowed);
  CHECK(y.untouched());
  CHECK(distance(lse.back(), want.lse) <= allowed);
  grid<T> found_q = dq.back(), found_k = dk.back(), found_v = dv.back();
  if (how != attention_layout::apart) {
    const grid<T> found = (how == attention_layout::over ? packed : d_packed).back();
    const auto take = [&](grid<T>& to, isize first) {
      for (isize r = 0; r < to.rows; ++r)
        for (isize c = 0; c < to.width; ++c) to.at(r, c) = found.at(r, first + c);
    };
    take(found_q, 0), take(found_k, q_width), take(found_v, q_width + k_width);
  }
  CHECK(distance(found_q, want.dq) <= allowed);
  CHECK(distance(found_k, want.dk) <= allowed);
  CHECK(distance(found_v, want.dv) <= allowed);
}

template <class T>
inline constexpr double attention_allowed = sizeof(T) == 8   ? 1e-12
                                            : sizeof(T) == 4 ? 1e-5
                                                             : 2e-2;

}  // namespace motet::laws
