// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/exchange/sample_pieces.hpp>
#include <motet/backend/cuda/experts/grouping.hpp>
#include <motet/backend/cuda/products/linear.hpp>

#include <cmath>

namespace motet::cuda {
namespace detail {

// A row of logits becomes probabilities, and its experts are chosen: the largest logits, in order, of equal
// ones the first. A warp has a row, which stays in the cache between the walks over it; it is read from
// memory and written once.
template <class Real>
struct route_rows_kernel {
  static constexpr int most_threads = 256;
  matrix<Real> probability;
  matrix<Real> lse;
  matrix<choice<Real>> chosen;
  bool normalised;

  // Says whether expert a with logit x comes before b with y. A logit that is no number comes last.
  MOTET_HOST_DEVICE static bool before(Real x, isize a, Real y, isize b) {
    return x > y || (x == y && a < b);
  }
  MOTET_HOST_DEVICE static Real least() { return static_cast<Real>(-HUGE_VAL); }

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize experts = probability.width;
    const int lane = self.lane();
    for (isize r = self.number() / warp_size; r < probability.rows; r += self.all() / warp_size) {
      Real* const row = probability.row(r);
      choice<Real>* const to = chosen.row(r);
      // Each comes after the one before, so none comes twice.
      Real last = 0, most = 0;
      isize last_expert = -1;
      for (isize j = 0; j < chosen.width; ++j) {
        Real best = least();
        isize expert = experts;
        for (isize e = lane; e < experts; e += warp_size) {
          Real x = row[e];
          x = x == x ? x : least();
          if (j > 0 && !before(last, last_expert, x, e)) continue;
          if (expert == experts || before(x, e, best, expert)) best = x, expert = e;
        }
        for (int mask = warp_size / 2; mask > 0; mask /= 2) {
          const Real x = self.shuffle_xor(best, mask);
          const isize e = self.shuffle_xor(expert, mask);
          if (e < experts && (expert == experts || before(x, e, best, expert))) best = x, expert = e;
        }
        last = best, last_expert = expert;
        if (j == 0) most = best;
        if (lane == 0) to[j] = {0, static_cast<std::uint16_t>(expert), true};
      }
      Real sum = 0;
      for (isize e = lane; e < experts; e += warp_size) sum += row[e] = std::exp(row[e] - most);
      sum = warp_sum(self, sum);
      for (isize e = lane; e < experts; e += warp_size) row[e] /= sum;
      if (lane == 0) *lse.row(r) = most + std::log(sum);
      self.warp_barrier();
      Real of_chosen = 0;
      if (normalised)
        for (isize j = 0; j < chosen.width; ++j) of_chosen += row[to[j].expert];
      else of_chosen = 1;
      for (isize j = lane; j < chosen.width; j += warp_size) to[j].gate = row[to[j].expert] / of_chosen;
    }
  }
};

// Counts how often each piece of each sample chose each expert. A block has a piece; counts are whole
// numbers, so their order does not matter.
template <class Real>
struct count_choices_kernel {
  static constexpr int most_threads = 512;
  sample_pieces pieces;
  matrix<const choice<Real>> chosen;
  matrix<Real> chose;  // (samples, all pieces x experts)
  isize experts;
  bool shared;  // counts fit in the block's memory
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize sample = self.block() / pieces.own(), which = self.block() % pieces.own();
    // Counts of other ranks are zero here; a block clears an even share of the sample's pieces.
    const isize own = pieces.own();
    for (isize p = which; p < pieces.all(); p += own)
      if (!is_own(p))
        for (isize e = self.thread(); e < experts; e += self.threads())
          chose.row(sample)[p * experts + e] = 0;
    Real* const out = chose.row(sample) + pieces.number(which) * experts;
    const interval rows = pieces.piece(sample, which);
    const auto k = static_cast<std::uint32_t>(chosen.width);
    const isize count = rows.size() * chosen.width;
    if (shared) {
      int* const counts = self.template shared<int>(experts);
      for (isize e = self.thread(); e < experts; e += self.threads()) counts[e] = 0;
      self.barrier();
      for (isize i = self.thread(); i < count; i += self.threads())
        self.atomic_add(
            counts + chosen
                         .row(rows.begin + static_cast<isize>(static_cast<std::uint32_t>(i) /
                                                              k))[static_cast<std::uint32_t>(i) % k]
                         .expert,
            1);
      self.barrier();
      for (isize e = self.thread(); e < experts; e += self.threads()) out[e] = static_cast<Real>(counts[e]);
    } else {
      for (isize e = self.thread(); e < experts; e += self.threads()) out[e] = 0;
      self.barrier();
      for (isize i = self.thread(); i < count; i += self.threads())
        self.atomic_add(out + chosen
                                  .row(rows.begin + static_cast<isize>(static_cast<std::uint32_t>(i) /
                                                                       k))[static_cast<std::uint32_t>(i) % k]
                                  .expert,
                        Real(1));
    }
  }
  MOTET_HOST_DEVICE bool is_own(isize piece) const {
    for (isize which = 0; which < pieces.own(); ++which)
      if (pieces.number(which) == piece) return true;
    return false;
  }
};

