// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/operations.hpp>

#include "grid.hpp"

#include <cmath>
#include <utility>
#include <vector>

// Attention and its gradients by their definition, in double, with all scores stored.

namespace motet::laws {

struct attention_by_definition {
  grid<double> y, lse, dq, dk, dv;
};

// q_at, k_at: where the rows of each sample begin, and the end.
template <class T>
attention_by_definition define_attention(const attention_shape& s, const std::vector<isize>& q_at,
                                         const std::vector<isize>& k_at, const grid<T>& q, const grid<T>& k,
                                         const grid<T>& v, const grid<T>& dy) {
  const isize group = s.heads / s.kv_heads, width = s.head_width;
  const double scale = s.scale != 0 ? s.scale : 1 / std::sqrt(static_cast<double>(width));
  attention_by_definition out{grid<double>(q.rows, q.width), grid<double>(q.rows, s.heads),
                              grid<double>(q.rows, q.width), grid<double>(k.rows, k.width),
                              grid<double>(k.rows, k.width)};
  for (auto* each : {&out.y, &out.lse, &out.dq, &out.dk, &out.dv}) each->fill(0);
  for (std::size_t n = 0; n + 1 < q_at.size(); ++n)
    for (isize head = 0; head < s.heads; ++head)
      for (isize i = q_at[n]; i < q_at[n + 1]; ++i) {
        const isize at = head * width, kv = head / group * width, keys = k_at[n + 1] - k_at[n];
        const isize seen =
            s.mask == mask_kind::causal ? i - q_at[n] + 1 + keys - (q_at[n + 1] - q_at[n]) : keys;
        if (seen <= 0) continue;
        std::vector<double> p, dp;
        double sum = 0, delta = 0;
        for (isize j = k_at[n]; j < k_at[n] + seen; ++j) {
          double score = 0, d = 0;
          for (isize c = 0; c < width; ++c)
            score += q(i, at + c) * k(j, kv + c), d += dy(i, at + c) * v(j, kv + c);
          p.push_back(std::exp(score * scale));
          dp.push_back(d);
          sum += p.back();
        }
        out.lse.at(i, head) = std::log(sum);
        for (std::size_t j = 0; j < p.size(); ++j) delta += p[j] / sum * dp[j];
        for (std::size_t j = 0; j < p.size(); ++j) {
          const double weight = p[j] / sum, d_score = weight * (dp[j] - delta) * scale;
          const isize row = k_at[n] + static_cast<isize>(j);
          for (isize c = 0; c < width; ++c) {
            out.y.at(i, at + c) += weight * v(row, kv + c);
            out.dv.at(row, kv + c) += weight * dy(i, at + c);
            out.dq.at(i, at + c) += d_score * k(row, kv + c);
            out.dk.at(row, kv + c) += d_score * q(i, at + c);
          }
        }
      }
  return out;
}

}  // namespace motet::laws
