// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/exchange/sample_pieces.hpp>
#include <motet/backend/cpu/products/linear.hpp>
#include <motet/nn/core/routing.hpp>

#include <cmath>

namespace motet::cpu {
namespace detail {

// A row of logits becomes probabilities; the logarithm of what they were divided by comes back.
template <class Real>
Real softmax_row(Real* row, isize width) {
  Real most = row[0], sum = 0;
  for (isize e = 1; e < width; ++e) most = row[e] > most ? row[e] : most;
  for (isize e = 0; e < width; ++e) sum += row[e] = std::exp(row[e] - most);
  for (isize e = 0; e < width; ++e) row[e] /= sum;
  return most + std::log(sum);
}

// The largest ones, in order; of equal ones the first. Whatever the numbers are, no expert comes twice.
template <class Real>
void choose_experts(const Real* logits, const router_shape& shape, choice<Real>* chosen) {
  for (isize j = 0; j < shape.top_k; ++j) {
    isize best = -1;
    for (isize e = 0; e < shape.experts; ++e) {
      bool taken = false;
      for (isize i = 0; i < j; ++i) taken = taken || chosen[i].expert == e;
      if (!taken && (best < 0 || logits[e] > logits[best])) best = e;
    }
    chosen[j] = {0, static_cast<std::uint16_t>(best), true};
  }
}

}  // namespace detail

// logits = x weight^T, multiplied in the type of the weights: a rounded logit is another expert.
template <class X, class W, class Y>
void router_forward(context& ctx, const sequences& seq, matrix<X> x, matrix<W> weight, matrix<Y> logits) {
  note_product(ctx, "router_forward", x, weight, logits);
  const scratch_scope scope(ctx);
  std::byte* scratch = ctx.scratch.take<std::byte>(gemm_scratch_bytes);
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  gemm<arithmetic<X, W, Y>>(own.size(), logits.width, x.width, as_operand(part_of(x, own)),
                            as_operand(weight, true), logits.row(own.begin), logits.stride,
                            gemm_epilogue<std::remove_const_t<W>>{}, scratch);
}

// Logits become probabilities, in their place, and each row gets its experts. Counts are kept as numbers of
// Real, which holds them exactly up to 2^24 rows of a sample.
template <class Real>
void route_forward(context& ctx, const sequences& seq, const router_shape& shape, matrix<Real> probability,
                   matrix<Real> lse, matrix<choice<Real>> chosen, matrix<Real> fraction,
                   matrix<Real> losses) {
  ctx.note("route_forward", 8 * elements_in(probability), 2 * bytes_in(probability));
  const sample_pieces pieces(ctx);
  const isize mark = ctx.memory.mark(), experts = shape.experts;
  // Each number says how often a piece of a sample chose an expert.
  const matrix<Real> chose{ctx.memory.take<Real>(seq.samples * pieces.all() * experts), seq.samples,
                           pieces.all() * experts, pieces.all() * experts};
  if (ctx.measuring()) return ctx.memory.release(mark);
  const interval samples = ctx.own_samples(seq);

  for (isize s = samples.begin; s < samples.end; ++s) {
    for (isize i = 0; i < chose.width; ++i) chose.row(s)[i] = 0;
    for (isize p = 0; p < pieces.own(); ++p) {
      const interval rows = pieces.piece(seq, s, p);
      Real* const count = chose.row(s) + pieces.number(p) * experts;
      for (isize r = rows.begin; r < rows.end; ++r) {
        Real* const row = probability.row(r);
        detail::choose_experts(row, shape, chosen.row(r));
        *lse.row(r) = detail::softmax_row(row, experts);
        Real sum = 0;
        for (isize j = 0; j < shape.top_k; ++j) {
          const choice<Real>& c = chosen.row(r)[j];
          count[c.expert] += 1;
          sum += row[c.expert];
        }
        for (isize j = 0; j < shape.top_k; ++j) {
          choice<Real>& c = chosen.row(r)[j];
          c.gate = row[c.expert] / (shape.gates == gate_kind::normalised ? sum : Real(1));
        }
      }
    }
  }
  if (pieces.shared) {
    synchronize(ctx);
    if (ctx.thread == 0) pieces.shared->context.all_reduce_sum(chose.data, chose.rows * chose.width);
    synchronize(ctx);
  }
  for (isize s = samples.begin; s < samples.end; ++s) {
    const isize all_rows = pieces.rows(seq, s), room = shape.room(all_rows);
    const Real per_choice = all_rows > 0 ? Real(1) / static_cast<Real>(all_rows * shape.top_k) : Real(0);
    for (isize e = 0; e < experts; ++e) {
      Real sum = 0;
      for (isize p = 0; p < pieces.all(); ++p) {
        Real& here = chose.row(s)[p * experts + e];
        const Real before = sum;
        sum += here;
        here = before;  // choices of this expert in the rows before the piece
      }
      fraction.row(s)[e] = sum * per_choice;
    }
    Real balance = 0, z = 0;
    for (isize p = 0; p < pieces.own(); ++p) {
      const interval rows = pieces.piece(seq, s, p);
      Real* const before = chose.row(s) + pieces.number(p) * experts;
      for (isize r = rows.begin; r < rows.end; ++r) {
        for (isize j = 0; j < shape.top_k; ++j) {
          choice<Real>& c = chosen.row(r)[j];
          c.kept = before[c.expert] < static_cast<Real>(room);
          before[c.expert] += 1;
        }
        for (isize e = 0; e < experts; ++e) balance += fraction.row(s)[e] * probability.row(r)[e];
        z += *lse.row(r) * *lse.row(r);
      }
    }
    losses.row(s)[0] = balance * static_cast<Real>(experts * shape.top_k) * per_choice;
    losses.row(s)[1] = z * static_cast<Real>(shape.top_k) * per_choice;
  }
  release(ctx, mark);
}

// d_logits in the place of the probabilities, from the gradients of the gates and of the two losses.
template <class Real>
void route_backward(context& ctx, const sequences& seq, const router_shape& shape, matrix<Real> fraction,
                    matrix<Real> lse, matrix<choice<Real>> chosen, matrix<Real> d_gate,
                    matrix<Real> probability) {
  ctx.note("route_backward", 8 * elements_in(probability), 2 * bytes_in(probability));
  const scratch_scope scope(ctx);
  const isize experts = shape.experts;
  Real* const d = ctx.scratch.take<Real>(experts);
  if (ctx.measuring()) return;
  const sample_pieces pieces(ctx);
  const interval samples = ctx.own_samples(seq);
  for (isize s = samples.begin; s < samples.end; ++s) {
    const double share =
        ctx.sample_share / static_cast<double>(pieces.rows(seq, s) > 0 ? pieces.rows(seq, s) : 1);
    const Real of_balance = static_cast<Real>(shape.balance * share * static_cast<double>(experts)),
               of_z = static_cast<Real>(2 * shape.z * share);
    for (isize r = seq.begin(s); r < seq.end(s); ++r) {
      Real* const row = probability.row(r);
      for (isize e = 0; e < experts; ++e) d[e] = of_balance * fraction.row(s)[e];
      Real sum = 1, through_sum = 0;
      if (shape.gates == gate_kind::normalised) {
        sum = 0;
        for (isize j = 0; j < shape.top_k; ++j) sum += row[chosen.row(r)[j].expert];
        for (isize j = 0; j < shape.top_k; ++j) through_sum += chosen.row(r)[j].gate * d_gate.row(r)[j];
      }
      for (isize j = 0; j < shape.top_k; ++j)
        d[chosen.row(r)[j].expert] += (d_gate.row(r)[j] - through_sum) / sum;
      Real mean = 0;
      for (isize e = 0; e < experts; ++e) mean += row[e] * d[e];
      for (isize e = 0; e < experts; ++e) row[e] *= d[e] - mean + of_z * *lse.row(r);
    }
  }
}

}  // namespace motet::cpu