// Finds the fractions when all pieces are counted, and how many choices lie before each piece. A block has a
// sample.
template <class Real>
struct fractions_kernel {
  static constexpr int most_threads = 256;
  sample_pieces pieces;
  matrix<Real> chose, fraction;
  isize top_k;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize sample = self.block(), rows = pieces.rows(sample);
    const Real per_choice = rows > 0 ? Real(1) / static_cast<Real>(rows * top_k) : Real(0);
    for (isize e = self.thread(); e < fraction.width; e += self.threads()) {
      Real sum = 0;
      for (isize p = 0; p < pieces.all(); ++p) {
        Real& here = chose.row(sample)[p * fraction.width + e];
        const Real before = sum;
        sum += here;
        here = before;
      }
      fraction.row(sample)[e] = sum * per_choice;
    }
  }
};

// Experts have room for their first choices, in the order of rows. A block has a piece; each of its warps
// takes a stretch of the choices, after all have counted theirs.
template <class Real>
struct keep_choices_kernel {
  static constexpr int most_threads = 256;
  sample_pieces pieces;
  matrix<choice<Real>> chosen;
  matrix<const Real> chose;
  isize experts, top_k;
  double capacity;
  int* table;  // (blocks, warps, experts), or none: it fits in the block's memory

  MOTET_HOST_DEVICE isize room(isize rows) const {
    const double most = capacity * static_cast<double>(rows * top_k) / static_cast<double>(experts);
    if (most >= static_cast<double>(rows)) return rows;
    const auto whole = static_cast<isize>(most);
    return static_cast<double>(whole) < most ? whole + 1 : whole;
  }
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize sample = self.block() / pieces.own(), which = self.block() % pieces.own();
    const interval rows = pieces.piece(sample, which);
    const auto most = static_cast<Real>(room(pieces.rows(sample)));
    const Real* const before = chose.row(sample) + pieces.number(which) * experts;
    int* const counts = table != nullptr ? table + self.block() * self.warps() * experts
                                         : self.template shared<int>(self.warps() * experts);
    for (isize i = self.thread(); i < self.warps() * experts; i += self.threads()) counts[i] = 0;
    self.barrier();
    const auto k = static_cast<std::uint32_t>(top_k);
    const auto of = [&](isize i) -> choice<Real>& {
      return chosen.row(rows.begin + static_cast<isize>(static_cast<std::uint32_t>(i) /
                                                        k))[static_cast<std::uint32_t>(i) % k];
    };
    const isize count = rows.size() * top_k,
                each = round_up((count + self.warps() - 1) / self.warps(), warp_size);
    const isize first = self.warp() * each, end = first + each < count ? first + each : count;
    int* const mine = counts + self.warp() * experts;
    for (isize i = first + self.lane(); i < end; i += warp_size) self.atomic_add(mine + of(i).expert, 1);
    self.barrier();
    for (isize e = self.thread(); e < experts; e += self.threads()) {
      auto sum = static_cast<int>(before[e]);
      for (int w = 0; w < self.warps(); ++w) {
        int& here = counts[w * experts + e];
        const int those = here;
        here = sum;
        sum += those;
      }
    }
    self.barrier();
    for (isize i = first; i < end; i += warp_size) {
      const isize at = i + self.lane();
      const int expert = at < end ? static_cast<int>(of(at).expert) : -1;
      const lane_rank rank = rank_in_warp(self, expert);
      const int taken = expert >= 0 ? mine[expert] + rank.before : 0;
      self.warp_barrier();
      if (expert >= 0) {
        of(at).kept = static_cast<Real>(taken) < most;
        if (rank.last) mine[expert] = taken + 1;
      }
      self.warp_barrier();
    }
  }
};

// A sample's own rows add this to the two losses. A block has a sample.
template <class Real>
struct routing_losses_kernel {
  static constexpr int most_threads = 512;
  sample_pieces pieces;
  matrix<const Real> probability, lse, fraction;
  matrix<Real> losses;
  isize top_k;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    Real* const scratch = self.template shared<Real>(warp_size);
    const isize sample = self.block(), experts = fraction.width, all = pieces.rows(sample);
    const Real* const share = fraction.row(sample);
    const isize begin = pieces.seq.begin(sample), end = pieces.seq.end(sample);
    Real balance = 0, z = 0;
    // Warps take rows, as long as there are experts enough for their lanes.
    const int lanes = experts < warp_size ? (experts < 8 ? 4 : 8) : warp_size;
    for (isize r = begin + self.thread() / lanes; r < end; r += self.threads() / lanes) {
      const Real* const row = probability.row(r);
      for (isize e = self.thread() % lanes; e < experts; e += lanes) balance += share[e] * row[e];
      if (self.thread() % lanes == 0) z += *lse.row(r) * *lse.row(r);
    }
    balance = block_sum(self, balance, scratch);
    z = block_sum(self, z, scratch);
    if (self.thread() == 0) {
      const Real per_choice = all > 0 ? Real(1) / static_cast<Real>(all * top_k) : Real(0);
      losses.row(sample)[0] = balance * static_cast<Real>(experts * top_k) * per_choice;
      losses.row(sample)[1] = z * static_cast<Real>(top_k) * per_choice;
    }
  }
};

// d_logits in the place of the probabilities. A warp has a row; it is read twice, the second time from the
// cache, and written once.
template <class Real>
struct route_backward_kernel {
  static constexpr int most_threads = 256;
  sample_pieces pieces;
  matrix<const Real> fraction, lse;
  matrix<const choice<Real>> chosen;
  matrix<const Real> d_gate;
  matrix<Real> probability;
  bool normalised;
  double balance, z, sample_share;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize experts = probability.width, top_k = chosen.width;
    for (isize r = self.number() / warp_size; r < probability.rows; r += self.all() / warp_size) {
      const isize sample = sample_of(pieces.seq, r), all = pieces.rows(sample);
      const double share = sample_share / static_cast<double>(all > 0 ? all : 1);
      const Real of_balance = static_cast<Real>(balance * share * static_cast<double>(experts)),
                 of_z = static_cast<Real>(2 * z * share);
      Real* const row = probability.row(r);
      const Real* const even = fraction.row(sample);
      const choice<Real>* const of = chosen.row(r);
      Real sum = 1, through_sum = 0;
      if (normalised) {
        sum = 0;
        for (isize j = 0; j < top_k; ++j) {
          sum += row[of[j].expert];
          through_sum += of[j].gate * d_gate.row(r)[j];
        }
      }
      // An expert's gradient, from the losses and, where it was chosen, from its gate.
      const auto d_of = [&](isize e) {
        Real d = of_balance * even[e];
        for (isize j = 0; j < top_k; ++j)
          if (of[j].expert == e) d += (d_gate.row(r)[j] - through_sum) / sum;
        return d;
      };
      Real mean = 0;
      for (isize e = self.lane(); e < experts; e += warp_size) mean += row[e] * d_of(e);
      mean = warp_sum(self, mean);
      const Real from_z = of_z * *lse.row(r);
      self.warp_barrier();
      for (isize e = self.lane(); e < experts; e += warp_size) row[e] *= d_of(e) - mean + from_z;
    }
  }
};

}  // namespace detail

// logits = x weight^T, multiplied in the type of the weights: a rounded logit is another expert.
template <class X, class W, class Y>
void router_forward(context& ctx, const sequences& seq, matrix<X> x, matrix<W> weight, matrix<Y> logits) {
  using number = arithmetic<X, W, Y>;
  if constexpr (std::is_same_v<std::remove_const_t<X>, number>) {
    linear_forward(ctx, seq, x, weight, nullptr, logits);
  } else {
    const scratch_scope scope(ctx);
    const matrix<number> wide{ctx.scratch.take<number>(x.rows * x.width), x.rows, x.width, x.width};
    if (!ctx.measuring()) convert_rows(ctx, x, wide);
    linear_forward(ctx, seq, wide, weight, nullptr, logits);
  }
}

// Logits become probabilities, in their place, and each row gets its experts. Counts are kept as numbers of
// Real, which holds them exactly up to 2^24 rows of a sample.
template <class Real>
void route_forward(context& ctx, const sequences& seq, const router_shape& shape, matrix<Real> probability,
                   matrix<Real> lse, matrix<choice<Real>> chosen, matrix<Real> fraction,
                   matrix<Real> losses) {
  ctx.note("route_forward", 8 * elements_in(probability), 2 * bytes_in(probability));
  const sample_pieces pieces(ctx, seq);
  const isize mark = ctx.memory.mark(), experts = shape.experts, width = pieces.all() * experts,
              blocks = seq.samples * pieces.own();
  const matrix<Real> chose{ctx.memory.take<Real>(seq.samples * width), seq.samples, width, width};
  // Every block may use 48 KB of its memory.
  constexpr isize room = 12 * 1024;
  const int warps = experts * 8 <= room ? 8 : experts * 2 <= room ? 2 : 1;
  int* const table = shape.capacity > 0 && experts > room ? ctx.memory.take<int>(blocks * experts) : nullptr;
  if (ctx.measuring()) return ctx.memory.release(mark);
  const auto there = pieces.on(*ctx.on);
  const cudaStream_t stream = ctx.stream();
  const bool normalised = shape.gates == gate_kind::normalised;
  launch(stream, {blocks_for(probability.rows, 8), 256, 0},
         detail::route_rows_kernel<Real>{probability, lse, chosen, normalised});
  launch(stream, {blocks, 512, experts <= room ? round_up(experts * 4, 16) : 0},
         detail::count_choices_kernel<Real>{there, chosen, chose, experts, experts <= room});
  if (pieces.cut_up) ctx.shared->context.all_reduce_sum(chose.data, chose.rows * chose.width);
  launch(stream, {seq.samples, 256, 0}, detail::fractions_kernel<Real>{there, chose, fraction, shape.top_k});
  if (shape.capacity > 0)
    launch(
        stream, {blocks, warps * warp_size, table == nullptr ? round_up(warps * experts * 4, 16) : 0},
        detail::keep_choices_kernel<Real>{there, chosen, chose, experts, shape.top_k, shape.capacity, table});
  launch(stream, {seq.samples, 512, block_scratch<Real>},
         detail::routing_losses_kernel<Real>{there, probability, lse, fraction, losses, shape.top_k});
  release(ctx, mark);
}

// d_logits in the place of the probabilities, from the gradients of the gates and of the two losses.
template <class Real>
void route_backward(context& ctx, const sequences& seq, const router_shape& shape, matrix<Real> fraction,
                    matrix<Real> lse, matrix<choice<Real>> chosen, matrix<Real> d_gate,
                    matrix<Real> probability) {
  ctx.note("route_backward", 8 * elements_in(probability), 2 * bytes_in(probability));
  if (ctx.measuring()) return;
  launch(ctx.stream(), {blocks_for(probability.rows, 8), 256, 0},
         detail::route_backward_kernel<Real>{sample_pieces(ctx, seq).on(*ctx.on), fraction, lse, chosen,
                                             d_gate, probability, shape.gates == gate_kind::normalised,
                                             shape.balance, shape.z, ctx.sample_share});
}

}  // namespace motet::cuda
